# SPDX-License-Identifier: BSD-2-Clause
"""A daemon in a cgroup of its own, and the herd of processes that it counts."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import tempfile
import time

from bench_report import rows_print  # noqa: F401 (for those who import this)
from bench_workloads import running

BUILD = os.environ.get("O", "build")
BPFTRUSS = os.path.join(BUILD, "bpftruss")
HERD = os.path.join(BUILD, "bench", "herd")
CGROUP = "bpftruss-bench"
MIB = 1 << 20
DEADLINE_S = 120


# --- its cgroup ----------------------------------------------------------------------------------


def controller(name):
    """Finds where a controller's tree is, and whether it is of version 2; None: nowhere."""
    lines = [line.split() for line in read("/proc/self/mounts").splitlines()]
    for _, path, kind, options, *_ in lines:
        if kind == "cgroup" and name in options.split(","):
            return path, False
    for _, path, kind, *_ in lines:
        if kind == "cgroup2" and name in read(os.path.join(path, "cgroup.controllers")).split():
            return path, True
    return None


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read_fields(folder, name):
    lines = read(os.path.join(folder, name)).splitlines()
    return {key: int(value) for key, value in map(str.split, lines)}


class Cgroup:
    """A cgroup for each of the two controllers; with version 2 it is one and the same."""

    def __init__(self):
        self.paths = {}
        for name in ("memory", "cpuacct", "cpu"):
            found = controller(name)
            if found:
                self.paths[name] = (os.path.join(found[0], CGROUP), found[1])
                if found[1]:
                    write(os.path.join(found[0], "cgroup.subtree_control"), "+" + name)
        for path, _ in self.paths.values():
            os.makedirs(path, exist_ok=True)

    def close(self):
        for path, _ in self.paths.values():
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(path)

    def enter(self):
        """Run by the child before its exec."""
        for path, _ in self.paths.values():
            write(os.path.join(path, "cgroup.procs"), str(os.getpid()))

    def cpu_ns(self):
        if "cpuacct" in self.paths:
            return int(read(os.path.join(self.paths["cpuacct"][0], "cpuacct.usage")))
        return read_fields(self.paths["cpu"][0], "cpu.stat")["usage_usec"] * 1000

    def resident_mib(self):
        """Memory of user space; that of maps is the kernel's, and stands by itself."""
        path, unified = self.paths["memory"]
        fields = read_fields(path, "memory.stat")
        names = ("anon", "file_mapped") if unified else ("rss", "mapped_file")
        return sum(fields[name] for name in names) / MIB


# --- the daemon and its herd ---------------------------------------------------------------------


def ask(path, target):
    """The answer, and how long it took in ms, from connecting to its last byte."""
    start = time.monotonic()
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(DEADLINE_S)
    connection.sock.connect(path)
    connection.request("GET", target)
    response = connection.getresponse()
    body = response.read()
    took = (time.monotonic() - start) * 1000
    connection.close()
    if response.status != 200:
        raise SystemExit("%s: %s" % (target, body))
    return body, took


@contextlib.contextmanager
def child(argv, ready, **options):
    """A process that says on stdout or stderr when it is ready."""
    with running(argv, subprocess.PIPE, stop=signal.SIGTERM, text=True, **options) as process:
        if not any(ready in line for line in process.stdout):
            raise SystemExit("%s did not start" % argv[0])
        yield process


@contextlib.contextmanager
def setting(*herd, options=("-n", "herd")):
    """A daemon that counts a herd, in a cgroup of its own: its socket, the cgroup, and itself."""
    cgroup = Cgroup()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        state = os.path.join(folder, "state")
        os.mkdir(state, mode=0o700)
        argv = [BPFTRUSS, "daemon", "--socket", path, "--state-dir", state, *options]
        try:
            with child([HERD, *map(str, herd)], "ready") as flock:
                with child(argv, "clients ask at", preexec_fn=cgroup.enter) as daemon:
                    flock.stdin.write("wake up\n")
                    flock.stdin.flush()
                    yield path, cgroup, daemon
        finally:
            cgroup.close()
