# SPDX-License-Identifier: BSD-2-Clause
"""
Processes that have ended take bounded memory: all but the last are folded into rows by name, and
nothing that they did is lost.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

from cgroups import need_threads
from daemons import memory_kib
from harness import (
    Report, Table, Talker, must_include, need, need_unshare, program, skip_if_sanitized, slurp, until,
)
from reports import add_up, by, count_csv, count_text, must_add_up
from test_cost import Steer

PF_EXITING = 0x4


def give_back_all(bpftruss):
    """A reading takes in what has ended before it; whoever is busy may put that off otherwise."""
    before = bpftruss.text().count(b"\n")
    bpftruss.signal(signal.SIGUSR1)
    until(lambda: bpftruss.text().count(b"\n") > before, "a report so far")
    assert Report(bpftruss.text().splitlines()[before]).rows


def must_have_all(report, made, exits, unfolded):
    """Checks children that made a call each and failed in another; all but so many are folded."""
    assert report.total("getppid") == made
    assert report.total("close") >= made and report.errnos("close")["EBADF"] == made
    assert report.total("exit_group") == made + exits
    (folded,) = [row for row in report.select("getppid") if row["pid"] is None]
    assert folded["comm"] == "forks" and folded["calls"] > made - unfolded
    assert "[overflow]" not in report.all("comm")


class Shell:
    """A shell that does what is in its loop once for each line, and is counted with all that it runs."""

    def __init__(self, live, script, *arguments, **options):
        self.process = live.spawn("/bin/sh", "-c", script, stdin=subprocess.PIPE)
        until(lambda: self.process.state() == "S" and not self.process.children(), "it waits")
        self.bpftruss, self.rounds = live.attach(self.process.pid, "-f", *arguments, **options), 0

    def round(self):
        self.process.tell(b"go\n")
        self.rounds += 1
        until(lambda: self.process.stdout().count(b"done") == self.rounds, "children end")

    def last_report(self):
        """The report of those so far that comes when its input ends."""
        self.process.popen.stdin.close()
        return Report(self.bpftruss.end_text().splitlines()[-1].encode())


def test_ten_thousand_short_processes_have_exact_totals_and_give_back_their_records(live):
    """One shell makes processes as fast as it can: bpftruss has to keep up."""
    need_threads(2601)
    forks = shlex.quote(program("forks"))
    script = "for n in 10003 5003; do read line; %s clone $n; echo done; done;" % forks
    script += "read line; %s clone 2601 together; echo done; read line" % forks
    shell = Shell(live, script)
    for _ in range(3):
        shell.round()
    # 2601 at the same time, of 3072 records: all of the 15,006 before them were given back.
    must_have_all(shell.last_report(), 10003 + 5003 + 2601, 3 + 1, 5003 + 2601)


def test_ten_thousand_short_processes_leave_no_memory(live):
    """
    Each round has nearly as many at the same time as there are records, 3072, so that all of those
    before were given back. It is stopped meanwhile: how many it takes in at a time, and with it the
    memory, would depend on how soon it gets a CPU, and so would whether the records suffice.
    """
    skip_if_sanitized()
    rounds, each = 10, 3001
    need_threads(each)
    script = "for n in $(seq %d); do read line; %s clone %d together; echo done; done; read line"
    script %= (rounds, shlex.quote(program("forks")), each)
    # Freed memory goes back to the kernel: the test is not about the heap's own steps.
    malloc = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    shell, sizes = Shell(live, script, "--exemplars", 0, env={**os.environ, **malloc}), []
    for _ in range(rounds):
        shell.bpftruss.pause()
        shell.round()
        shell.bpftruss.signal(signal.SIGCONT)
        give_back_all(shell.bpftruss)
        sizes.append(memory_kib(shell.bpftruss.pid))
    must_have_all(shell.last_report(), rounds * each, rounds + 1, 2 * each)
    # Memory that it kept would make it grow in each round; its heap does in the first ones.
    assert sizes[-1] <= sizes[2] + 1024, sizes


def test_who_has_the_record_of_an_ended_one_has_none_of_its_calls(live):
    """Calls of every ABI, by known and unknown numbers."""
    script = "while read line; do %s; echo done; done" % shlex.quote(program("numbers"))
    shell = Shell(live, script)
    for _ in range(5):
        shell.round()
        give_back_all(shell.bpftruss)
    must_include(shell.last_report(), Table(shell.process.stdout()))


def test_as_many_ended_processes_as_asked_for_keep_rows_of_their_own(live):
    rows, table = count_csv(live, ["-f", "--by", "pid", "--keep-exited", 10], "forks", "clone", 103)
    must_add_up(rows, table)
    own = [row for row in rows if row["pid"]]
    assert 10 <= len(own) <= 2 * 10 + 1 and len(rows) == len(own) + 1


def test_folded_processes_are_added_up_by_name_and_shown_as_exited(live):
    options = ["-f", "-w", "--by", "pid", "--keep-exited", 3, "--columns", "calls"]
    text, _ = count_text(live, options, "forks", "clone", 53)
    assert re.search(r"^ *exited +forks +\d+$", text, re.M)


def test_folded_processes_keep_all_numbers_but_their_pids(live):
    """Errnos, histograms and times are kept, too: those of one row are those of all."""
    target = live.workload("forks", "clone", 307)
    own = live.attach(target.pid, "-f")
    folded = live.attach(target.pid, "-f", "--keep-exited", 1)
    target.go()
    own, folded = own.report(), folded.report()
    assert own.counts() == folded.counts() == target.table().counts()
    assert len(folded.rows) < len(own.rows) / 10
    for row in folded.rows:
        assert sum(row["errnos"].values()) == row["errors"]


def test_folded_processes_of_different_names_stay_apart(live):
    options = ["-f", "--by", "comm", "--keep-exited", 1, "-t", "getppid"]
    rows, table = count_csv(live, options, "names")
    assert add_up(rows, "calls") == table.total("getppid")
    assert by(rows, "comm")[("%s%n%x",)] == 5 + 11


def test_processes_that_end_within_one_interval_are_folded_too(live):
    skip_if_sanitized()
    target, keeper = live.workload("forks", "clone", 5003), live.workload("calls")
    bpftruss = live.attach([target.pid, keeper.pid], "-f", "-i", 100, "--keep-exited", 10)
    before = memory_kib(bpftruss.pid)
    target.play()
    time.sleep(0.2)
    # Rows of each process would take 26 KiB, 130 MiB together. Tables become resident, too.
    assert memory_kib(bpftruss.pid) - before < 60 * 1024
    assert bpftruss.interrupt().total("getppid") == 5003


EVER_NEW_NAMES = """
import ctypes, os
libc = ctypes.CDLL(None)
for i in range(1601):
    pid = os.fork()
    if not pid:
        libc.prctl(15, b"name%d" % i, 0, 0, 0)
        libc.getppid()
        os._exit(0)
    os.waitpid(pid, 0)
