r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")

t = r.thief()
t.database(4)
t.revoker.signed.targets["compatdb.sqlite"] = t.targets.signed.targets["compatdb.sqlite"]
t.targets = r.thief().targets
del t.targets.signed.targets["compatdb.sqlite"]
t.publish("thief")
