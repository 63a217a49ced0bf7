# SPDX-License-Identifier: BSD-2-Clause
"""Serves the tests of the daemon's faults: small disks, what the kernel holds, sums of counts."""

import json
import os
import re
import signal
import subprocess

from harness import is_sanitized, run, slurp, until

READ_ANEW = "the configuration was reloaded"

COUNTED = ("calls", "errors", "interrupted", "no_return", "untimed", "wall_ns")


def many(usual, variable):
    """How often something is tried: all of it only when the environment asks for it."""
    return int(os.environ.get(variable, usual))


# --- what a process holds ------------------------------------------------------------------------


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def memory_kib(pid, field="VmRSS"):
    status = slurp("/proc/%d/status" % pid).decode("latin-1")
    return int(re.search(r"^%s:\s+(\d+) kB$" % field, status, re.M).group(1))


def must_be_below(kib, limit_kib):
    """Sanitizers keep what is freed: of a build with them nothing is said."""
    assert is_sanitized() or kib < limit_kib


def cpu_s(pid):
    """CPU time of a process so far."""
    fields = slurp("/proc/%d/stat" % pid).rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- counts --------------------------------------------------------------------------------------


def counts(snapshots):
    """Sums the counts of some snapshots by program and call; None is a snapshot of nothing."""
    total = {}
    for row in (row for snapshot in snapshots if snapshot for row in snapshot["rows"]):
        entry = total.setdefault((row["comm"], row["syscall"]), dict.fromkeys(COUNTED, 0))
        for field in COUNTED:
            entry[field] += row[field] or 0
        for low, _, count in row["histogram"]:
            entry[low] = entry.get(low, 0) + count
    return {key: entry for key, entry in total.items() if entry["calls"]}


def difference(more, less):
    """Returns what is in one of counts() and not in the other; all that is left is positive."""
    left = {}
    for key, entry in more.items():
        other = less.get(key, {})
        row = {field: number - other.get(field, 0) for field, number in entry.items()}
        left[key] = {field: number for field, number in row.items() if number}
    missing = {key: entry for key, entry in less.items() if key not in more}
    assert not missing, missing
    assert all(number > 0 for row in left.values() for number in row.values()), left
    return {key: row for key, row in left.items() if row}


def history_of(daemon, *options):
    """A timeline, from the daemon or its file."""
    place = "--socket", daemon.socket, "--state-dir", daemon.state
    result = run("history", *place, "--json", *(options or ("--step", "all")))
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def of_steps(steps):
    """Counts of all steps of a timeline."""
    return counts(step["snapshot"] for step in steps)


def written(daemon, *options):
    """Counts of all that is in the history, or in a part of it."""
    return of_steps(history_of(daemon, *options)["steps"])


def gap_reasons(daemon, *options):
    return [gap["reason"] for gap in history_of(daemon, *options)["gaps"]]


def tick(daemon):
    """Ends an interval now, as reading the configuration anew does."""
    said = daemon.stderr().count(READ_ANEW)
    daemon.signal(signal.SIGHUP)
    until(lambda: daemon.stderr().count(READ_ANEW) > said, "the configuration is read")
    return daemon.request("/v1/status")[0]


# --- disks ---------------------------------------------------------------------------------------


class Disk:
    """A file system in memory, as small as it is said to be."""

    def __init__(self, place, kib):
        self.place = str(place)
        os.makedirs(self.place, exist_ok=True)
        options = "size=%dk,mode=700" % kib
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", self.place], check=True)

    def remount(self, options):
        subprocess.run(["mount", "-o", "remount," + options, self.place], check=True)

    def fill(self):
        """Takes all that is free."""
        filler = os.path.join(self.place, "filler")
        subprocess.run(["dd", "if=/dev/zero", "bs=4k", "of=" + filler], capture_output=True)

    def make_room(self):
        os.unlink(os.path.join(self.place, "filler"))

    def close(self):
        subprocess.run(["umount", "--lazy", self.place], check=True)
