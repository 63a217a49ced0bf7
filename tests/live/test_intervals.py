# SPDX-License-Identifier: BSD-2-Clause
"""Reports in between: intervals add up to the whole, and asking does not disturb the counting."""

import collections
import itertools
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from harness import NUMBERS, Report, interval_reports, merge_counts, must_equal, must_say_exact, play_all, program, until
from reports import count_text, crew_at_rest, parse_csv
from test_tables import totals

ROUNDS = 150
CALLS = 101
TICK = "0.05"  # seconds; the workload takes several
# Calls in which a thread may be when its process takes its name.
JOINING = NUMBERS["read"], NUMBERS["prctl"]
TIMES = ("wall_ns", "cpu_ns", "runq_ns", "sleep_ns")

# A CPU that the host takes away stands still between reading a clock, or beginning a record, and storing
# it, while an interval of some milliseconds ends.
OF_A_BUSY_HOST = {"time_clamped", "late_threads", "torn_reads"}


def reports(bpftruss, **how):
    """The reports in all whole lines so far."""
    text = bpftruss.text()
    return interval_reports(text[: text.rfind(b"\n") + 1], **how)


def finished(bpftruss):
    assert bpftruss.wait() == 0, bpftruss.stderr()
    return reports(bpftruss)


def counted(lines, by_pid=True):
    """Adds up what these reports counted; histograms by the number of calls in them."""
    rows = [row for report in lines for row in report.rows]
    total = merge_counts(rows, by_pid)
    for counts in total.values():
        counts["timed"] = 0
    for row in rows:
        key = (row["pid"] if by_pid else None, row["abi"], row["nr"])
        total[key]["timed"] += sum(count for _, _, count in row["histogram"])
    return {key: counts for key, counts in total.items() if counts["calls"]}


def measured(lines):
    """The times, which only readings of the same bpftruss can have in common."""
    total = {}
    for row in (row for report in lines for row in report.rows):
        key = (row["pid"], row["abi"], row["nr"])
        buckets = [((low, high), count) for low, high, count in row["histogram"]]
        for what, count in buckets + [(name, row[name] or 0) for name in TIMES]:
            total.setdefault(key, {}).setdefault(what, 0)
            total[key][what] += count
    return {key: row for key, row in total.items() if any(row.values())}


def must_meet(lines):
    """Each interval starts where the one before it ended."""
    assert [line.data["start"] for line in lines[1:]] == [line.data["end"] for line in lines[:-1]]


def wholes(lines):
    """Reports so far, told from intervals by their start: it is that of the counting."""
    return [line for line in lines[1:] if line.data["start"] == lines[0].data["start"]]


def intervals(lines):
    return [line for line in lines if line not in wholes(lines)]


def ask(bpftruss, answers=reports):
    """The report so far."""
    before = len(answers(bpftruss))
    bpftruss.signal(signal.SIGUSR1)
    until(lambda: len(answers(bpftruss)) > before, "a report so far")
    return answers(bpftruss)[before]


def ask_between(bpftruss):
    """The same of one that reports intervals, too."""
    return ask(bpftruss, lambda asked: wholes(reports(asked)))


def both(live, *options, json=True):
    """A workload, one bpftruss that reports its intervals, and one that does not."""
    target = live.workload("steady", ROUNDS, CALLS)
    short = live.attach(target.pid, "-i", TICK, *options, json=json)
    return target, short, live.attach(target.pid, *options, json=json)


def played_in_intervals(live, name, *args, options):
    """The reports of a workload that does all that it does under bpftruss; and the workload."""
    target, bpftruss = live.begin(name, *args, options=options)
    lines = finished(bpftruss)
    status = target.wait()
    if status == 77:
        pytest.skip("the kernel does not let this user choose an id")
    assert status == 0
    return lines, target


def stopped(bpftruss):
    bpftruss.stop()
    return reports(bpftruss)


def with_keeper(live, *workload, options, **how):
    """A workload, and bpftruss, which another one keeps counting when the first has ended."""
    target, keeper = live.workload(*workload), live.workload("calls")
    return target, live.attach([target.pid, keeper.pid], *options, **how)


# --- intervals add up ----------------------------------------------------------------------------


FOLDED = "--keep-exited 3"


