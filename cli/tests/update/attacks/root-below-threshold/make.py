r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")

# One root key is not enough.
t = r.thief()
t.keys["root"] = [t.keys["root"][0]]
t.rotate("targets")
t.database(4)
t.publish("thief")
