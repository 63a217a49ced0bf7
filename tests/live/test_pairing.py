# SPDX-License-Identifier: BSD-2-Clause
"""Each call is counted once, under its own number and ABI, with the outcome it had."""

import signal
import time

import pytest

from harness import NUMBERS, interval_reports, must_equal, must_include, until, x86_only
from reports import count_text

# Without options other programs are in the kernel than with some. Nobody makes this call.
either_programs = pytest.mark.parametrize("options", [[], ["-t", "!afs_syscall"]], ids=["plain", "full"])


@either_programs
def test_a_report_holds_exactly_the_calls_that_the_program_made(live, options):
    report, table = live.count("calls", options=options)
    must_equal(report, table)
    assert report.total("getppid") == 1009
    assert report.only("openat")["errnos"] == {"ENOENT": 7, "ENOTDIR": 5}
    assert report.only("close")["errnos"] == {"EBADF": 13}
    moved = sum(3 + i for i in range(17))
    moves = {"read": moved + len("go\n"), "write": moved + len(table.printed), "getppid": 0}
    for name, size in {"readv": 211, "writev": 211, **moves}.items():
        assert report.only(name)["bytes"] == size, name
    report.must_have("exit_group", calls=1, no_return=1, histogram=[])


def test_a_command_is_counted_from_its_own_execve_on(live):
    report, table = live.run_workload("calls")
    must_include(report, table)
    assert report.only("execve")["calls"] == 1
    assert {row["pid"] for row in report.rows} == {table.rows[0]["pid"]}


def test_exits_that_never_return_count_and_so_do_calls_that_began_unseen(live):
    report, _ = live.count("threads", 6, 11)
    assert (report.total("exit"), report.total("exit", "no_return")) == (6, 6)
    row = report.only("read")
    # The barrier of the main thread and the start of three others.
    assert (row["calls"], row["untimed"], row["in_flight"], row["wall_ns"]) == (4, 4, 0, None)


@pytest.mark.parametrize("chosen", ["getppid,%file,!%file", "!getppid,write", "read,restart_syscall"])
@pytest.mark.parametrize("workload", ["calls", "threads 2 50000", "forks clone 31", "faked seccomp 999"])
def test_calls_that_nobody_asked_for_are_left_out(live, workload, chosen):
    """All others are as without -t; the time of what was left out is user time."""
    report, table = live.count(*workload.split(), options=["-f", "-t", chosen])
    names = {NUMBERS[name] for name in chosen.lstrip("!").split(",") if "%" not in name}
    table.rows = [row for row in table.rows if (row["nr"] in names) != (chosen[0] == "!")]
    must_equal(report, table)
    spent = report.data["user_cpu_ns"] + report.sum("cpu_ns")
    all_of_it = sum(process["cpu_ns"] for process in report.data["processes"])
    # Of threads that do nothing else; what begins, forks, is refused or exits takes a while besides.
    assert spent <= all_of_it and (workload[0] != "t" or chosen[0] != "r" or spent > 0.85 * all_of_it)


# --- other ABIs, unknown numbers -----------------------------------------------------------------


@x86_only
def test_numbers_of_every_abi_have_rows_and_names_of_their_own(live):
    report = live.count_exactly("numbers")
    assert report.total("getppid") == 31
    assert report.total("getppid", abi="i386") == 23
    assert report.total("getpid", abi="i386") == 29
    assert report.only("open", abi="i386")["errnos"] == {"ENOENT": 13}
    assert report.only("read", abi="i386")["errnos"] == {"EBADF": 7}
    assert report.total("getppid", abi="x32") == 11
    assert report.total("readv", abi="x32") == 3
    assert all(row["nr"] < 1024 for row in report.rows if row["abi"] == "x32")


def test_unknown_numbers_are_named_by_their_number_and_push_out_no_real_call(live):
    report, _ = live.count("numbers")
    assert report.only("syscall_0xfa0")["errnos"] == {"ENOSYS": 17}
    assert report.total("syscall_0xffffffff") == 19
    assert report.total("syscall_0x3fffffff") == 7
    assert report.total("syscall_0x1ff") == 5
    assert report.total("syscall_0x200") == 3
    assert report.only("getppid")["calls"] == 31 and None not in report.all("pid")


@x86_only
def test_the_truss_table_names_the_foreign_abi(live):
    text, _ = count_text(live, ["-t", "read,getppid"], "numbers")
    counts = {words[0]: words[2:] for words in map(str.split, text.splitlines()) if words}
    assert counts["read/i386"] == ["7", "7"]
    assert counts["getppid"] == ["31"]
    assert "\nuser time includes most calls that -t leaves out\n" in text


# --- interrupted, restarted ----------------------------------------------------------------------


