"""Tar archives whose bytes depend on nothing but names, contents and who may execute.

Sorted, owned by nobody in particular, of one time (SOURCE_DATE_EPOCH, by default that of the last
commit), compressed without a name and a time. Used by the scripts beside it, on Linux and on a Mac.
"""

import gzip
import json
import os
import subprocess
import tarfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def epoch():
    """The time of everything in an archive, in seconds since 1970."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    log = subprocess.run(
        ["git", "-C", CHECKOUT, "log", "-1", "--format=%ct"], check=True, stdout=subprocess.PIPE
    )
    return int(log.stdout)


def metadata(*arguments):
    """What Cargo says of the workspace."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def version():
    """The version of the program, from the workspace's Cargo.toml."""
    packages = metadata("--no-deps")["packages"]
    return next(p["version"] for p in packages if p["name"] == "metalshim")


def write(path, folder):
    """Writes `folder`, under its own name, into the archive `path`."""
    when = epoch()
    folder = Path(folder)

    def plain(info):
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mtime = when
        executable = info.isdir() or info.mode & 0o100
        info.mode = 0o755 if executable else 0o644
        return info

    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as raw, gzip.GzipFile(
            filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0
        ) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for item in sorted(folder.rglob("*"), key=lambda item: item.as_posix()):
                name = (Path(folder.name) / item.relative_to(folder)).as_posix()
                tar.add(item, arcname=name, recursive=False, filter=plain)
        temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)
    print(f"{path.name}: {path.stat().st_size:,} bytes")
