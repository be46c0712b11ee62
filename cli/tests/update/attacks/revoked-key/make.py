r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")
t = r.thief()
r.rotate("targets")
r.database(3)
r.publish("second")
# The thief has the old targets key, and the newest root.
t.root = r.root
t.files.update({name: data for name, data in r.files.items() if name.endswith(".root.json")})
t.targets.signed.version += 3
t.snapshot.signed.version += 3
t.timestamp.signed.version += 3
t.database(4)
t.publish("thief")