@pytest.mark.parametrize(
    "options", ["-f", "", "-f --by tid", "-f " + FOLDED, "-f --by tid " + FOLDED]
)
def test_intervals_add_up_to_one_long_report(live, options):
    """
    Intervals add up with children and without, by thread, and while ended processes are folded.
    """
    target, short, long = both(live, *options.split())
    target.go()
    lines, whole = finished(short), long.report()
    assert len(lines) > 3
    by_pid = FOLDED not in options
    assert counted(lines, by_pid) == counted([whole], by_pid)
    must_meet(lines)
    if not options:
        assert whole.all("pid") == {target.pid}
    elif by_pid:
        must_equal(whole, target.table())
    else:
        assert None in whole.all("pid")
        assert totals(whole.counts()) == totals(target.table().counts())


@pytest.mark.parametrize(
    "workload, interval", [(("steady", ROUNDS, CALLS), TICK), (("sleepers", "naps", 100, 40), "0.02")]
)
def test_intervals_of_the_same_bpftruss_add_up_in_times_too(live, workload, interval):
    """A reading takes what a sleeping thread has done from the one before, until it wakes up."""
    target, bpftruss = with_keeper(live, *workload, options=["-f", "-i", interval])
    long = live.attach(target.pid, "-f")
    target.play()
    whole, alone = ask_between(bpftruss), long.report()
    lines = intervals(stopped(bpftruss))
    must_equal(alone, target.table())
    assert counted(lines) == counted([whole]) == counted([alone])
    assert measured(lines) == measured([whole])
    must_meet(lines)


def test_folded_processes_are_in_no_interval_twice(live):
    """The rows of those that were folded are subtracted from the rows they were folded into."""
    options = ["-f", "-i", "0.01", "--keep-exited", 3]
    lines, target = played_in_intervals(live, "forks", "clone", 503, options=options)
    assert sum(line.total("getppid") for line in lines) == 503
    assert counted(lines, by_pid=False).keys() == target.table().counts().keys()
    must_meet(lines)


def test_intervals_add_up_while_processes_join_and_leave(live, tmp_path):
    unique = "ours%d-" % os.getpid()
    forks = shutil.copy(program("forks"), tmp_path / (unique + "f"))
    short = live.choose("--wait", "-n", unique + "*", "-i", "0.02")
    long = live.choose("--wait", "-n", unique + "*")
    for _ in range(3):
        joining = [live.workload("becomes", "name", unique + str(i), 7, 503) for i in range(3)]
        targets = [live.spawn(forks, "fork", 61), live.spawn(forks, "clone3", 61)] + joining
        play_all(joining)
        for target in targets:
            assert target.wait() == 0
    long.signal(signal.SIGINT)
    lines, whole = stopped(short), long.report()
    assert whole.total("getppid") == 3 * (2 * 61 + 3 * 2 * 503 * (7 + 1))
    # But for the calls in which threads were then: whether they are adopted before these end, each of the
    # two finds out for itself.
    sums = [{k: v for k, v in counted(x).items() if k[2] not in JOINING} for x in (lines, [whole])]
    assert sums[0] == sums[1]
    must_meet(lines)


@pytest.mark.parametrize("options", [
    "--keep-exited 1", "--keep-exited 1 --by tid", "--keep-exited 2 --by arg0", "--by tid,arg0",
    "--by path", "--keep-exited 2 --by file"
])  # fmt: skip
def test_very_short_intervals_add_up(live, options):
    options = ["-f", "-i", "0.002", *options.split()]
    lines, target = played_in_intervals(live, "forks", "clone", 1009, options=options)
    assert len(lines) > 10
    assert totals(counted(lines, by_pid=False)) == totals(target.table().counts())
    must_meet(lines)


@pytest.mark.parametrize("workload, options, calls, meet", [
    (("reuse",), ["-f", "-i", "0.001", "--keep-exited", 1], {"getppid": 7 + 11}, False),
    (("reuse", "thread"), ["-i", "0.02", "--by", "tid"], {"getppid": 7 + 11}, False),
    (("execs", "thread"), ["-i", "0.01", "--by", "tid"], {"getppid": 7 + 19, "execve": 1}, True),
], ids=["a pid", "a tid", "the tid of a thread that execs"])  # fmt: skip
def test_intervals_of_two_tasks_under_one_id_add_up(live, workload, options, calls, meet):
    lines, _ = played_in_intervals(live, *workload, options=options)
    assert {name: sum(line.total(name) for line in lines) for name in calls} == calls
    if meet:
        must_meet(lines)


