r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")

t = r.thief()
t.now += datetime.timedelta(days=30)
t.database(3)
t.publish("later")
# Fresh for a clock of the past only.
t = r.thief()
t.now -= datetime.timedelta(days=20)
t.database(3)
t.publish("past")
