# SPDX-License-Identifier: BSD-2-Clause
"""Programs that make the calls that they are told to make, and what is said of recordings of these."""

import re
import subprocess
import sys

import pytest

# Does what a line asks for, and answers.
TALKER = """
import os, sys, time
def opens(first, count):
    for i in range(int(first), int(first) + int(count)):
        try:
            os.open("/nonexistent/%d" % i, os.O_RDONLY)
        except OSError:
            pass
def closes(fd):
    try:
        os.close(int(fd))
    except OSError:
        pass
for line in sys.stdin:
    name, *words = line.split()
    {"opens": opens, "naps": lambda ns: time.sleep(float(ns)),
     "aborts": os.abort, "write_to": lambda fd, text: os.write(int(fd), text.encode()),
     "becomes": lambda fd, path: os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), int(fd)),
     "closes": closes}[name](*words)
    print("done", flush=True)
"""
SUM = re.compile(
    r"^bpftruss: (?:(?P<name>\S+): )?(?P<shown>\d+) calls? shown(?: \+ (?P<left>\d+) left out)?"
    r" \+ (?P<old>\d+) too old \+ (?P<over>\d+) overwritten \+ (?P<lost>\d+) lost"
    r" = (?P<all>\d+) (?P<what>counted|so far)$",
    re.M,
)


class Target:
    """A process that makes the calls that it is told to make."""

    def __init__(self, **options):
        self.popen = subprocess.Popen(
            [sys.executable, "-c", TALKER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
        )
        self.pid = self.popen.pid

    def tell(self, *words):
        self.popen.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.popen.stdin.flush()

    def ask(self, *words):
        self.tell(*words)
        assert self.popen.stdout.readline() == "done\n"

    def close(self):
        self.popen.kill()
        self.popen.wait()
        self.popen.stdin.close()
        self.popen.stdout.close()


@pytest.fixture
def target():
    target = Target()
    target.ask("naps", 0)
    yield target
    target.close()


def sums_of(text):
    """What each of the lines says that account for calls, after adding them up."""
    found = []
    for match in SUM.finditer(text):
        numbers = {key: int(match[key] or 0) for key in ("shown", "left", "old", "over", "lost", "all")}
        assert sum(numbers.values()) == 2 * numbers["all"], match[0]
        found.append(dict(numbers, name=match["name"], what=match["what"]))
    return found


def opened(text):
    return [int(number) for number in re.findall(r'open(?:at)?\(.*"/nonexistent/(\d+)"', text)]