"""


def count_ever_new_names(live, *options):
    options = ["-f", "--keep-exited", 10, *options]
    return live.start(sys.executable, "-c", EVER_NEW_NAMES, options=options)


def test_processes_of_ever_new_names_share_rows_in_the_end(live):
    """The folded ones do; the last few have not been folded yet."""
    report = count_ever_new_names(live).report(lossy=True)
    rows = report.select("getppid")
    assert sum(row["calls"] for row in rows) == 1601
    assert len(rows) <= 1000 + 2 * 10 + 1
    (others,) = [row for row in rows if row["comm"] == "[others]"]
    assert others["exited"] == others["calls"] >= 1601 - (1000 + 2 * 10)
    assert (others["pid"], others["uid"], others["user"], others["unit"]) == (None,) * 4
    report.must_lose(kinds_folded=others["exited"])


def test_intervals_of_processes_of_ever_new_names_add_up(live):
    lines = count_ever_new_names(live, "-i", "0.1").end_text().splitlines()
    reports = [Report(line.encode(), lossy=True) for line in lines]
    assert len(lines) > 3 and sum(report.total("getppid") for report in reports) == 1601


# --- ends that the kernel does not tell of, as where it skips programs --------------------------


def count_blindly(live, unseen, *workload):
    target = live.workload(*workload)
    steer = live.add(Steer, target.pid)
    for what in unseen.split():
        steer.step(what)
    target.go()
    steer.step("finish")
    return steer.report(lossy=True), target.table()


@pytest.mark.waits
@pytest.mark.parametrize("unseen", ["endless", "blind", "endless blind"])
@pytest.mark.parametrize("workload", [("calls",), ("threads", 7, 503), ("forks", "clone", 31)])
def test_counting_ends_although_no_end_is_seen(live, unseen, workload):
    """
    Unseen are that tasks exit, their last switch, or both. It ends for zombies, too: the workload is a
    child of the test, which has not waited for it.
    """
    report, table = count_blindly(live, unseen, *workload)
    assert report.total("getppid") == table.total("getppid")
    assert report.data["exact"] is False
    assert report.losses["lifecycle_missed"] > 0
    assert not [row for row in report.rows if row["in_flight"]]


def test_what_it_says_of_unseen_ends_is_how_many_tasks_there_were(live):
    report, _ = count_blindly(live, "endless", "forks", "clone", 31)
    assert report.losses["lifecycle_missed"] == 1 + 31


CROWD = """
import sys, threading
print("ready", flush=True)
for line in sys.stdin:
    crowd = [threading.Thread(target=sum, args=[range(10000)]) for _ in range(int(line))]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    print("done", flush=True)
