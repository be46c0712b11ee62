r = Repository(databases)
r.database(2)
r.revoke(1)
r.publish("first")
r.database(3)
r.publish("second")
r.rotate("timestamp")
r.publish("third")
# The old timestamp keys' last word, under the new root.
replay = Repository.__new__(Repository)
replay.files = dict(r.files)
with open("second/metadata/timestamp.json", "rb") as file:
    replay.files["metadata/timestamp.json"] = file.read()
replay.write("replay")
