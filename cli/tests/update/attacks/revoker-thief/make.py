r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")
r.revoke(2, records=["P0001"])
r.publish("revoked")
# The thief takes everything back that was denied.
t = r.thief()
t.revoke(3)
t.publish("thief")
# Who has the targets keys can: with a newer database.
r.revoke(4)
r.database(3)
r.timestamp.signed.version += 1
r.snapshot.signed.version += 1
r.revoker.signed.version += 1
r.targets.signed.version += 1
r.publish("second")
