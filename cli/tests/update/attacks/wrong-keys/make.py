r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")

other = Repository(databases)
other.database(5)
other.publish("other")
t = r.thief()
t.keys["targets"] = [new_key()]
t.database(4)
t.publish("targets")
