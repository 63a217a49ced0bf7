# SPDX-License-Identifier: BSD-2-Clause
"""
Since 7.2 a task can be preempted inside a program at a system call; until it goes on, the kernel
skips that program for all others on its CPU, and counts. A report may lack no more than that.
"""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))

from harness import Live  # noqa: E402

WORKLOADS = {"calls": [], "numbers": [], "threads": [11, 503]}


@pytest.fixture
def live(tmp_path):
    things = Live(tmp_path)
    yield things
    things.close()


def calls(counts):
    return {key: row["calls"] for key, row in counts.items() if row["calls"]}


@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_report_lacks_no_more_than_it_says(live, name, attempt):
    report, table = live.count(name, *WORKLOADS[name], lossy=True)
    by_pid = table.knows_pids()
    got, expected = calls(report.counts(by_pid)), calls(table.counts(by_pid))
    assert all(got.get(key, 0) <= count for key, count in expected.items()), (got, expected)
    assert set(got) <= set(expected)
    lacking = sum(expected.values()) - sum(got.values())
    missed = sum(count for loss, count in report.losses.items() if loss.endswith("_missed"))
    assert lacking <= missed, (lacking, report.losses)
    assert report.data["exact"] is not bool(report.losses)
