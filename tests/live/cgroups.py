# SPDX-License-Identifier: BSD-2-Clause
"""Cgroups of the machine, and which processes are in them. The fixture cgroup makes new ones."""

import contextlib
import os
from pathlib import Path

import pytest

from harness import slurp, until, write


def mounts():
    """Each as (what, where, file system, options, …)."""
    return [line.split() for line in slurp("/proc/self/mounts").decode().splitlines()]


def cgroup_mount():
    for _, path, kind, *_ in mounts():
        if kind == "cgroup2":
            return path
    pytest.skip("no cgroup version 2 file system is mounted")


def pids_limits():
    """How many tasks may be there at once, as this cgroup and those above it say."""
    for _, where, kind, options, *_ in mounts():
        if kind != "cgroup2" and (kind != "cgroup" or "pids" not in options.split(",")):
            continue
        for line in slurp("/proc/self/cgroup").decode().splitlines():
            place = Path(where + line.split(":", 2)[2])
            for folder in place, *place.parents:
                with contextlib.suppress(OSError, ValueError):
                    yield int((folder / "pids.max").read_text())


def need_threads(number):
    """Skips where so many more may not be there at once: a container has room for 2048, or for less."""
    if number > int(slurp("/proc/sys/kernel/pid_max")) - 5000:
        pytest.skip("there may not be so many threads here: kernel.pid_max")
    if any(number > limit - 200 for limit in pids_limits()):
        pytest.skip("there may not be so many threads here: pids.max of this cgroup")


def own(name):
    """The name of a cgroup that no other run of these tests on this host makes."""
    return "bpftruss-%d-%s" % (os.getpid(), name)


def move(pid, path):
    write(os.path.join(path, "cgroup.procs"), pid)


def cgroup_remove(path):
    """Whether it is gone now: as long as it holds a process it stays."""
    with contextlib.suppress(OSError):
        os.rmdir(path)
        return True
    return False


def cgroup_empty(path, root):
    """
    Removes a cgroup, whose processes go to the root. One whose first thread had ended when it was moved here
    has none in cgroup.procs; any thread stands for its process.
    """
    threads = os.path.join(path, "cgroup.threads")
    for tid in slurp(threads if os.path.exists(threads) else os.path.join(path, "tasks")).split():
        move(int(tid), root)
    until(lambda: cgroup_remove(path), "cgroup is empty")


# --- controllers, of either version --------------------------------------------------------------


def controller_mount(name):
    """Where a controller is: in a hierarchy of its own, or in version 2."""
    for _, path, kind, options, *_ in mounts():
        if kind == "cgroup" and name in options.split(","):
            return path
    root = cgroup_mount()
    if name not in slurp(os.path.join(root, "cgroup.controllers")).decode().split():
        pytest.skip("no cgroup controller %s here" % name)
    write(os.path.join(root, "cgroup.subtree_control"), "+" + name)
    return root


@contextlib.contextmanager
def temporary(mount):
    """A cgroup below a mount; what is left in it goes back to the root in the end."""
    path = os.path.join(mount, "bpftruss-drill-%d" % os.getpid())
    os.mkdir(path)
    try:
        yield path
    finally:
        cgroup_empty(path, mount)


@contextlib.contextmanager
def pids_limit(limit):
    """A cgroup that holds so many processes and threads at most."""
    with temporary(controller_mount("pids")) as path:
        write(os.path.join(path, "pids.max"), limit)
        yield path


@contextlib.contextmanager
def frozen(pid):
    """A process is in a frozen cgroup of version 2: that takes no controller."""

    def freeze(on):
        write(os.path.join(path, "cgroup.freeze"), int(on))
        until(lambda: b"frozen %d" % on in slurp(os.path.join(path, "cgroup.events")), "freezing")

    with temporary(cgroup_mount()) as path:
        if not os.path.exists(os.path.join(path, "cgroup.freeze")):
            pytest.skip("this kernel's cgroups cannot be frozen")
        move(pid, path)
        try:
            freeze(True)
            yield
        finally:
            freeze(False)


class Memory:
    """A cgroup whose memory is counted, and limited from some time on."""

    def __init__(self, path):
        self.path = path
        first = os.path.exists(os.path.join(path, "memory.limit_in_bytes"))
        self.files = ("usage_in_bytes", "limit_in_bytes") if first else ("current", "max")

    def used(self):
        return int(slurp(os.path.join(self.path, "memory." + self.files[0])))

    def limit(self, size):
        write(os.path.join(self.path, "memory." + self.files[1]), size)


@contextlib.contextmanager
def memory():
    with temporary(controller_mount("memory")) as path:
        yield Memory(path)
