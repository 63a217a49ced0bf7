# SPDX-License-Identifier: BSD-2-Clause
"""The machine under test is the one that its row of tests/kernels/kernels asks for."""

import os
import re

from harness import slurp


def preemption():
    """How this kernel preempts itself, in its own words; "static" where it does not say."""
    if b"PREEMPT_RT" in slurp("/proc/version"):
        return "rt"
    chosen = "/sys/kernel/debug/sched/preempt"
    if not os.path.exists(chosen):
        return "static"
    return re.search(r"\((\w+)\)", slurp(chosen).decode())[1]


def test_the_kernel_preempts_as_it_was_told_to(record_property):
    found = preemption()
    record_property("preempts", found)
    asked = re.search(r"\bpreempt=(\w+)", slurp("/proc/cmdline").decode())
    assert not asked or found == asked[1]


def test_there_are_two_processors():
    """With one alone nothing could happen at the same time."""
    assert os.cpu_count() == 2
