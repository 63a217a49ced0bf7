# SPDX-License-Identifier: BSD-2-Clause
"""Cgroups of the machine, and which processes are in them. The fixture cgroup makes new ones."""

import contextlib
import os

import pytest

from harness import until


def cgroup_mount():
    with open("/proc/self/mounts") as mounts:
        for line in mounts:
            if line.split()[2] == "cgroup2":
                return line.split()[1]
    pytest.skip("no cgroup version 2 file system is mounted")


def move(pid, path):
    with open(os.path.join(path, "cgroup.procs"), "w") as procs:
        procs.write(str(pid))


def cgroup_remove(path):
    """Whether it is gone now: as long as it holds a process it stays."""
    try:
        os.rmdir(path)
        return True
    except OSError:
        return False


class Cgroups:
    """Makes cgroups for one test; they and their processes' places go away with it."""

    def __init__(self):
        self.made = []

    def make(self, *names):
        """The path of a cgroup below the root, one name for each level."""
        path = cgroup_mount()
        for name in names:
            path = os.path.join(path, name)
            if not os.path.isdir(path):
                os.mkdir(path)
                self.made.append(path)
        return path

    def close(self):
        for path in reversed(self.made):
            with open(os.path.join(path, "cgroup.procs")) as procs:
                for pid in procs.read().split():
                    move(pid, cgroup_mount())
            until(lambda: cgroup_remove(path), "cgroup is empty")


# --- controllers, of either version --------------------------------------------------------------


def controller_mount(name):
    """Where a controller is: in a hierarchy of its own, or in version 2."""
    with open("/proc/self/mounts") as mounts:
        for line in mounts:
            words = line.split()
            if words[2] == "cgroup" and name in words[3].split(","):
                return words[1]
    root = cgroup_mount()
    with open(os.path.join(root, "cgroup.controllers")) as controllers:
        if name not in controllers.read().split():
            pytest.skip("no cgroup controller %s here" % name)
    with open(os.path.join(root, "cgroup.subtree_control"), "w") as control:
        control.write("+" + name)
    return root


@contextlib.contextmanager
def temporary(mount):
    """A cgroup below a mount; what is left in it goes back to the root in the end."""
    path = os.path.join(mount, "bpftruss-drill-%d" % os.getpid())
    os.mkdir(path)
    try:
        yield path
    finally:
        with open(os.path.join(path, "cgroup.procs")) as procs:
            for pid in procs.read().split():
                move(pid, mount)
        until(lambda: cgroup_remove(path), "cgroup is empty")


@contextlib.contextmanager
def pids_limit(limit):
    """A cgroup that holds so many processes and threads at most."""
    with temporary(controller_mount("pids")) as path:
        with open(os.path.join(path, "pids.max"), "w") as file:
            file.write(str(limit))
        yield path


class Freezer:
    """A cgroup of version 2 whose processes can be frozen: that takes no controller."""

    def __init__(self, path):
        self.path = path

    def set(self, frozen):
        with open(os.path.join(self.path, "cgroup.freeze"), "w") as file:
            file.write("1" if frozen else "0")
        until(lambda: self.is_frozen() == frozen, "cgroup is frozen: %s" % frozen)

    def is_frozen(self):
        with open(os.path.join(self.path, "cgroup.events")) as events:
            return "frozen 1" in events.read()

    def freeze(self):
        self.set(True)

    def thaw(self):
        self.set(False)


@contextlib.contextmanager
def freezer():
    with temporary(cgroup_mount()) as path:
        if not os.path.exists(os.path.join(path, "cgroup.freeze")):
            pytest.skip("this kernel's cgroups cannot be frozen")
        freezing = Freezer(path)
        try:
            yield freezing
        finally:
            freezing.thaw()


class Memory:
    """A cgroup whose memory is counted, and limited from some time on."""

    def __init__(self, path):
        self.path = path
        first = os.path.exists(os.path.join(path, "memory.limit_in_bytes"))
        self.files = ("usage_in_bytes", "limit_in_bytes") if first else ("current", "max")

    def used(self):
        with open(os.path.join(self.path, "memory." + self.files[0])) as file:
            return int(file.read())

    def limit(self, size):
        with open(os.path.join(self.path, "memory." + self.files[1]), "w") as file:
            file.write(str(size))


@contextlib.contextmanager
def memory():
    with temporary(controller_mount("memory")) as path:
        yield Memory(path)
