r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")

# The thief of the targets key makes everybody take the highest number that there is ready.
t = r.thief()
t.database(5)
t.revoke(1000000)
t.publish("thief")
# The owner changes the keys of targets and revoker, and starts again below it.
r.files.update({name: data for name, data in t.files.items() if ".root." in name})
r.targets.signed.version += 1
r.snapshot.signed.version += 1
r.timestamp.signed.version += 1
r.revoker.signed.version += 1
r.rotate("targets")
r.rotate("revoker")
r.rotate("snapshot")
r.rotate("timestamp")
r.database(3)
r.revoke(2)
r.publish("second")
r.database(2)
r.publish("third")
