"""Serves a folder over HTTPS (or HTTP) on 127.0.0.1: https.py FOLDER CERTIFICATES [plain]

Makes an authority of its own and a certificate from it, both in memory but for the authority's
certificate, `CERTIFICATES/authority.pem`. Prints the port, and answers until its input ends.
"""

import datetime
import functools
import http.server
import ipaddress
import os
import ssl
import sys
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

folder, certificates = sys.argv[1:3]
now = datetime.datetime.now(datetime.timezone.utc)
day = datetime.timedelta(days=1)


def certificate(name, key, issuer, issuer_key, authority):
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer or subject)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - day).not_valid_after(now + 30 * day)
            .add_extension(x509.BasicConstraints(authority, None), True))
    if not authority:
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        made = (made.add_extension(x509.SubjectAlternativeName([address]), False)
                .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False))
    return made.sign(issuer_key, hashes.SHA256())


def pem(thing):
    return thing.public_bytes(serialization.Encoding.PEM)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
if sys.argv[3:] != ["plain"]:
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = certificate("test authority", authority_key, None, authority_key, True)
    own = certificate("127.0.0.1", key, authority.subject, authority_key, False)
    with open(os.path.join(certificates, "authority.pem"), "wb") as file:
        file.write(pem(authority))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The library reads files only: one that is gone again at once.
    secret = os.path.join(certificates, "server.pem")
    with os.fdopen(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                     serialization.NoEncryption()) + pem(own))
    context.load_cert_chain(secret)
    os.remove(secret)
    server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
