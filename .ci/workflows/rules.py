#!/usr/bin/env python3
"""rules.py: the project's own rules for .github/workflows, which no linter knows; and that each of
them notices a workflow that is wrong.

Every shell step is `make TARGET..`, each target is in the Makefile, and is run by .ci/run too or is
named below with the reason why it cannot be. Actions are pinned by a commit, with the version beside
it. Permissions are none at the top and named in each job. Each job has a time limit.
"""

import re
import sys
from pathlib import Path

import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
# Target: why .ci/run does not run it. What can be is tried there with stand-ins, by `make release-rehearsal`.
ELSEWHERE = {
    "ci": "is .ci/run itself",
    "release-check": "needs a tag; in the rehearsal",
    "release-collect": "needs what the other jobs made; in the rehearsal",
    "release-draft": "needs GitHub; in the rehearsal, with a stand-in for gh",
    "release-formula": "needs GitHub; in the rehearsal, with a stand-in for gh",
    "dist-seed": "needs a published seed; in the rehearsal, from a file",
    "signing-keychain": "needs a Mac and a certificate",
    "database-comment": "needs GitHub; in the rehearsal, with a stand-in for gh",
    "timestamp": "needs the online keys; in the rehearsal, with keys of its own",
    "bottles": "needs Homebrew",
    "bottles-publish": "needs Homebrew and GitHub",
}


def faults(text, makefile, ran):
    """All that is wrong with a workflow, a sentence each."""
    found = []
    workflow = yaml.safe_load(text)
    if workflow.get("permissions") != {}:
        found.append("permissions at the top are not {}")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    for name, job in workflow["jobs"].items():
        if not isinstance(job.get("permissions"), dict):
            found.append(f"{name}: no permissions")
        elif "write-all" in job["permissions"].values():
            found.append(f"{name}: all permissions")
        if "timeout-minutes" not in job:
            found.append(f"{name}: no timeout-minutes")
        for step in job["steps"]:
            if "run" in step:
                found += [f"{name}: {fault}" for fault in of_run(step["run"], targets, ran)]
    for line in text.splitlines():
        if re.match(r"\s*(- )?uses:", line) and not re.search(r"@[0-9a-f]{40} # v?\d[\d.]+\b", line):
            found.append(f"not pinned by a commit with its version beside it: {line.strip()}")
    return found


def of_run(command, targets, ran):
    words = command.split()
    if words[:1] != ["make"] or not all(re.fullmatch(r"[\w-]+", word) for word in words):
        return [f"a step that is no make target: {command.strip()}"]
    missing = [f"no such target: {word}" for word in words[1:] if word not in targets]
    return missing + [
        f"{word}: neither in .ci/run nor named with a reason"
        for word in words[1:]
        if word not in ran and word not in ELSEWHERE
    ]


GOOD = """\
permissions: {}
jobs:
  one:
    timeout-minutes: 5
    permissions: {contents: read}
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
      - run: make test
"""
BROKEN = [
    ("permissions: {}\njobs", "jobs", "permissions at the top"),
    ("permissions: {contents: read}", "permissions: write-all", "no permissions"),
    ("    timeout-minutes: 5\n", "", "no timeout"),
    ("make test", "make test && true", "no make target"),
    ("make test", "cargo test", "no make target"),
    ("make test", "make tset", "no such target"),
    ("make test", "make shim", "neither in .ci/run"),
    ("@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7", "not pinned"),
    (" # v7.0.1", "", "not pinned"),
]


def main():
    makefile = (CHECKOUT / "Makefile").read_text()
    script = (CHECKOUT / ".ci/run").read_text()
    ran = {word for line in re.findall(r"^step make (.*)", script, re.MULTILINE) for word in line.split()}
    assert faults(GOOD, makefile, ran) == [], faults(GOOD, makefile, ran)
    for old, new, expected in BROKEN:
        assert old in GOOD
        said = faults(GOOD.replace(old, new), makefile, ran)
        assert any(expected in fault for fault in said), (old, new, said)
    failed = 0
    for path in sorted((CHECKOUT / ".github/workflows").glob("*.yml")):
        for fault in faults(path.read_text(), makefile, ran):
            print(f"{path.name}: {fault}", file=sys.stderr)
            failed += 1
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
