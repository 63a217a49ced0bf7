# SPDX-License-Identifier: BSD-2-Clause
"""Tasks at real-time priority that make calls in the middle of another one's."""

import platform
import re

import pytest

from harness import must_equal
from preemption import contend, unexplained

# From here on the kernel may preempt a program at a system call, or at the life of a task.
PREEMPTIBLE = (7, 2)
LIFE_PREEMPTIBLE = (7, 0)


def kernel():
    return tuple(int(number) for number in re.findall(r"\d+", platform.release())[:2])


@pytest.mark.parametrize("preemptors", [1, 2])
def test_what_real_time_preemptors_keep_from_being_counted_is_said(live, preemptors):
    report, table = contend(live, preemptors)
    unexplained(report, table)
    if kernel() < PREEMPTIBLE:
        # Of whichever task of this host.
        allowed = {"lifecycle_missed"} if kernel() >= LIFE_PREEMPTIBLE else set()
        assert set(report.losses) <= allowed, report.losses
        must_equal(report, table)
