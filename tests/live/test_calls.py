# SPDX-License-Identifier: BSD-2-Clause
"""Single calls: each is a line, or is stated as not shown; nothing is shown twice, nothing in disorder."""

import collections
import re

from call_lines import watch, watch_too_late
from harness import Lossy

# Its rings have no room, because nobody emptied them for a while.
OF_A_BUSY_HOST = {"calls"}

SEQUENCE = re.compile(
    r"^\d+/(\d+):\t(?:(lseek|write)\((\d)\d\d(?:<[^>]*>(?:\(deleted\))?\??)?, "
    r"(?:\"[^\"]*\"(?:\.\.\.)?, )?(\d+)(?:, SEEK_SET)?\) |(getppid)\(\) )"
    r"|^… (\d+) calls? of thread (\d+) not shown$", re.M)


def sequences(lines):
    """Checks each thread's calls, which say where they belong. Returns how many there are of each."""
    found = collections.Counter()
    last, between = {}, collections.Counter()
    for tid, name, kind, number, plain, gap, gap_tid in SEQUENCE.findall(lines.text):
        if gap:
            between[gap_tid] += int(gap)
            continue
        found[tid] += 1
        if plain:
            between[tid] += 1
            continue
        number = int(number)
        assert kind == {"lseek": "1", "write": "2"}[name] and number % 3 == "12".index(kind)
        before = last.get(tid, -1)
        # Calls that are not there, and getppid: all that was between.
        assert number - before - 1 == between[tid], (tid, before, number, between[tid])
        last[tid], between[tid] = number, 0
    return found


def test_each_of_a_million_calls_is_shown_or_stated_and_each_thread_in_order(live):
    target, calls = watch(live, "sequences", 8, 125000, options=["-l"])
    lines = calls.lines()
    assert target.wait() == 0
    table = target.table()
    made = sum(row["calls"] for row in table.rows) + 1 + 1  # and the last line, and exit_group
    assert lines.conclusion.counted == made >= 10**6
    found = sequences(lines)
    assert sum(found.values()) <= lines.conclusion.shown <= sum(found.values()) + 16 + 6


def test_what_is_lost_at_the_end_of_threads_is_stated_too(live):
    lines = watch_too_late(live, 4, "-l").lines()
    assert lines.conclusion.lost > 100000
    found = sequences(lines)
    missing = collections.Counter()
    for tid, count in lines.gaps:
        missing[str(tid)] += count
    # Each also has its exit; the first thread made others, printed and ended.
    assert all(found[tid] + missing[tid] in (100000, 100001) for tid in found)


def test_nothing_is_lost_at_200000_calls_a_second(live):
    target, calls = watch(live, "sequences", 2, 100000, 1000, options=["-l"])
    lines = calls.lines()
    assert target.wait() == 0
    if lines.conclusion.lost and target.table().measures[0]["late"]:
        raise Lossy({"calls": lines.conclusion.lost})
    assert lines.conclusion.lost == 0
    assert sorted(sequences(lines).values()) == [100000, 100000]