@pytest.mark.parametrize("how, calls", [("restart", 5), ("eintr", 4)])
def test_a_read_that_is_interrupted_is_no_error_nor_is_its_handler(live, how, calls):
    """After the barrier three are; the one that the kernel restarts then gets its data."""
    target, bpftruss = live.begin("signals", how, 3)
    for _ in range(3):
        target.wait_asleep_in("read")
        target.signal(signal.SIGUSR1)
    if how == "restart":
        target.wait_asleep_in("read")
        target.tell(b"data\n")
    report = bpftruss.report()
    must_equal(report, target.table())
    for name, numbers in (("read", (calls, 3, 0)), ("rt_sigreturn", (3, 0, 0))):
        row = report.only(name)
        assert (row["calls"], row["interrupted"], row["errors"]) == numbers, name


def test_rt_sigreturn_is_no_error_although_a_register_holds_a_negative_number(live):
    target, bpftruss = live.begin("signals", "spin", 3)
    while target.popen.poll() is None:
        target.signal(signal.SIGUSR1)
        time.sleep(0.02)
    report = bpftruss.report()
    must_equal(report, target.table())
    assert report.only("rt_sigreturn")["errors"] == 0


@pytest.mark.parametrize("options", [[], ["-t", "nanosleep"], ["-t", "restart_syscall"]])
def test_restart_syscall_is_credited_to_the_sleep_that_it_continues(live, options):
    target, bpftruss = live.begin("signals", "stop", 2, options=options)
    for _ in range(2):
        target.wait_asleep_in("nanosleep", "restart_syscall")
        target.pause()
        target.signal(signal.SIGCONT)
    report = bpftruss.report()
    if not options:
        must_equal(report, target.table())
    assert not report.select("restart_syscall") and (report.rows or "restart_syscall" in options)
    for row in report.select("nanosleep"):
        assert (row["calls"], row["interrupted"], row["errors"]) == (3, 2, 0)


def stopped_sleeper(live):
    target = live.workload("signals", "stop", 1)
    target.go()
    target.wait_asleep_in("nanosleep")
    target.pause()
    return target


def test_a_sleep_that_was_stopped_at_attach_goes_on_as_itself(live):
    target = stopped_sleeper(live)
    bpftruss = live.attach(target.pid)
    target.signal(signal.SIGCONT)
    report = bpftruss.report()
    assert report.only("nanosleep")["calls"] == 1
    assert not report.select("restart_syscall")


@pytest.mark.waits
@pytest.mark.parametrize("options", [[], ["-t", "nanosleep"]])
def test_a_sleep_that_is_stopped_after_attach_goes_on_as_itself(live, options):
    target = live.workload("signals", "stop", 1, 8)
    target.go()
    target.wait_asleep_in("nanosleep")
    bpftruss = live.attach(target.pid, *options)
    target.pause()
    target.signal(signal.SIGCONT)
    report = bpftruss.report()
    row = report.only("nanosleep")
    assert (row["calls"], row["interrupted"], row["untimed"]) == (2, 1, 1)
    assert not report.select("restart_syscall")


def test_a_stopped_process_is_in_no_call(live):
    assert not live.attach(stopped_sleeper(live).pid, "-d", "0.1").report().rows


# --- not answered by the kernel ------------------------------------------------------------------


@pytest.mark.parametrize("workload, needs, rows", [
    ("denied", None, {
        "getppid": dict(calls=37, denied=37, errnos={"EACCES": 37}, wall_ns=None),
        "getuid": dict(calls=11, denied=11, errors=0),  # faked as a success
        "getgid": dict(calls=5, denied=5),
        "rt_sigreturn": dict(calls=5),
        # 41 calls of the victim and 23 of the main thread; the fatal one never began.
        "geteuid": dict(calls=64), "getpgid": None}),
    # The registers of such a call hold no result.
    ("denied registers", None, {
        "pread64": dict(calls=7, denied=7, bytes=0, errors=0),
        "syscall_0xffffffed": dict(calls=5, denied=5, errors=0)}),
    ("faked sigsys 50", None, {"getppid": dict(errnos={"EPERM": 50})}),  # blocked and pending
    ("execs missing", None, {"execve": dict(errnos={"ENOENT": 5})}),
    ("emulated", "tracing", {"getppid": dict(calls=11 + 7, denied=11)}),
    # The return of no child.
    pytest.param("emulated %d 0" % NUMBERS.get("fork", 0), "tracing",
                 {"fork": dict(calls=11, denied=11)}, marks=x86_only),
    # A program takes them for itself: only their return is seen.
    ("dispatch", "syscall user dispatch", {
        "rt_sigreturn": dict(calls=13), "getppid": dict(calls=7)}),
])  # fmt: skip
@either_programs
def test_calls_that_others_answer_have_the_outcome_they_had(live, workload, needs, rows, options):
    report = live.count_exactly(*workload.split(), needs=needs, options=options)
    for syscall, fields in rows.items():
        if fields is None:
            assert not report.select(syscall)
        else:
            report.must_have(syscall, **fields)


