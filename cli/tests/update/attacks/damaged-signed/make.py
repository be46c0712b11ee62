r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")

with open(databases["3"]["path"], "rb") as file:
    data = file.read()
r.database(3, data=data[:len(data) // 2])
r.publish("half")
r.database(3, data=b"not a database at all")
r.publish("text")
