r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")
r.database(3)
r.revoke(2)
r.publish("second")
import copy
for stage, end in (("database", ".compatdb.sqlite"), ("deny-list", ".revocations.json")):
    t = r.thief()
    for name, data in list(t.files.items()):
        if name.endswith(end):
            t.files[name] = data[:-1] + bytes([data[-1] ^ 1])
    t.write(stage)
