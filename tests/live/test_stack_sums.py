# SPDX-License-Identifier: BSD-2-Clause
"""
Stacks are counted, not sampled: those of a row add up to the row, whatever is asked for. The harness
checks that of every report; here is what could make it fail.
"""

import collections
import functools
import re
import time

import pytest

from harness import IS_X86, Report, must_equal, until
from stacks import (FRAME_POINTERS, Waiting, fixture, must_be_complete, symbols,
                    symbols_outside_libc, wait_looked)  # fmt: skip
from test_intervals import ask, intervals, reports, wholes, with_keeper

MS = 1_000_000


def by_stack(reports):
    """{(process, call, frames, end): calls}"""
    total = collections.Counter()
    for row in (row for report in reports for row in report.rows):
        for stack in row["stacks"]:
            frames = tuple((frame["symbol"], frame["offset"]) for frame in stack["frames"])
            total[row["pid"], row["syscall"], frames, stack["end"]] += stack["calls"]
    return +total


@pytest.mark.parametrize("name, args", [("calls", []), ("threads", [16, 110]), ("denied", [])])
def test_stacks_add_up_to_the_tables_of_workloads(live, name, args):
    report = live.count_exactly(name, *args, options=["-f", "--stacks"])
    must_be_complete(report.rows)


def test_what_finds_no_room_is_other_stacks(live):
    report = live.count_exactly("calls", options=["--stacks", "--max-stacks", 5])
    ends = [stack["end"] for stack in report.stacks() if stack["calls"]]
    assert 0 < ends.count("complete") <= 5
    assert ends.count("other_stacks") > 0
    # The harness has compared errors and times as well.
    others = [stack for stack in report.stacks() if stack["end"] == "other_stacks"]
    assert not any(stack["frames"] for stack in others) and any(s["errors"] for s in others)


def test_intervals_add_up_to_the_whole_by_stack(live):
    """Of one bpftruss: another one may find an address space busy where this one does not."""
    target, bpftruss = with_keeper(live, "steady", 100, 20, options=["-f", "--stacks", "-i", "0.05"])
    so_far = functools.partial(reports, lossy=True)  # what is longest in an interval is not known by stack
    target.play()
    # A question would end the wait for names of an interval that is on its way.
    before = len(so_far(bpftruss))
    until(lambda: len(so_far(bpftruss)) > before + 1, "two more intervals")
    whole = ask(bpftruss, lambda asked: wholes(so_far(asked)))
    bpftruss.stop()
    must_equal(Report(whole.text), target.table())
    lines = intervals(so_far(bpftruss))
    assert len(lines) > 2
    parts, all_of_it = by_stack(lines), by_stack([whole])
    assert (parts - all_of_it, all_of_it - parts) == ({}, {})


def test_folded_processes_keep_their_stacks(live):
    options = ["-f", "--stacks", "--keep-exited", 3]
    report, _ = live.count("forks", "clone", 53, options=options)
    (folded,) = [row for row in report.select("getppid") if row["pid"] is None]
    assert {symbols(stack)[-1] for stack in folded["stacks"]} == {"_start"}
    assert report.total("getppid") == 53
    must_be_complete(report.rows)


def test_all_processes_under_load_lose_no_stack(live):
    target = live.workload("steady", 100, 50)
    everything = live.start(options=["-a", "-d", "2", "--stacks"])
    one = live.attach(target.pid, "-f", "--stacks")
    everything.wait_counting()
    target.go()
    must_equal(one.report(), target.table())
    report = everything.report(lossy=True)
    # Others may need more than there is room for; what was counted is still told by stack.
    for row in report.rows:
        for field in ("calls", "errors"):
            assert sum(stack[field] for stack in row["stacks"]) == row[field], row


