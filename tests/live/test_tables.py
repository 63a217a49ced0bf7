# SPDX-License-Identifier: BSD-2-Clause
"""The tables: what fits into them, and what happens when they are full."""

import pytest

from harness import locked_bytes
from reports import count_text


def totals(counts):
    """Calls, errors and interrupted ones by ABI and number, whoever made them."""
    return {
        (abi, nr): (row["calls"], row["errors"], row["interrupted"])
        for (_, abi, nr), row in counts.items()
        if row["calls"]
    }


def count_lossy(live, *workload, options):
    """The report of a workload that finds no room, and whose totals are exact all the same."""
    report, table = live.count(*workload, options=options, lossy=True)
    assert report.data["exact"] is False
    assert totals(report.counts()) == totals(table.counts())
    return report


def overflow(report):
    return [row for row in report.rows if row["pid"] is None]


def test_more_threads_and_children_than_records_keep_exact_totals(live):
    report = count_lossy(live, "threads", 11, 503, options=["--max-tasks", 2])
    assert report.losses["task_table_full"] > 0
    count_lossy(live, "forks", "clone", 101, options=["-f", "--max-tasks", 2, "--max-rows", 5])


def test_more_calls_than_rows_keep_exact_totals_in_rows_without_a_process(live):
    report = count_lossy(live, "calls", options=["--max-rows", 5])
    assert report.losses["slot_table_full"] > 0
    assert {row["comm"] for row in overflow(report)} == {"[overflow]"}
    assert sum(row["calls"] for row in overflow(report)) == report.losses["slot_table_full"]
    for row in overflow(report):
        assert row["wall_ns"] is row["min_ns"] is row["p99_ns"] is None and row["histogram"] == []


def test_more_errnos_than_room_keep_exact_errors(live):
    report = count_lossy(live, "calls", options=["--max-errnos", 1])
    known = sum(sum(row["errnos"].values()) for row in report.rows)
    assert report.losses["errno_table_full"] == report.sum("errors") - known > 0


def test_latencies_beyond_the_room_for_histograms_are_not_timed(live):
    """Two rows have four lines of histograms; these latencies want five."""
    _, bpftruss = live.begin("pace", 20, "spread", options=["--max-rows", 2])
    report = bpftruss.report(lossy=True)
    row = report.only("nanosleep")
    assert (row["calls"], row["errnos"]) == (21, {"EINVAL": 1})
    assert report.losses["hist_table_full"] == row["untimed"] > 0


def test_the_text_report_says_that_it_is_not_exact_and_why(live):
    text, _ = count_text(live, ["--max-rows", 5], "calls")
    assert "\nnot exact: " in text and "--max-rows" in text


def test_room_of_ended_threads_is_used_again(live):
    """Far more children than records, but never more than a few at a time."""
    options = ["-f", "--max-tasks", 300]
    report, table = live.count("forks", "clone", 503, options=options, lossy=True)
    assert totals(report.counts()) == totals(table.counts())
    # Some may come faster than room is given back; without that, two fifths would find none.
    assert sum(row["calls"] for row in overflow(report)) < report.sum("calls") / 5


# --- the sizes that a user gets without asking ---------------------------------------------------


def test_a_thousand_processes_of_forty_calls_fit(live):
    report = live.count_exactly("crowd", 999, options=["-f"])
    assert len(report.all("pid")) == 1000
    assert len(report.rows) > 999 * 40


@pytest.mark.parametrize("exemplars, mib", [(0, 34), (1, 44)])
def test_the_tables_take_little_kernel_memory(live, exemplars, mib):
    """With an exemplar, which JSON has without being asked, the call that each thread is in is kept, too."""
    bpftruss = live.attach(live.workload("calls").pid, "--exemplars", exemplars)
    assert 0 < locked_bytes(bpftruss.pid) < mib << 20
