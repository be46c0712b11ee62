r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")

# More than a client reads, signed by the right keys.
r.timestamp.signed.unrecognized_fields["x-padding"] = "x" * (17 << 10)
r.publish("timestamp")
del r.timestamp.signed.unrecognized_fields["x-padding"]
r.snapshot.signed.unrecognized_fields["x-padding"] = "x" * (300 << 10)
r.publish("snapshot")
del r.snapshot.signed.unrecognized_fields["x-padding"]
r.root.signed.unrecognized_fields["x-padding"] = "x" * (70 << 10)
r.root.signed.version += 1
r.sign_root()
r.publish("root")
