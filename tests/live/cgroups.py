# SPDX-License-Identifier: BSD-2-Clause
"""Cgroups of the machine, and which processes are in them. The fixture cgroup makes new ones."""

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
