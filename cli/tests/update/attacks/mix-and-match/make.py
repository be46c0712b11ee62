r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")
r.database(3)
r.revoke(2)
r.publish("second")

mixed = Repository.__new__(Repository)
mixed.files = dict(r.files)
with open("first/metadata/1.targets.json", "rb") as file:
    mixed.files["metadata/2.targets.json"] = file.read()
mixed.write("mixed")