"""


@pytest.mark.parametrize("unseen", ["endless", "blind"])
def test_threads_whose_end_was_not_seen_end_while_their_process_lives(live, unseen):
    crowd = live.add(Talker, [sys.executable, "-c", CROWD])
    steer = live.add(Steer, crowd.pid)
    steer.step(unseen)
    crowd.ask("7")

    def process():
        return steer.report(lossy=True).data["processes"][0]

    until(lambda: process()["threads"] == 1, "only the first one is left")
    report = steer.report(lossy=True)
    assert report.losses["lifecycle_missed"] == 7
    # They may be looked for no sooner than a second after their end, which is none of their time.
    assert process()["cpu_ns"] < 7 * 10**9 / 2


@pytest.mark.parametrize("ends", [False, True])
def test_a_process_that_is_stuck_in_its_exit_sleeps(live, ends):
    """
    As the first one of a pid namespace, it waits there for the end of its child, which a tracer delays.
    """
    need_unshare("--pid", "--fork")
    outer = live.spawn("unshare", "--pid", "--fork", "sh", "-c", "sleep 1000 & exec sleep 1000")
    first = until(outer.children, "the first one runs")[0]
    until(lambda: slurp("/proc/%d/comm" % first) == b"sleep\n", "its child runs, too")
    child = int(slurp("/proc/%d/task/%d/children" % (first, first)))
    tracer = live.spawn(need("strace"), "-p", child)
    until(lambda: "attached" in tracer.stderr(), "strace attaches")
    tracer.pause()
    bpftruss = live.attach(first)
    os.kill(first, signal.SIGKILL)
    until(lambda: int(slurp("/proc/%d/stat" % first).rsplit(b")", 1)[1].split()[6]) & PF_EXITING, "exits")
    # Longer than two looks for ends that nobody saw are apart.
    time.sleep(2.5)
    assert bpftruss.popen.poll() is None
    if ends:
        tracer.signal(signal.SIGCONT)
    report = bpftruss.report() if ends else bpftruss.interrupt()
    (process,) = report.data["processes"]
    assert bool(process["ended_ns"]) == ends
    assert process["cpu_ns"] < 10**9 < report.data["microstates"]["sleep_ns"]


@pytest.fixture
def one_cpu():
    """All that the test starts runs on the same CPU."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    yield
    os.sched_setaffinity(0, cpus)


@pytest.mark.usefixtures("one_cpu")
def test_a_task_where_one_ended_unseen_does_not_count_as_that_one(live):
    """On the same CPU, the kernel gives the memory of ended tasks to new ones."""
    target = live.workload("threads", 7, 503)
    blind = live.add(Steer, target.pid)
    blind.step("endless")
    blind.step("blind")
    target.play()
    # The programs look only at tasks that have storage, so each is counted, too.
    for _ in range(5):
        other = live.workload("threads", 31, 7)
        steer = live.add(Steer, other.pid)
        other.play()
        steer.step("stop")
    report = blind.report(lossy=True)
    assert report.total("getppid") == target.table().total("getppid")
