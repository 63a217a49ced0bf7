# SPDX-License-Identifier: BSD-2-Clause
"""
A private daemon, beside any other of the system, how tests ask it, and what tests of its faults
want: small disks, what a process holds, sums of counts.
"""

import contextlib
import functools
import http.client
import json
import operator
import os
import re
import signal
import socket
import subprocess

from harness import (BPFTRUSS, NATIVE, NUMBERS, Process, Report, is_sanitized, must_equal, run,
                     slurp, until)  # fmt: skip


def unix_connection(path):
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(60)
    connection.sock.connect(path)
    return connection


class Daemon(Process):
    """Counts everything unless told otherwise; its socket and state are in a directory."""

    def __init__(self, directory, place, *options, **process_options):
        self.place = str(place)
        self.socket = os.path.join(self.place, "socket")
        self.state = os.path.join(self.place, "state")
        os.makedirs(self.state, mode=0o700, exist_ok=True)
        argv = [BPFTRUSS, "daemon", "--socket", self.socket, "--state-dir", self.state]
        super().__init__(directory, argv + [str(o) for o in options], **process_options)

    def wait_ready(self):
        def ready():
            assert self.popen.poll() is None, "the daemon ended: " + self.stderr()
            return "clients ask at" in self.stderr()

        until(ready, "the daemon is ready")
        return self

    def request(self, target, method="GET", headers=None):
        """Status, headers and body."""
        with contextlib.closing(unix_connection(self.socket)) as connection:
            connection.request(method, target, headers=headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()

    def get(self, target):
        status, _, body = self.request(target)
        assert status == 200, body
        return json.loads(body)

    def verb(self, *arguments, status=0, **options):
        """A verb as a user types it; its standard output."""
        result = run(arguments[0], "--socket", self.socket, *arguments[1:], **options)
        assert result.returncode == status, result.stderr
        return result.stdout

    def status(self, *path):
        """Returns what it says of itself, or the part of it that a path of keys leads to."""
        return functools.reduce(operator.getitem, path, self.get("/v1/status"))

    def room(self):
        """For how many threads: as many as the host has, of which some may be in other containers."""
        return self.status("counting", "tables", "threads", "capacity")

    def intervals(self):
        """How many its history has."""
        return self.status("history", "intervals")

    def wait_intervals(self, count=2):
        """Until so many more have been written."""
        before = self.intervals()
        until(lambda: self.intervals() >= before + count, "%d intervals" % count)

    def save(self, path, *options):
        """A snapshot in a file, as --since takes it."""
        path.write_text(self.verb("snapshot", "--json", *options), encoding="utf-8")
        return path

    def refusal(self, *arguments, status=(1, 2)):
        """The one sentence by which a verb is refused."""
        result = run(arguments[0], "--socket", self.socket, *arguments[1:])
        assert result.returncode in status, result
        assert result.stderr.count("\n") == 1, result.stderr
        return result.stderr

    def snapshot(self, *options, lossy=False):
        """Of a span, calls in flight may be older than that."""
        longest_ns = 1 << 62 if "--since" in options else None
        text = self.verb("snapshot", "--json", *options)
        return Report(text.encode(), lossy, longest_ns)

    def stop(self, number=signal.SIGTERM):
        super().stop(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL


def watched(usec):
    """The environment of a daemon whose manager wants to hear of it so often: then it looks, too."""
    environment = dict(os.environ, WATCHDOG_USEC=str(usec))
    environment.pop("WATCHDOG_PID", None)
    return environment


def start_daemon(live, place, *options, **process_options):
    return live.add(Daemon, place, *options, **process_options).wait_ready()


def must_equal_seen_whole(report, table):
    """Works like must_equal(), but the daemon has seen the start of the read at the barrier."""
    for row in table.rows:
        if (row["abi"], row["nr"]) == (NATIVE, NUMBERS["read"]):
            assert row["untimed"] == 1
            row["untimed"] = 0
    must_equal(report, table)


# --- faults, and what is left after them ---------------------------------------------------------

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