def test_intervals_add_up_when_a_process_leaves_and_joins_again_in_between(live):
    """It makes 2 * 700 calls under the chosen name, 700 under another; 20 intervals or so."""
    chosen = "yes%d" % os.getpid()
    target = live.workload("renames", chosen, 700)
    bpftruss = live.choose("-n", chosen, "-i", "0.01")
    target.play()
    lines = stopped(bpftruss)
    assert sum(line.total("getppid") for line in lines) == 2 * 700
    assert sum(line.total("getsid") for line in lines) == 0
    assert {row["comm"] for line in lines for row in line.rows} == {chosen}
    must_meet(lines)


def test_csv_intervals_by_thread_have_the_calls_of_every_thread(live):
    options = ["--csv", "--by", "tid", "-t", "sched_yield", "-i", TICK]
    _, bpftruss = crew_at_rest(live, *options)
    calls = collections.Counter()
    for row in parse_csv(bpftruss.stop_text()):
        calls[row["tid"]] += int(row["calls"])
    # Before and after them is nobody's nothing.
    assert calls.pop("", 0) == 0
    assert sorted(calls.values()) == [1, 2, 3, 4, 5, 6, 7]


def test_csv_intervals_without_calls_are_there(live):
    options = ["--csv", "--by", "comm,syscall", "-t", "getppid", "-i", TICK]
    target, bpftruss = with_keeper(live, "calls", options=options, json=False)
    until(lambda: bpftruss.text().count(b"\n") > 3, "three intervals without calls")
    target.play()
    rows = parse_csv(bpftruss.stop_text())
    for row in rows[:3]:
        assert (row["comm"], row["syscall"], row["calls"], row["total_ns"]) == ("", "", "0", "")
    times = [(row["start"], row["end"]) for row in rows]
    assert all(end == start for (_, end), (start, _) in zip(times, times[1:])), times
    assert sum(int(row["calls"]) for row in rows) == 1009


def test_csv_intervals_add_up_and_have_one_header(live):
    target, short, long = both(live, "-f", "--csv", "--by", "syscall", json=False)
    target.go()
    short, long = short.end_text(), long.end_text()
    assert short.count("start,end,") == 1
    assert csv_sums(short) == csv_sums(long)
    times = sorted({(row["start"], row["end"]) for row in parse_csv(short)})
    assert len(times) > 3
    assert all(end == start for (_, end), (start, _) in zip(times, times[1:])), times


def csv_sums(text):
    total = collections.Counter()
    for row in parse_csv(text):
        for name in ("calls", "errors", "interrupted", "no_return", "bytes"):
            total[row["syscall"], name] += int(row[name] or 0)
    return +total


def test_text_intervals_add_up(live):
    text, table = count_text(live, ["-f", "-i", TICK], "steady", ROUNDS, CALLS)
    calls = [line.split()[2] for line in text.splitlines() if line.startswith("getppid ")]
    assert sum(map(int, calls)) == table.total("getppid")
    must_say_exact(text)
    assert text.count("sys totals:") == text.count("exact: no call is missing") > 3


# --- how many, and the last of them --------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_n_ends_after_that_many_intervals(live, count):
    target = live.workload("calls")
    lines = finished(live.attach(target.pid, "-i", "0.05", "-N", count))
    assert len(lines) == count and target.popen.poll() is None
    must_meet(lines)
    elapsed_ns = itertools.accumulate(line.data["elapsed_ns"] for line in lines)
    assert all(ns >= number * 0.05e9 for number, ns in enumerate(elapsed_ns, 1))


def test_the_last_interval_is_reported_although_it_is_not_over(live):
    target, bpftruss = with_keeper(live, "calls", options=["-i", 50])
    target.play()
    (last,) = stopped(bpftruss)
    assert last.total("getppid") == 1009
    assert last.data["elapsed_ns"] < 50e9


