# SPDX-License-Identifier: BSD-2-Clause
"""Tests who is counted: threads, children, pids, names."""

import os
import signal
import sys
import unicodedata
import warnings
from subprocess import PIPE

import pytest

from harness import (
    Lossy, Table, Talker, interval_reports, must_equal, must_include, need, need_unshare, program, run, slurp,
    until,
)
from test_cost import CALLER, Steer

# --- threads -------------------------------------------------------------------------------------


def test_all_threads_of_a_process_are_counted_in_one_row_each_call(live):
    report = live.count_exactly("threads", 7, 1009)
    assert report.only("getppid")["calls"] == 7 * 1009


def test_no_thread_is_missed_while_threads_are_made_during_the_attach(live):
    report, table = live.count("threads", "new")
    assert report.total("getppid") == table.total("getppid") > 10 * 101


EXECUTES = """
import os, sys, threading
print("ready", flush=True)
sys.stdin.readline()
threading.Thread(target=os.execv, args=[sys.executable, [sys.executable, "-c", sys.argv[1]]]).start()
"""


def test_an_exec_of_another_thread_before_counting_begins_hides_nobody(live):
    """It takes the place of the first thread, which was chosen."""
    target = live.add(Talker, [sys.executable, "-c", EXECUTES, CALLER])
    steer = live.add(Steer, target.pid, "later")
    assert target.ask("go") == b"ready"
    assert steer.ask("start") == b"counting"
    target.ask("ask 137")
    assert steer.report().total("getppid", pid=target.pid) == 137


def test_attaching_to_a_busy_thread_is_exact(live):
    target = live.spawn(program("pace"), 0, "busy")
    exact = lossy = 0
    while exact < 31:
        bpftruss = live.attach(target.pid)
        since = target.run_ns()
        until(lambda since=since: target.run_ns() > since + 20_000_000, "the thread runs")
        # In so many reports a busy host misses a switch now and then: nobody has to make all of them again.
        try:
            assert bpftruss.interrupt().total("getppid") > 0
            exact += 1
        except Lossy as missed:
            lossy += 1
            if lossy == 4 or set(missed.losses) != {"switch_unseen"}:
                raise
            warnings.warn(pytest.PytestWarning("one report had %s" % missed.losses))


def test_kernel_threads_are_refused():
    kthreadd = 2
    if not os.path.exists("/proc/2") or slurp("/proc/2/comm") != b"kthreadd\n":
        pytest.skip("this pid namespace has no kernel threads")
    result = run("-c", "-p", kthreadd)
    assert result.returncode == 1
    assert result.stderr == "bpftruss: 2 is a kernel thread: it makes no system calls\n"


def test_threads_that_the_kernel_runs_in_a_process_make_no_calls(live):
    report = live.count_exactly("calls", "uring", needs="io_uring")
    assert not [row for row in report.rows if row["syscall"].startswith("io_uring")]


# --- children ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["fork", "clone", "clone3"])
def test_children_are_counted_from_their_first_call_on(live, kind):
    """In rows of their own; the return of fork in the child is not a call."""
    report = live.count_exactly("forks", kind, 13, options=["-f"])
    children = [row["pid"] for row in report.select("getppid")]
    assert report.total("getppid") == len(set(children)) == len(children) == 13
    assert sum(report.total(name) for name in ("fork", "clone", "clone3")) == 13


def test_children_are_not_counted_without_f(live):
    report, table = live.count("forks", "clone", 13)
    assert report.all("pid") == {table.pid}
    assert report.total("clone") == report.total("wait4") == 13
    assert not report.select("getppid")


def test_far_more_short_children_than_records_lose_nothing(live):
    report = live.count_exactly("forks", "clone", 5003, options=["-f"])
    assert report.total("getppid") == 5003


@pytest.mark.parametrize("workload, asked", [
    (("threads", 61, 2003), 61 * 2003),
    (("forks", "clone", 307, "together"), 307),
    (("forks", "fork", 11, "thread"), 11),
], ids=["threads", "together", "by another thread than the first"])  # fmt: skip
def test_many_at_the_same_time_lose_nothing(live, workload, asked):
    report = live.count_exactly(*workload, options=["-f"])
    assert report.total("getppid") == asked


