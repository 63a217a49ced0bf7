# SPDX-License-Identifier: BSD-2-Clause
"""The tables: what fits into them, and what happens when they are full."""

import glob
import re
import subprocess

from harness import Report, must_equal, program, slurp, until


def totals(counts):
    """Calls, errors and interrupted ones by ABI and number, whoever made them."""
    return {
        (abi, nr): (row["calls"], row["errors"], row["interrupted"])
        for (_, abi, nr), row in counts.items()
        if row["calls"]
    }


def count_lossy(live, *workload, options):
    report, table = live.count(*workload, options=options, lossy=True)
    assert report.data["exact"] is False
    return report, table


def overflow(report):
    return [row for row in report.rows if row["pid"] is None]


def test_more_threads_than_records_keep_exact_totals(live):
    report, table = count_lossy(live, "threads", 11, 503, options=["--max-tasks", 2])
    assert totals(report.counts()) == totals(table.counts())
    assert report.losses["task_table_full"] > 0


def test_more_calls_than_rows_keep_exact_totals_in_rows_without_a_process(live):
    report, table = count_lossy(live, "calls", options=["--max-rows", 5])
    assert totals(report.counts()) == totals(table.counts())
    assert report.losses["slot_table_full"] > 0
    assert overflow(report)
    assert {row["comm"] for row in overflow(report)} == {"[overflow]"}
    lost = sum(row["calls"] for row in overflow(report))
    assert lost == report.losses["slot_table_full"]
    for row in overflow(report):
        assert row["wall_ns"] is row["min_ns"] is row["p99_ns"] is None and row["histogram"] == []


def test_more_errnos_than_room_keep_exact_errors(live):
    report, table = count_lossy(live, "calls", options=["--max-errnos", 1])
    assert totals(report.counts()) == totals(table.counts())
    known = sum(sum(row["errnos"].values()) for row in report.rows)
    assert report.losses["errno_table_full"] == report.sum("errors") - known > 0


def test_latencies_beyond_the_room_for_histograms_are_not_timed(live):
    """Two rows have four lines of histograms; these latencies want five."""
    target = live.spawn(program("pace"), "wait", 20, "spread", stdin=subprocess.PIPE)
    until(lambda: target.stdout() == b"ready\n", "it is ready")
    bpftruss = live.attach(target.pid, "--max-rows", 2)
    target.tell(b"go\n")
    report = bpftruss.report(lossy=True)
    row = report.only("nanosleep")
    assert (row["calls"], row["errnos"]) == (21, {"EINVAL": 1})
    assert report.losses["hist_table_full"] == row["untimed"] > 0


def test_children_beyond_the_tables_keep_exact_totals(live):
    options = ["-f", "--max-tasks", 2, "--max-rows", 5]
    report, table = count_lossy(live, "forks", "clone", 101, options=options)
    assert totals(report.counts()) == totals(table.counts())


def test_the_text_report_says_that_it_is_not_exact_and_why(live):
    target = live.workload("calls")
    bpftruss = live.attach(target.pid, "--max-rows", 5, json=False)
    target.go()
    bpftruss.wait()
    assert "\nnot exact: " in bpftruss.text().decode()
    assert "--max-rows" in bpftruss.text().decode()


def test_room_of_ended_threads_is_used_again(live):
    """Far more children than records, but never more than a few at a time."""
    target = live.workload("forks", "clone", 503)
    bpftruss = live.attach(target.pid, "-f", "--max-tasks", 300)
    target.go()
    bpftruss.wait()
    report = Report(bpftruss.text(), lossy=True)
    assert totals(report.counts()) == totals(target.table().counts())
    # Some may come faster than room is given back; without that, two fifths would find none.
    assert sum(row["calls"] for row in overflow(report)) < report.sum("calls") / 5


def test_made_up_numbers_do_not_push_out_real_calls(live):
    report, table = live.count("numbers")
    assert report.only("getppid")["calls"] == 31
    assert not overflow(report)


# --- the sizes that a user gets without asking ---------------------------------------------------


def test_a_thousand_processes_of_forty_calls_fit(live):
    report, table = live.count("crowd", 999, options=["-f"])
    must_equal(report, table)
    assert len({row["pid"] for row in report.rows}) == 1000
    assert len(report.rows) > 999 * 40


def test_the_tables_take_less_than_34_mib_of_kernel_memory(live):
    bpftruss = live.attach(live.workload("calls").pid)
    maps = {}
    for path in glob.glob("/proc/%d/fdinfo/*" % bpftruss.pid):
        info = slurp(path).decode()
        if "map_type" in info:
            number = re.search(r"^map_id:\t(\d+)$", info, re.M).group(1)
            maps[number] = int(re.search(r"^memlock:\t(\d+)$", info, re.M).group(1))
    assert 0 < sum(maps.values()) < 34 << 20