def test_a_part_of_an_interval_holds_what_the_ones_before_it_do_not(live):
    target, bpftruss = with_keeper(live, "calls", options=["-i", "1"])
    until(lambda: reports(bpftruss), "a first interval")
    target.play()
    lines = stopped(bpftruss)
    assert [bool(line.select("getppid")) for line in lines].count(True) == 1
    assert sum(line.total("getppid") for line in lines) == 1009
    must_meet(lines)


def test_a_call_in_flight_is_in_every_interval_and_counts_in_the_one_it_ends_in(live):
    target, bpftruss = with_keeper(live, "calls", options=["-i", TICK])
    until(lambda: len(reports(bpftruss)) > 2, "three intervals")
    target.play()
    lines = stopped(bpftruss)
    for line in lines[:3]:
        (row,) = line.select("read", pid=target.pid)
        assert row["in_flight"] == 1 and row["calls"] == 0
    assert sum(line.total("read", pid=target.pid) for line in lines) == target.table().total("read")


# --- asking in between ---------------------------------------------------------------------------


def test_sigusr1_prints_a_report_so_far_and_counting_goes_on(live):
    first, second = live.workload("calls"), live.workload("calls")
    bpftruss = live.attach([first.pid, second.pid])
    first.play()
    assert ask(bpftruss).total("getppid") == 1009
    second.go()
    lines = finished(bpftruss)
    assert len(lines) == 2
    assert lines[1].total("getppid", pid=first.pid) == 1009
    assert lines[1].total("getppid", pid=second.pid) == 1009
    assert lines[0].data["start"] == lines[1].data["start"]


def test_sigusr1_under_load_changes_nothing(live):
    target, bpftruss = live.begin("steady", ROUNDS, CALLS, options=["-f"])
    totals = [ask(bpftruss).total("getppid") for _ in range(7)]
    lines = finished(bpftruss)
    assert totals == sorted(totals)
    must_equal(Report(json.dumps(lines[-1].data).encode()), target.table())


def test_sigusr1_between_intervals_takes_nothing_from_them(live):
    target, keeper = live.workload("steady", ROUNDS, CALLS), live.workload("calls")
    short, long = (live.attach([target.pid, keeper.pid], "-f", *each) for each in (["-i", TICK], []))
    until(lambda: reports(short), "a first interval")
    target.go()
    for _ in range(5):
        ask_between(short)
    assert target.wait() == 0
    keeper.play()
    lines, whole = finished(short), long.report()
    assert len(wholes(lines)) == 5 and counted(intervals(lines)) == counted([whole])
    must_meet(intervals(lines))


def test_sigusr1_between_intervals_does_not_fold_what_they_are_subtracted_from(live):
    target = live.workload("forks", "clone", 503)
    bpftruss = live.attach(target.pid, "-f", "-i", "0.02", "--keep-exited", 1)
    until(lambda: reports(bpftruss), "a first interval")
    target.go()
    while bpftruss.popen.poll() is None:
        bpftruss.signal(signal.SIGUSR1)
        time.sleep(0.003)
    lines = intervals(finished(bpftruss))
    assert sum(line.total("getppid") for line in lines) == 503
    must_meet(lines)


def test_sigusr1_does_not_reach_the_command(live):
    script = "trap 'echo caught' USR1; echo ready; read line; exit 7"
    bpftruss = live.start("/bin/sh", "-c", script, stdin=subprocess.PIPE)
    until(lambda: b"ready" in bpftruss.stdout(), "the command says ready")
    assert ask(bpftruss).total("execve") == 1
    bpftruss.tell(b"\n")
    assert bpftruss.wait() == 7
    assert len(reports(bpftruss)) == 2 and b"caught" not in bpftruss.stdout()


@pytest.mark.parametrize("options", [["--csv"], ["-w"], ["--format=strace"], ["--errors"]])
def test_sigusr1_works_in_every_format(live, options):
    target = live.workload("calls")
    bpftruss = live.attach(target.pid, *options, json=False)
    bpftruss.signal(signal.SIGUSR1)
    until(lambda: bpftruss.text() or options == ["--format=strace"], "a report so far")
    target.go()
    assert bpftruss.wait() == 0
    assert b"close" in bpftruss.text()