def test_with_f_counting_goes_on_until_the_last_child_has_ended(live):
    report, _ = live.run("/bin/sh", "-c", "sleep 0.2 & exit 0", options=["-f"])
    assert report.total("clock_nanosleep") + report.total("nanosleep") == 1
    assert report.total("exit_group") == 2


def test_a_vfork_child_that_execs_is_followed(live):
    report, table = live.count("execs", "vfork", options=["-f"])
    must_include(report, table)
    assert report.total("getppid") == 3 + 19
    assert report.total("vfork" if report.select("vfork") else "clone") == 1


def test_a_vfork_lasts_until_the_child_has_its_own_image(live):
    report, table = live.count("execs", "vfork")
    assert report.all("pid") == {table.pid}
    assert not report.select("getppid")


def test_a_command_run_with_f_is_counted_with_its_children(live):
    report, table = live.run_workload("forks", "clone", 17, options=["-f"])
    must_include(report, table)


# --- several targets -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["comma", "blanks", "repeated", "twice"])
def test_several_processes_are_counted_at_once(live, form):
    targets = [live.workload("calls") for _ in range(3)]
    first, *others = [target.pid for target in targets]
    more = {
        "comma": ["-p", "%d,%d" % (*others,)],
        "blanks": ["-p", "%d %d" % (*others,)],
        "repeated": ["-p", others[0], "-p", others[1]],
        "twice": ["-p", "%d,%d,%d" % (others[0], *others), "-p", first],
    }[form]
    bpftruss = live.attach(first, *more)
    for target in targets:
        target.go()
    report = bpftruss.report()
    assert {target["pid"] for target in report.data["targets"]} == {first, *others}
    assert len(report.data["targets"]) == 3
    for target in targets:
        must_include(report, target.table())
    assert report.total("getppid") == 3 * 1009


def test_counting_goes_on_until_the_last_target_has_ended(live):
    first, last = live.workload("calls"), live.workload("calls")
    bpftruss = live.attach([first.pid, last.pid])
    first.play()
    assert bpftruss.popen.poll() is None
    last.go()
    assert bpftruss.report().total("getppid") == 2 * 1009


def test_two_bpftruss_at_the_same_time_count_the_same(live):
    target = live.workload("threads", 5, 503)
    first, second = live.attach(target.pid), live.attach(target.pid)
    target.go()
    first, second = first.report(), second.report()
    must_equal(first, target.table())
    assert first.completed() == second.completed()


def test_a_process_that_nobody_chose_is_in_no_report(live):
    other, target = live.workload("calls"), live.workload("calls")
    bpftruss = live.attach(target.pid)
    other.play()
    target.go()
    must_equal(bpftruss.report(), target.table())


def test_a_program_under_strace_is_counted_the_same(live):
    argv = [need("strace"), "-o", "/dev/null", program("calls"), "wait"]
    strace = live.spawn(*argv, stdin=PIPE)
    until(lambda: strace.stdout() == b"ready\n", "the workload says ready")
    bpftruss = live.attach(strace.children()[0])
    strace.tell(b"go\n")
    must_equal(bpftruss.report(), Table(strace.stdout()))


# --- threads that do not sleep when bpftruss comes -----------------------------------------------


def test_a_thread_in_user_mode_at_attach_is_counted_from_its_first_call_on(live):
    target = live.workload("awake", "user", asleep=False)
    bpftruss = live.attach(target.pid)
    target.signal(signal.SIGUSR1)
    report = bpftruss.report()
    must_equal(report, target.table())
    assert report.only("rt_sigreturn")["untimed"] == 0


def test_a_thread_that_runs_in_a_call_at_attach_ends_that_call_without_time(live):
    for _ in range(5):
        target = live.workload("awake", "kernel", asleep=False)
        bpftruss = live.attach(target.pid)
        target.signal(signal.SIGUSR1)
        report = bpftruss.report()
        if report.select("getrandom"):
            break
    must_equal(report, target.table())
    assert report.only("getrandom")["untimed"] == 1


# --- pids ----------------------------------------------------------------------------------------


