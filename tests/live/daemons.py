# SPDX-License-Identifier: BSD-2-Clause
"""A private daemon, beside any other of the system, and how tests ask it."""

import contextlib
import functools
import http.client
import json
import operator
import os
import signal
import socket

from harness import BPFTRUSS, NATIVE, NUMBERS, Process, Report, must_equal, run, until


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
        return Report(self.verb("snapshot", "--json", *options).encode(), lossy)

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
