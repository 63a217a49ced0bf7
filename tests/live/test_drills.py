# SPDX-License-Identifier: BSD-2-Clause
"""
Loads and faults on purpose: everything at its limit, and bpftruss or its targets killed on the way.
Here for seconds; `make drills` takes the full length and prints figures. Counts are exact, whatever
the machine is busy with.
"""

import os
import random
import signal
import time

import pytest

import harness
from bpf_objects import ATTACHED, KINDS, Orphans, attached, held, must_be_unloaded
from cgroups import move, pids_limit
from daemons import descriptors, memory_kib
from harness import (BPFTRUSS, Process, must_equal, need, play_all, program, run,
                     skip_if_sanitized, slurp, until)  # fmt: skip
from test_cost import Steer
from test_tables import overflow, totals

FULL = os.environ.get("DRILLS") == "full"


def size(short, full):
    return full if FULL else short


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """The tests must wait for a minute where that is by design."""
    monkeypatch.setattr(harness, "DEADLINE_S", size(60, 1800))


def say(text, *values):
    if FULL:
        print("\n    " + text % values, flush=True)


# --- loads ---------------------------------------------------------------------------------------


def test_as_many_calls_as_go_on_every_cpu_are_all_counted(live):
    seconds = size(1, 60)
    report, table = live.count("flood", "calls", seconds, options=["-f"])
    must_equal(report, table)
    calls, cpus = table.total("getppid"), len(os.sched_getaffinity(0))
    say("%d calls on %d CPUs in %d s: %.0f a second on each", calls, cpus, seconds,
        calls / seconds / cpus)  # fmt: skip


def test_as_many_process_starts_as_go_have_exact_totals(live):
    """Faster than ended ones are read they may run out of room, which must be said."""
    seconds = size(1, 30)
    report, table = live.count("flood", "starts", seconds, options=["-f"], lossy=True)
    assert totals(report.counts()) == totals(table.counts())
    must_state_overflow(report)
    starts = report.total("getppid")
    say("%d process starts in %d s: %.0f a second; %d of %d calls without a process", starts,
        seconds, starts / seconds, without_process(report), report.sum("calls"))  # fmt: skip


def must_state_overflow(report):
    """Calls without a process are as many as the losses say, and no call is missing."""
    full = ("task_table_full", "slot_table_full", "foreign_table_full")
    assert sum(report.losses.get(name, 0) for name in full) == without_process(report)
    split_off = ("arg0_table_full", "stack_table_full")  # what is split off, not the calls
    report.may_lose("user_time_unknown", "errno_table_full", "torn_reads", *full, *split_off)
    assert report.data["exact"] is not bool(report.losses)


@pytest.mark.parametrize("limit, records", [(150, 1536), (150, 40)])
def test_a_fork_bomb_in_a_cgroup_has_exact_totals(live, limit, records):
    """Its own limit stops it; the second is too much for our tables as well."""
    bomb = live.workload("bomb", size(3000, 300000))
    bystander = live.workload("calls")
    with pids_limit(limit) as cgroup:
        move(bomb.pid, cgroup)
        bpftruss = live.attach([bomb.pid, bystander.pid], "-f", "--max-tasks", records)
        bystander.play()
        bomb.play()
        report = bpftruss.report(lossy=True)
    # The bystander wrote its table before the bomb filled ours.
    assert report.total("getppid", pid=bystander.pid) == 1009
    for name in ("clone", "wait4"):
        assert report.errnos(name) or report.losses
    assert totals(report.counts()) == add_up(made_by([bomb, bystander]))
    must_state_overflow(report)
    refused = report.total("clone", "errors")
    assert refused > 0
    say("pids.max %d, --max-tasks %d: %d processes, %d refused, losses %s", limit, records,
        report.total("clone") - refused, refused, report.losses)  # fmt: skip


def by_known_number(rows):
    """Adds up as the overflow rows do, where all numbers beyond the table of calls share one."""
    return add_up(((abi, nr if nr in range(512) else None), row) for (abi, nr), row in rows)


def add_up(rows):
    """The sums of (key, numbers), by key."""
    found = {}
    for key, row in rows:
        found[key] = tuple(map(sum, zip(row, found.get(key, (0, 0, 0)))))
    return found


def made_by(targets):
    """Totals of some workloads that have ended, as (key, numbers)."""
    return [item for target in targets for item in totals(target.table().counts()).items()]


def without_process(report):
    """How many calls stand in rows of no process."""
    return sum(row["calls"] for row in overflow(report) if row["comm"] == "[overflow]")


