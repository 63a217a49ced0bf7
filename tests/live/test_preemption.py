# SPDX-License-Identifier: BSD-2-Clause
"""Tasks at real-time priority that make calls in the middle of another one's."""

import platform
import re

import pytest

from harness import must_equal
from preemption import contend, unexplained

# From here on the kernel may preempt a program at a system call.
PREEMPTIBLE = (7, 2)


def kernel():
    return tuple(int(number) for number in re.findall(r"\d+", platform.release())[:2])


@pytest.mark.parametrize("preemptors", [1, 2])
def test_what_real_time_preemptors_keep_from_being_counted_is_said(live, preemptors):
    report, table = contend(live, preemptors)
    unexplained(report, table)
    if kernel() < PREEMPTIBLE:
        assert not report.losses
        must_equal(report, table)