@pytest.mark.parametrize("how", ["seccomp", "notify"])
@either_programs
def test_a_fork_that_seccomp_answers_with_0_is_no_return_of_a_child(live, how, options):
    report = live.count_exactly("faked", how, 999, options=["-f", *options])
    assert report.total("clone3", "denied") >= 333
    assert report.data["user_cpu_ns"] < report.data["elapsed_ns"] * 4


def test_a_fork_answered_with_0_takes_no_user_time_back(live):
    _, bpftruss = live.begin("faked", "seccomp", 30000, options=["-f", "-i", 0.05])
    reports = interval_reports(bpftruss.end_text().encode())
    assert max(report.data["user_cpu_ns"] for report in reports) < 10**10
    assert sum(report.sum("calls") for report in reports) > 60000


# --- in flight -----------------------------------------------------------------------------------


def test_a_call_in_flight_at_attach_is_in_flight_with_at_least_its_age_since_then(live):
    start = time.monotonic_ns()
    target = live.workload("calls")
    bpftruss = live.attach(target.pid)
    time.sleep(0.1)
    report = bpftruss.interrupt()
    row = report.only("read")
    assert (row["calls"], row["in_flight"]) == (0, 1)
    assert row["in_flight_early"] == 1
    # It began after its process did, and before counting.
    assert report.data["elapsed_ns"] <= row["oldest_in_flight_ns"] <= time.monotonic_ns() - start
    assert len(report.rows) == 1


def sleepers(live, *arguments, **options):
    """All three threads are where they stay, or the one that is alone; and bpftruss."""
    target, bpftruss = live.begin("sleepers", *arguments, **options)
    target.wait_asleep_in("nanosleep")
    for tid in target.threads():
        target.wait_asleep_in("nanosleep", "read", tid=tid)
    return target, bpftruss


def test_calls_in_flight_at_the_end_are_shown_with_their_age_and_not_counted(live):
    target, bpftruss = sleepers(live)
    time.sleep(0.1)
    report = bpftruss.interrupt()
    must_include(report, target.table())
    sleep, read = report.only("nanosleep"), report.only("read")
    assert (sleep["calls"], sleep["in_flight"], sleep["wall_ns"]) == (0, 2, None)
    assert (read["calls"], read["in_flight"]) == (1, 1)
    for row in (sleep, read):
        assert 100e6 <= row["oldest_in_flight_ns"] <= report.data["elapsed_ns"]


def test_a_call_in_flight_is_no_older_than_it_is(live):
    target = live.workload("sleepers", "alone")
    bpftruss = live.attach(target.pid)
    time.sleep(0.5)
    start = time.monotonic_ns()
    target.go()
    target.wait_asleep_in("nanosleep")
    report = bpftruss.interrupt()
    assert report.only("nanosleep")["oldest_in_flight_ns"] <= time.monotonic_ns() - start


def test_the_text_report_names_the_calls_in_flight(live):
    _, bpftruss = sleepers(live, json=False)
    lines = bpftruss.stop_text().splitlines()
    (line,) = [line for line in lines if line.startswith("in flight: ")]
    assert "read 1 (" in line and "nanosleep 2 (oldest " in line


def test_a_sleep_in_which_its_task_is_killed_ends_as_interrupted(live):
    # The signal ends the sleep with a restart code before it ends the task.
    target, bpftruss = sleepers(live, "alone")
    target.signal(signal.SIGKILL)
    report = bpftruss.report()
    must_include(report, target.table())
    report.must_have("nanosleep", calls=1, interrupted=1, in_flight=0)
    assert not report.select("exit_group")


# --- exec ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("caller, ended", [("leader", []), ("thread", [(1, 1, 0)])])
def test_an_exec_is_one_call_that_ends_those_of_other_threads(live, caller, ended):
    report, table = live.count("execs", caller)
    must_include(report, table)
    assert report.only("execve")["calls"] == 1
    assert report.only("getppid")["calls"] == 7 + 19
    sleeps = report.select("ppoll")
    assert [(row["calls"], row["interrupted"], row["in_flight"]) for row in sleeps] == ended
    assert report.all("pid") == {table.pid}


def test_after_an_exec_from_another_thread_calls_are_those_of_the_first_thread(live):
    """It has taken its place, and with it its tid."""
    target, bpftruss = live.begin("execs", "thread", "stay", options=["--by", "tid"])
    until(lambda: target.stdout().count(b"writer") == 1, "the exec")
    target.wait_asleep_in("read")
    report = bpftruss.interrupt()
    ended = report.all("tid") - {target.pid}
    calls = {row["tid"]: row["calls"] for row in report.select("getppid")}
    assert calls.pop(target.pid) == 19
    assert ended.issuperset(calls) and sum(calls.values()) == 7
    assert report.only("getuid")["tid"] in ended
