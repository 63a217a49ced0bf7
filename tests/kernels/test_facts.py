# SPDX-License-Identifier: BSD-2-Clause
"""Facts about kernels that only a machine of our own shows: docs/internals/KERNELS.md lists them all."""

import contextlib
import glob
import os
import shutil
import subprocess

import pytest

from harness import program, slurp, until, write

CORE_PATTERN = "/proc/sys/kernel/core_pattern"


@pytest.fixture
def helper():
    """A program that the kernel starts itself whenever one dumps core."""
    before = slurp(CORE_PATTERN).decode("ascii")
    path = shutil.copy(program("calls"), "/tmp/helper")
    write(CORE_PATTERN, "|" + path)
    yield path
    write(CORE_PATTERN, before)
    os.remove(path)


def dump_core(_):
    status = subprocess.run(["sh", "-c", "kill -SEGV $$"], check=False).returncode
    assert status == -11


def is_running(name):
    """Whether a process of that name is there, be it a zombie."""
    for path in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if slurp(path) == name.encode() + b"\n":
                return True
    return False


def calls_of(live, helper, start, selector):
    """How often the helper made which call."""
    name = os.path.basename(helper)
    bpftruss = live.choose(*(name if word == "NAME" else word for word in selector))
    start(helper)
    until(lambda: not is_running(name), "the helper ends")
    report = bpftruss.interrupt(lossy=True)
    rows = [row for row in report.rows if row["comm"] == name]
    assert rows and not [(row["syscall"], row["pid"]) for row in rows if row["denied"]]
    return {(row["abi"], row["nr"]): row["calls"] for row in rows if row["calls"]}


BY_NAME, ALL = ("--wait", "-n", "NAME"), ("-a",)


@pytest.mark.parametrize("selector", [BY_NAME, ALL], ids=["name", "all"])
def test_what_the_kernel_starts_itself_has_made_no_call_before_its_first(live, helper, selector):
    """Its first return from the kernel looks like the end of a call."""

    def run(path):
        subprocess.run([path], stdout=subprocess.DEVNULL, check=True)

    by_kernel = calls_of(live, helper, dump_core, selector)
    by_us = calls_of(live, helper, run, BY_NAME)
    assert by_kernel == by_us
