r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")

# A thief of the targets keys, or a mistake: the bytes of seq 1 as seq 4.
t = r.thief()
with open(databases["1"]["path"], "rb") as file:
    t.database(4, data=file.read())
t.publish("as-four")
t = r.thief()
del t.targets.signed.targets["compatdb.sqlite"]
with open(databases["1"]["path"], "rb") as file:
    t.database(4, name="compat-4.sqlite", data=file.read())
t.publish("named-four")
t = r.thief()
del t.targets.signed.targets["compatdb.sqlite"]
t.database(3, name="compat-9.sqlite")
t.publish("wrong-number")
