# SPDX-License-Identifier: BSD-2-Clause
"""What --in-flight says of threads that wait for each other: each in a paragraph that tells for whom."""

import json
import os
import re

import pytest

from harness import IS_X86, Process, run, slurp, until
from stacks import fixture, symbols_outside_libc

pytestmark = pytest.mark.skipif(not IS_X86, reason="stacks of sleeping threads: x86-64 only")

IDLERS = 300


class Locks(Process):
    """Once all of its threads sleep for good."""

    def __init__(self, directory, kind, idlers=0):
        super().__init__(directory, [fixture("locks"), kind, str(idlers)])
        count = 1 + idlers + (0 if kind == "idle" else 4)
        self.waiting = until(lambda: self.sleepers(count), "all threads wait")

    def sleepers(self, count):
        """{name: tid} of those that wait where they will wait for ever, once there are so many."""
        found = {}
        for tid in os.listdir("/proc/%d/task" % self.pid):
            folder = "/proc/%d/task/%s/" % (self.pid, tid)
            if slurp(folder + "syscall").startswith((b"202 ", b"34 ", b"230 0x0 0x0 ")):
                found[slurp(folder + "comm").decode().strip()] = int(tid)
        return found if len(found) == count else None


def text_of(pid, *options):
    result = run("--in-flight", "-p", pid, *options)
    assert result.returncode == 0, result.stderr
    return result.stdout


def told(pid):
    result = run("--in-flight", "--json", "--top", 99, "-p", pid)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def by_name(document):
    return {item["thread"]: item for item in document["in_flight"]}


def test_threads_with_different_stacks_have_paragraphs_of_their_own(live):
    each = live.add(Locks, "plain")
    items = by_name(told(each.pid))
    waiter = next(item for name, item in items.items() if name.startswith("waiter"))
    assert symbols_outside_libc(waiter["user_stack"])[0] == "want"
    assert symbols_outside_libc(items["locks"]["user_stack"])[:2] == ["hold_all", "main"]
    text = text_of(each.pid)
    assert "locks`want" in text and "locks`hold_all" in text


def test_idle_workers_are_one_paragraph_that_names_some_of_them(live):
    each = live.add(Locks, "plain", IDLERS)
    (item,) = [item for item in told(each.pid)["in_flight"] if item["threads"] > 2]
    assert (item["threads"], item["apart"]) == (IDLERS, True)
    assert "idle" in symbols_outside_libc(item["user_stack"])
    idlers = {tid: name for name, tid in each.waiting.items() if name.startswith("idle")}
    assert idlers[item["tid"]] == item["thread"]
    assert all(idlers[other["tid"]] == other["thread"] for other in item["others"])
    assert len(item["others"]) == 256 and item["others_left_out"] == IDLERS - 1 - 256
    text = text_of(each.pid)
    (line,) = [line for line in text.splitlines() if line.endswith(" and 289 more")]
    assert line.startswith("    others: ")
    pairs = re.findall(r"(\d+) \((idle\d+)\)", line)
    assert len(pairs) == 10 and all(idlers[int(tid)] == name for tid, name in pairs)
    assert "locks`want" in text


def test_threads_without_room_for_their_stacks_are_not_merged_with_others(live):
    each = live.add(Locks, "idle", 1030)
    text = text_of(each.pid)
    assert "\nno user stack of 7 threads: there is room for fewer\n" in text
    assert "; 6 threads like it, each at another futex, whose stacks are not known\n" in text
    assert "; 1022 threads like it, each at another futex\n" in text


def facts(item):
    return {fact["what"]: fact["value"] for fact in item["facts"]}


@pytest.mark.parametrize("kind", ["plain", "robust", "recursive", "pi"])
def test_the_holder_of_each_mutex(live, kind):
    each = live.add(Locks, kind)
    tids, items = each.waiting, by_name(told(each.pid))
    for number in "01":
        item, holder = items["waiter" + number], "holder" + number
        assert item["threads"] == 1
        assert facts(item)["lock_held_by"] == "%d (%s), in clock_nanosleep" % (tids[holder], holder)
    text = text_of(each.pid)
    assert "    lock held by: %d (holder1), in clock_nanosleep\n" % tids["holder1"] in text


@pytest.mark.parametrize("kind", ["plain", "shared"])
def test_the_thread_that_is_to_end(live, kind):
    each = live.add(Locks, kind)
    item = by_name(told(each.pid))["locks"]
    wanted = "the end of thread %d (holder0), in clock_nanosleep" % each.waiting["holder0"]
    assert facts(item)["waits_for"] == wanted


def test_the_end_of_a_thread_does_not_wake_a_private_futex(live):
    each = live.add(Locks, "private")
    assert "waits_for" not in facts(by_name(told(each.pid))["locks"])


def test_nobody_holds_what_idle_workers_wait_for(live):
    each = live.add(Locks, "idle", 3)
    (item,) = [item for item in told(each.pid)["in_flight"] if item["threads"] == 3]
    assert not {"lock_held_by", "waits_for"} & set(facts(item))


def test_a_holder_in_another_pid_namespace(live):
    argv = ["unshare", "--pid", "--fork", fixture("locks"), "plain"]
    outer = live.add(Process, argv)
    child = until(lambda: slurp("/proc/%d/task/%d/children" % (outer.pid, outer.pid)).split(), "runs")

    def waits():
        items = by_name(told(int(child[0])))
        both = [facts(items[name]) for name in ("waiter1", "locks") if name in items]
        return both if len(both) == 2 and "lock_held_by" in both[0] and "waits_for" in both[1] else None

    waiter, joins = until(waits, "both wait")
    folder = "/proc/%s/task/" % child[0].decode()
    names = {slurp(folder + tid + "/comm").decode().strip(): tid for tid in os.listdir(folder)}
    assert waiter["lock_held_by"] == names["holder1"] + " (holder1), in clock_nanosleep"
    assert joins["waits_for"] == "the end of thread %s (holder0), in clock_nanosleep" % names["holder0"]
