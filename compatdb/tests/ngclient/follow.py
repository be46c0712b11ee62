"""A client of the reference implementation of TUF, for one update.

usage: follow.py STATE TRUST_ROOT REPOSITORY TARGET..

STATE keeps what the client trusts from one run to the next. TRUST_ROOT is the root that is
embedded in the client. REPOSITORY is a folder, read in place. Prints one JSON object: the versions that it trusts
now, and of each target its length and its custom fields, or null where there is none.
Exits with 1, and says why, when it refuses.
"""

import json
import os
import sys
from urllib.parse import urlsplit

from tuf.api.exceptions import DownloadHTTPError, RepositoryError
from tuf.ngclient import Updater, UpdaterConfig
from tuf.ngclient.fetcher import FetcherInterface


class Folder(FetcherInterface):
    """Reads files as a web server would serve them."""

    def _fetch(self, url):
        try:
            with open(urlsplit(url).path, "rb") as file:
                yield file.read()
        except FileNotFoundError:
            raise DownloadHTTPError(url, 404) from None


def main():
    state, trust_root, repository, *targets = sys.argv[1:]
    downloads = os.path.join(state, "downloads")
    os.makedirs(downloads, exist_ok=True)
    base = "file://" + os.path.abspath(repository)
    with open(trust_root, "rb") as file:
        bootstrap = file.read()
    updater = Updater(
        metadata_dir=state,
        metadata_base_url=base + "/metadata/",
        target_base_url=base + "/targets/",
        target_dir=downloads,
        fetcher=Folder(),
        bootstrap=bootstrap,
        config=UpdaterConfig(
            root_max_length=64 * 1024,
            timestamp_max_length=16 * 1024,
            snapshot_max_length=256 * 1024,
            targets_max_length=256 * 1024,
        ),
    )
    updater.refresh()
    found = {}
    for name in targets:
        info = updater.get_targetinfo(name)
        if info is not None:
            path = updater.download_target(info)
            info = {
                "path": path,
                "length": info.length,
                "custom": info.unrecognized_fields.get("custom"),
            }
        found[name] = info
    versions = {}
    for role in ["root", "timestamp", "snapshot", "targets"]:
        with open(os.path.join(state, role + ".json"), "rb") as file:
            versions[role] = json.load(file)["signed"]["version"]
    print(json.dumps({"versions": versions, "targets": found}))


try:
    main()
except RepositoryError as e:
    print(f"{type(e).__name__}: {e}", file=sys.stderr)
    sys.exit(1)