def test_stacks_by_thread_add_up_to_the_calls_of_each(live):
    each = live.add(Waiting, [fixture("chain-clang"), "threads", "5"], threads=5)
    options = ["--stacks", "--by", "tid,syscall", "-t", "read"]
    bpftruss = live.attach(each.pid, *options, json=False)
    for _ in range(40):
        each.tell(b"x")
        until(each.readers, "it is read")
    text = bpftruss.stop_text()
    rows = {tid: int(n) for tid, n in re.findall(r"^ *\d+ +(\d+) +\S+ +\S+ +read +(\d+) ", text, re.M)}
    sections = re.findall(r"^\d+ (\d+) \S+ \S+ read: (\d+) calls?, [\d.]+%, 1 stack$", text, re.M)
    assert sum(rows.values()) == 40 and set(map(int, rows)) <= set(each.threads())
    assert {tid: int(calls) for tid, calls in sections} == {
        tid: calls for tid, calls in rows.items() if calls
    }
    assert text.count("`in_thread+") == len(sections)


def test_folded_stacks_add_up_to_the_calls(live, tmp_path):
    path = tmp_path / "folded"
    report, _ = live.count("calls", options=["--folded", path])
    lines = [line.rpartition(" ") for line in path.read_text().splitlines()]
    folded = {stack: int(count) for stack, _, count in lines}
    assert sum(folded.values()) == report.sum("calls")
    getppid = [count for stack, count in folded.items() if stack.endswith(";getppid")]
    assert sum(getppid) == 1009
    assert all(re.match(r"calls;calls`_start;", stack) for stack in folded)


# --- slow calls only -----------------------------------------------------------------------------


@pytest.mark.parametrize("limit, limit_ns, calls", [("5ms", 5 * MS, 20), ("5s", 5000 * MS, 0)])
def test_only_slow_calls_are_counted_when_asked_for(live, limit, limit_ns, calls):
    """On a busy host others are slow, too."""
    report, table = live.count("times", "sleep", 20, options=["--stacks", "--slower-than", limit])
    assert table.total("nanosleep") == 20
    assert report.total("nanosleep") == calls
    for row in (row for row in report.rows if row["calls"]):
        assert row["min_ns"] >= limit_ns
        must_be_complete([row])


def test_a_slow_call_has_the_stack_that_it_began_with(live):
    """It is taken when the call ends. Only one call is slow: that which waits for the last byte."""
    each = live.add(Waiting, [fixture("chain-clang"), "plain"])
    bpftruss = live.attach(each.pid, "--stacks", "--slower-than", "50ms")
    # The call that it was in began unseen; this is its end.
    each.tell(b"x")
    until(each.readers, "it waits again")
    time.sleep(0.1)
    each.tell(b"q")
    assert each.wait() == 0
    row = bpftruss.report().only("read")
    assert row["calls"] == 1
    (stack,) = row["stacks"]
    assert symbols_outside_libc(stack)[:5] == ["wait_here", "three", "two", "one", "main"]


# --- without tables ------------------------------------------------------------------------------


def test_frame_pointers_alone_still_add_up(live):
    """Stacks are taken as on kernels without the means to read tables."""
    each = live.add(Waiting, [fixture("chain-clang-O0"), "plain"])
    bpftruss = live.attach(each.pid, "--stacks", env=FRAME_POINTERS)
    each.tell(b"x")
    # Addresses are named by their process: it must live until that is done.
    wait_looked(bpftruss)
    each.finish()
    (stack,) = bpftruss.report().only("read")["stacks"]
    # Where a function of libc has no frame its caller cannot be seen; nor is an end known.
    callers = ["three", "two", "one", "main"]
    seen = callers if IS_X86 else ["wait_here"] + callers
    assert symbols_outside_libc(stack)[: len(seen)] == seen
    assert len(stack["frames"]) > len(symbols_outside_libc(stack))
    assert stack["end"] == "no_frame_pointer"
    assert "stacks by frame pointers only" in bpftruss.stderr()


def test_frame_pointers_alone_lose_no_call_of_a_workload(live):
    live.count_exactly("threads", 16, 110, options=["-f", "--stacks"], env=FRAME_POINTERS)
