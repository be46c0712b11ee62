r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")

# The thief of the timestamp key signs a time that is years ahead.
t = r.thief()
t.now += datetime.timedelta(days=5000)
t.publish("thief", roles=("timestamp",))
r.timestamp.signed.version += 1
r.rotate("timestamp")
r.database(3)
r.publish("second")
