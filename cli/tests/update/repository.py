"""Builds update repositories with PyPI `tuf`, the reference implementation, for the tests.

The layout and the roles are those of docs/repository.md. Keys are made for each run and live in
memory only. `make.py` of each attack gets a `Repository` and writes one folder for each stage.
"""

import copy
import datetime
import hashlib
import json
import os
import sys

from securesystemslib.signer import CryptoSigner
from tuf.api import metadata as tuf
from tuf.api.serialization.json import JSONSerializer

COMPACT = JSONSerializer(compact=True)
# No client has an earlier clock than this: the release date.
RELEASED = datetime.datetime(2026, 12, 1, tzinfo=datetime.timezone.utc)
DAYS = {"root": 365, "targets": 365, "revoker": 90, "snapshot": 30, "timestamp": 14}


def clock():
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    return max(now, RELEASED)


def stamp(time):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


class Repository:
    """One publisher: `databases` maps seq to the bytes of a real database and its fields."""

    def __init__(self, databases):
        self.databases = databases
        self.now = clock()
        self.keys = {role: [new_key() for _ in range(count)] for role, count in
                     {"root": 3, "targets": 2, "revoker": 2, "snapshot": 1, "timestamp": 1}.items()}
        self.files = {}
        root = tuf.Root(version=1, expires=self.expires("root"), consistent_snapshot=True)
        for role in ("root", "targets", "snapshot", "timestamp"):
            for signer in self.keys[role]:
                root.add_key(signer.public_key, role)
        root.roles["root"].threshold = 2
        self.root = tuf.Metadata(root)
        targets = tuf.Targets(version=1, expires=self.expires("targets"))
        revoker = tuf.DelegatedRole("revoker", [], 1, True, ["revocations.json"])
        targets.delegations = tuf.Delegations({}, {"revoker": revoker})
        for signer in self.keys["revoker"]:
            targets.add_key(signer.public_key, "revoker")
        self.targets = tuf.Metadata(targets)
        self.revoker = tuf.Metadata(tuf.Targets(version=1, expires=self.expires("revoker")))
        self.snapshot = tuf.Metadata(tuf.Snapshot(version=1, expires=self.expires("snapshot")))
        self.timestamp = tuf.Metadata(tuf.Timestamp(version=1, expires=self.expires("timestamp")))
        for role in (self.targets, self.revoker, self.snapshot, self.timestamp):
            # Publishing counts up first.
            role.signed.version = 0
        self.sign_root()

    def expires(self, role):
        return self.now + datetime.timedelta(days=DAYS[role])

    def sign_root(self, *others):
        self.root.signatures.clear()
        for signer in self.keys["root"][:2] + list(others):
            self.root.sign(signer, append=True)
        self.put(f"metadata/{self.root.signed.version}.root.json", self.root.to_bytes(COMPACT))

    def put(self, name, data):
        self.files[name] = data

    def database(self, seq, name="compatdb.sqlite", data=None, **custom):
        """Lists a database; `data` and `custom` say otherwise than the database itself does."""
        real = self.databases[str(seq)]
        with open(real["path"], "rb") as file:
            signed = file.read() if data is None else data
        target = tuf.TargetFile.from_data(name, signed, ["sha256"])
        fields = {key: real[key] for key in ("seq", "schema", "published_at", "min_cli")}
        target.unrecognized_fields["custom"] = {**fields, **custom}
        self.targets.signed.targets[name] = target
        self.put(f"targets/{hashlib.sha256(signed).hexdigest()}.{name}", signed)

    def archive(self, path, version, length=None, **custom):
        """Lists a release of the program; `length` says more than it has."""
        name = os.path.basename(path)
        with open(path, "rb") as file:
            data = file.read()
        target = tuf.TargetFile.from_data(name, data, ["sha256"])
        target.length = length or target.length
        fields = {"version": version, "published_at": stamp(self.now)}
        target.unrecognized_fields["custom"] = {**fields, **custom}
        self.targets.signed.targets[name] = target
        self.put(f"targets/{hashlib.sha256(data).hexdigest()}.{name}", data)

    def revoke(self, seq, records=(), guest_builds=()):
        """Writes a deny list."""
        reason = "it crashed on two machines"
        data = json.dumps({
            "seq": seq,
            "records": [{"id": id, "reason": reason} for id in records],
            "guest_builds": [{"build": build, "reason": reason} for build in guest_builds],
            "host_builds": [],
        }).encode()
        target = tuf.TargetFile.from_data("revocations.json", data, ["sha256"])
        target.unrecognized_fields["custom"] = {"seq": seq, "published_at": stamp(self.now)}
        self.revoker.signed.targets["revocations.json"] = target
        self.put(f"targets/{hashlib.sha256(data).hexdigest()}.revocations.json", data)

    def publish(self, folder, roles=("targets", "revoker", "snapshot", "timestamp"), only_sign=()):
        """Signs under new numbers and writes everything into `folder`."""
        for role in roles:
            getattr(self, role).signed.version += 1
            getattr(self, role).signed.expires = self.expires(role)
        self.sign("targets", f"metadata/{self.targets.signed.version}.targets.json")
        self.sign("revoker", f"metadata/{self.revoker.signed.version}.revoker.json")
        self.snapshot.signed.meta = {
            "targets.json": tuf.MetaFile(self.targets.signed.version),
            "revoker.json": tuf.MetaFile(self.revoker.signed.version),
        }
        self.sign("snapshot", f"metadata/{self.snapshot.signed.version}.snapshot.json")
        self.timestamp.signed.snapshot_meta = tuf.MetaFile(self.snapshot.signed.version)
        self.timestamp.signed.unrecognized_fields["x-signed-at"] = stamp(self.now)
        self.sign("timestamp", "metadata/timestamp.json")
        self.write(folder)

    def sign(self, role, name):
        metadata = getattr(self, role)
        metadata.signatures.clear()
        metadata.sign(self.keys[role][0])
        self.put(name, metadata.to_bytes(COMPACT))

    def rotate(self, role):
        """New keys for a role; a new root, or new targets for the revoker."""
        old, new = self.keys[role], [new_key() for _ in self.keys[role]]
        if role == "revoker":
            for signer in old:
                self.targets.signed.revoke_key(signer.public_key.keyid, role)
            for signer in new:
                self.targets.signed.add_key(signer.public_key, role)
            self.keys[role] = new
            return
        root = self.root.signed
        for signer in old:
            root.revoke_key(signer.public_key.keyid, role)
        for signer in new:
            root.add_key(signer.public_key, role)
        self.keys[role] = new
        root.version += 1
        root.expires = self.expires("root")
        # The old keys vouch for the new ones.
        self.sign_root(*(old[:2] if role == "root" else []))

    def thief(self):
        """The same publisher, going another way from here with the same keys."""
        other = copy.copy(self)
        other.files = dict(self.files)
        for role in ("root", "targets", "revoker", "snapshot", "timestamp"):
            setattr(other, role, copy.deepcopy(getattr(self, role)))
        other.keys = {role: list(keys) for role, keys in self.keys.items()}
        return other

    def write(self, folder):
        for name, data in self.files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)


def new_key():
    return CryptoSigner.generate_ed25519()


def main():
    recipe, out, databases = sys.argv[1:]
    with open(databases) as file:
        databases = json.load(file)
    with open(recipe) as file:
        recipe = compile(file.read(), recipe, "exec")
    os.makedirs(out, exist_ok=True)
    os.chdir(out)
    names = {"Repository": Repository, "databases": databases, "datetime": datetime, "tuf": tuf,
             "COMPACT": COMPACT, "new_key": new_key, "os": os}
    exec(recipe, names)


if __name__ == "__main__":
    main()