@pytest.mark.parametrize("more", [[], ["--by", "arg0"], ["--stacks", "--max-stacks", 1]])
def test_every_table_full_at_once_keeps_exact_totals(live, more):
    options = ["-f", "--max-tasks", 3, "--max-rows", 7, "--max-errnos", 1, *more]
    # Errnos, numbers of every ABI, threads, children. The first finds room for rows, and none for the rest.
    fillers = ["calls"], ["numbers"], ["threads", 7, 503], ["forks", "clone", 31]
    targets = [live.workload(*words) for words in (*fillers, *fillers[:2])]
    bpftruss = live.attach([target.pid for target in targets], *options)
    targets[0].play()
    play_all(targets[1:])
    report = bpftruss.report(lossy=True)
    got = by_known_number(totals(report.counts()).items())
    assert got == by_known_number(made_by(targets))
    must_state_overflow(report)
    wanted = {"task_table_full", "slot_table_full"}
    # Arguments and stacks are kept where errnos are, so there is room for more of them.
    wanted |= {"arg0_table_full"} if "arg0" in more else set() if more else {"errno_table_full"}
    assert wanted <= set(report.losses), report.losses


# --- attach, detach ------------------------------------------------------------------------------


def load(live):
    """Calls without a pause, and processes that come and go; nicer than what is measured."""
    busy = live.spawn(program("pace"), 0, "busy", preexec_fn=lambda: os.nice(10))
    starts = live.workload("flood", "starts", 1000000, 1)
    os.setpriority(os.PRIO_PROCESS, starts.pid, 10)
    starts.go()
    return busy


def test_attaching_over_and_over_in_one_process_holds_on_to_nothing(live):
    """Attaches again and again, as a daemon might: descriptors, mappings and memory do not grow."""
    skip_if_sanitized()
    need("bpftool")
    rounds, ids, lines = size(12, 1000), {kind: set() for kind in KINDS}, []
    steer = live.add(Steer, load(live).pid, 64)
    for _ in range(rounds):
        until(lambda: steer.report(lossy=True).sum("calls"), "calls are counted")
        for kind, seen in held(steer.pid).items():
            ids[kind] |= seen
        steer.step("detach")
        mappings = slurp("/proc/%d/maps" % steer.pid).count(b"bpf-map")
        lines.append((descriptors(steer.pid), mappings, memory_kib(steer.pid)))
        assert steer.ask("attach") == b"counting"
    steer.step("detach")
    assert all(ids[kind] for kind in ATTACHED)
    assert len({fds for fds, _, _ in lines}) == 1
    assert {mappings for _, mappings, _ in lines} == {0}
    # It grows while the allocator finds its size, in the first rounds.
    settled, last = lines[rounds // 4][2], lines[-1][2]
    assert last <= settled + 512
    must_be_unloaded(ids)
    say("%d rounds: %d fds, %d mappings, %d KiB after a quarter, %d KiB in the end; %d programs "
        "seen", rounds, *lines[-1][:2], settled, last, len(ids["prog"]))  # fmt: skip


def test_attaching_over_and_over_as_a_user_does_leaves_nothing_in_the_kernel(live):
    need("bpftool")
    rounds, others = size(5, 200), attached()
    target = load(live)
    for _ in range(rounds):
        assert run("-c", "-p", target.pid, "-d", "0.01").returncode == 0
    until(Orphans(others).gone, "programs, maps and links of bpftruss are gone")


def test_killed_at_any_moment_it_leaves_nothing_in_the_kernel(live):
    """It may die while the kernel checks its programs, or half of them are attached."""
    need("bpftool")
    rounds, seed, others = size(10, 200), random.randrange(1 << 32), attached()
    moments, target, counting = random.Random(seed), load(live), 0
    say("seed %d", seed)
    for number in range(rounds):
        argv = [BPFTRUSS, "-c", "-f", "-p", str(target.pid)]
        bpftruss = live.add(Process, argv)
        # Every other one gets as far as to count.
        if number % 2:
            until(lambda b=bpftruss: "counting" in b.stderr(), "bpftruss counts")
        time.sleep(moments.uniform(0, 0.1 if number % 2 else 0.7))
        bpftruss.signal(signal.SIGKILL)
        bpftruss.popen.wait()
        counting += "counting" in bpftruss.stderr()
        orphans = Orphans(others)
        until(orphans.gone, "all of a killed bpftruss is gone: %s, seed %d" % (orphans.left, seed))
    # The load has done its part, and could only make a kernel miss calls that can.
    live.close()
    live.count_exactly("calls")
    assert counting >= rounds // 2
    say("killed %d times, %d of them while it counted", rounds, counting)