def test_two_processes_under_one_pid_are_never_merged(live):
    target, bpftruss = live.begin("reuse", options=["-f"])
    report = bpftruss.report()
    if target.wait() == 77:
        pytest.skip("the kernel does not let this user choose a pid")
    must_equal(report, target.table())
    rows = report.select("getppid")
    assert len({row["pid"] for row in rows}) == 1
    assert sorted(row["calls"] for row in rows) == [7, 11]


CREW = """
import os, sys, threading
go = threading.Event()
def work(calls):
    go.wait()
    for _ in range(calls):
        os.getppid()
crew = [threading.Thread(target=work, args=[100 * i]) for i in range(1, 5)]
for thread in crew:
    thread.start()
print(*[thread.native_id for thread in crew], flush=True)
sys.stdin.readline()
go.set()
for thread in crew:
    thread.join()
"""


def test_a_thread_is_counted_by_its_number_and_nobody_beside_it(live):
    """Also once it has ended. Two of its process are both of them, and with their process all."""
    crew = live.spawn(sys.executable, "-c", CREW, stdin=PIPE)
    tids = until(lambda: crew.stdout().endswith(b"\n") and crew.stdout().decode().split(), "it runs")
    chosen = {"1 of its": (tids[2], 300), "2 of its": (tids[0] + "," + tids[3], 500),
              "counting": ("%s,%d" % (tids[1], crew.pid), 1000)}  # fmt: skip
    runs = {words: live.start("-p", pids, "-t", "getppid") for words, (pids, _) in chosen.items()}
    for words, run in runs.items():
        run.wait_counting()
        assert words in run.stderr()
    crew.tell(b"\n")
    for words, run in runs.items():
        assert sum(row["calls"] for row in run.report().rows) == chosen[words][1], words


# --- names ---------------------------------------------------------------------------------------


def controls(text):
    return {char for char in text if unicodedata.category(char) == "Cc"}


def test_json_survives_every_name_that_a_process_can_give_itself(live):
    report = live.count_exactly("names", options=["-f"])
    # Escaped and valid UTF-8: nothing that a terminal would act on, but for the last newline.
    assert controls(report.text.decode("utf-8")) == {"\n"}
    assert report.text.count(b"\n") == 1
    names = {row["comm"] for row in report.rows}
    assert {'"quo"ted\\', "new\nline\rtab\t", "\033[31mred\033[0m", "%s%n%x"} <= names


def test_the_text_report_holds_no_control_characters(live):
    _, bpftruss = live.begin("names", "escape", options=["-f"], json=False)
    assert controls(bpftruss.end_text() + bpftruss.stderr()) == {"\n"}


def test_a_report_names_each_process_as_it_was_called_last(live):
    report, _ = live.run("/bin/sh", "-c", "exec sleep 0")
    assert report.all("comm") == {"sleep"}


EXEC_FROM_THREAD = """
import os, threading
input()
threading.Thread(target=os.execvp, args=("sleep", ["sleep", "1000"])).start()
"""


def test_a_process_is_named_by_the_thread_whose_exec_replaced_the_first_one(live):
    """Also when it sleeps, and nothing is read of it any more."""
    target = live.spawn(sys.executable, "-c", EXEC_FROM_THREAD, stdin=PIPE)
    target.wait_asleep_in("read", fd=0)
    bpftruss = live.attach(target.pid, "-i", "0.3")
    target.tell(b"\n")
    until(lambda: slurp("/proc/%d/comm" % target.pid) == b"sleep\n", "the exec")
    before = bpftruss.text().count(b"\n")
    until(lambda: bpftruss.text().count(b"\n") > before + 4, "some intervals")
    bpftruss.stop()
    lines = interval_reports(bpftruss.text())
    processes = [process for report in lines for process in report.data["processes"]]
    assert {process["comm"] for process in processes[before + 1:]} == {"sleep"}
    # What it did before stands under its new name in the interval of the exec, which says so.
    assert sum(process["comm_changes"] for process in processes) == 1


def test_a_target_in_another_pid_namespace_is_counted(live):
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    need_unshare(*unshare[1:])
    report, _ = live.run(*unshare, program("forks"), "clone", 11, options=["-f"])
    assert report.total("getppid") >= 11
    assert report.total("close", "errors") >= 11
