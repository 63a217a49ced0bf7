# SPDX-License-Identifier: BSD-2-Clause
"""Processes that are chosen by what they are, while that changes."""

import ctypes
import json
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid

import pytest

from cgroups import cgroup_mount, cgroup_remove, move, own
from harness import BPFTRUSS, need_unshare, play_all, program, run, until
from test_cost import Steer

PTRACE_SEIZE = 0x4206
WALL = 0x40000000  # __WALL: threads, too

THREADS = 7
CALLS = 1009
AFTER = 2 * CALLS * (THREADS + 1)  # the main thread makes none before the change
BEFORE = CALLS * THREADS

# If the pass that makes a thread's record loses its CPU, calls made meanwhile are lost.
OF_A_BUSY_HOST = {"late_threads"}


def change(bpftruss, target, lossy=False):
    """Lets a target go through its change; the calls that were counted."""
    target.play()
    return bpftruss.interrupt(lossy)


def becomes(live, *change):
    return live.workload("becomes", *change, THREADS, CALLS)


# --- joining -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, options, calls, comm", [
    # The name that was not chosen is in no report.
    ("chosen-one", "--wait -n chosen-*", AFTER, "chosen-one"),
    ("somebody-else", "-n becomes", BEFORE, "becomes"),
    ("becoming", "-n becom*", BEFORE + AFTER, "becoming"),
    # The kernel cuts names.
    ("fifteen-letters", "--wait -n fifteen-letters-and-more", AFTER, "fifteen-letters"),
])  # fmt: skip
def test_a_process_is_counted_in_all_threads_while_it_has_a_name(live, name, options, calls, comm):
    keeper, target = live.workload("calls"), becomes(live, "name", name)
    report = change(live.choose(*options.split()), target)
    assert report.total("getppid") == calls
    assert report.all("comm") == {comm}
    assert keeper.popen.poll() is None


def test_a_thread_that_found_no_room_leaves_like_the_others(live):
    target = becomes(live, "name", "somebody-else")
    bpftruss = live.choose("-n", "becomes", "--max-tasks", 3)
    report = change(bpftruss, target, lossy=True)
    assert report.losses
    assert report.total("getppid") == BEFORE


NAMED = """
import ctypes, os, sys, threading
libc = ctypes.CDLL(None)
libc.prctl(15, sys.argv[1].encode(), 0, 0, 0)
"""
RENAMED_BY_ANOTHER = NAMED + """
def run():
    sys.stdin.readline()
    with open("/proc/self/task/%d/comm" % os.getpid(), "w") as comm:
        comm.write("somebody-else")
    sys.stdout.write("done"); sys.stdout.flush()
    sys.stdin.readline()
threading.Thread(target=run).start()
libc.pause()
"""


@pytest.mark.parametrize("end", ["alive", "killed"])
def test_a_leader_that_sleeps_through_its_renaming_keeps_the_name_it_was_chosen_by(live, end):
    name = "sleeper%d" % os.getpid()
    target = live.spawn(sys.executable, "-c", RENAMED_BY_ANOTHER, name, stdin=subprocess.PIPE)
    until(lambda: len(target.threads()) == 2, "a second thread")
    bpftruss = live.choose("-n", name)
    target.tell(b"\n")
    until(lambda: target.stdout() == b"done", "the leader is renamed")
    if end == "killed":
        target.signal(signal.SIGKILL)
        target.wait()
    assert bpftruss.interrupt().all("comm") == {name}


def test_a_thread_that_is_made_while_its_process_is_renamed_is_not_counted(live, tmp_path):
    name = "early%d" % os.getpid()
    target = live.spawn(shutil.copy(program("stuck"), tmp_path / name), "thread", stdin=subprocess.PIPE)
    target.wait_asleep_in("read", fd=0)
    bpftruss = live.choose("-n", name)
    target.tell(b"\n")
    until(lambda: target.stdout() or target.popen.poll() is not None, "its clone is stuck, or refused")
    if target.popen.poll() == 77:
        pytest.skip("threads have no pidfd here: what delays this clone")
    target.tell(b"\n")
    assert target.wait() == 0
    report = bpftruss.interrupt()
    assert report.total("clone", "in_flight") + report.total("clone") >= 1
    assert not report.select("getppid")


LEADERLESS = NAMED + """
def run():
    sys.stdin.readline()
    for _ in range(1009):
        os.getppid()
    os._exit(0)
threading.Thread(target=run).start()
libc.syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
"""


def test_a_process_whose_first_thread_has_ended_is_found_by_its_name(live):
    name = "headless%d" % os.getpid()
    target = live.spawn(sys.executable, "-c", LEADERLESS, name, stdin=subprocess.PIPE)
    until(lambda: target.state() == "Z", "the first thread has ended")
    bpftruss = live.choose("-n", name)
    target.tell(b"\n")
    assert target.wait() == 0
    assert bpftruss.interrupt().total("getppid", pid=target.pid) == 1009


def test_a_process_whose_first_thread_had_ended_stands_under_the_unit_that_it_was_moved_to(live, cgroup):
    path = cgroup(own("moved.service"))
    target = live.spawn(sys.executable, "-c", LEADERLESS, "headless", stdin=subprocess.PIPE)
    until(lambda: target.state() == "Z", "the first thread has ended")
    steer = live.add(Steer, target.pid)
    move(target.pid, path)
    assert steer.report().all("unit") == {own("moved.service")}


@pytest.mark.parametrize("into", [True, False], ids=["into", "out of"])
def test_a_process_that_moves_into_or_out_of_a_cgroup_is_counted_meanwhile(live, cgroup, into):
    inner, target = cgroup(own("test"), "inner"), becomes(live, "nothing", "-")
    if not into:
        move(target.pid, inner)
    path = os.path.join(cgroup_mount(), own("test"))
    bpftruss = live.choose(*(["--wait", "-g", own("test")] if into else ["-g", path]))
    target.go()
    target.wait_asleep_in("read", fd=0)
    move(target.pid, inner if into else cgroup_mount())
    assert change(bpftruss, target).total("getppid") == (AFTER if into else BEFORE)


def test_a_unit_is_the_cgroup_of_its_name(live, cgroup):
    unit = cgroup(own("test.slice"), own("test.service"), "payload")
    inside, outside = live.workload("calls"), live.workload("calls")
    move(inside.pid, unit)
    bpftruss = live.choose("-u", own("test"))
    outside.play()
    report = change(bpftruss, inside)
    assert report.all("pid") == {inside.pid}
    assert report.counts() == inside.table().counts()


def stop_unit(path):
    """Another one of that name begins, for the fixture to remove."""
    until(lambda: cgroup_remove(path), "unit is stopped")
    os.mkdir(path)


def test_a_unit_has_its_name_although_it_is_gone_before_anybody_asks(live, cgroup):
    target = live.workload("calls")
    bpftruss = live.attach(target.pid)
    bpftruss.signal(signal.SIGSTOP)
    unit = cgroup(own("test.slice"), own("gone.service"))
    move(target.pid, unit)
    target.play()
    stop_unit(unit)
    bpftruss.signal(signal.SIGCONT)
    assert bpftruss.report().all("unit") == {own("gone.service")}


def test_a_unit_deep_in_the_tree_has_its_name(live, cgroup):
    """Too deep for the kernel's message about its making."""
    slices = ["x" * 100 + str(i) + ".slice" for i in range(4)]
    target = live.workload("calls")
    bpftruss = live.attach(target.pid)
    move(target.pid, cgroup(own("deep.slice"), *slices, "bpftruss-deep.service"))
    target.go()
    assert bpftruss.report().all("unit") == {"bpftruss-deep.service"}


def test_a_unit_that_is_started_again_is_counted_again(live, cgroup):
    unit = cgroup(own("test.service"))
    first = live.workload("calls")
    move(first.pid, unit)
    bpftruss = live.choose("-u", own("test"))
    first.play()
    stop_unit(unit)
    second = live.workload("calls")
    move(second.pid, unit)
    report = change(bpftruss, second)
    for target in (first, second):
        assert report.total("getppid", pid=target.pid) == target.table().total("getppid") > 0


def test_a_process_that_changes_its_user_is_counted_from_then_on(live):
    target = becomes(live, "user", 54321)
    assert change(live.choose("--wait", "-U", "54321"), target).total("getppid") == AFTER


def test_a_process_that_was_of_a_user_is_counted_until_it_changes(live):
    target = becomes(live, "user", 54321)
    report = change(live.choose("-U", pwd.getpwuid(0).pw_name), target)
    assert report.total("getppid", pid=target.pid) == BEFORE


def test_an_exec_into_a_name_counts_from_the_first_call_after_it(live, tmp_path):
    chosen = shutil.copy(program("calls"), tmp_path / "chosen-calls")
    bpftruss = live.choose("--wait", "-n", "chosen-calls")
    for _ in range(23):
        subprocess.run([chosen], capture_output=True, check=True)
    report = bpftruss.interrupt()
    assert len(report.all("pid")) == 23
    assert not report.select("execve")
    assert report.total("exit_group") == 23


def test_an_exec_into_another_name_ends_the_counting_with_it(live, tmp_path):
    shell = shutil.copy("/bin/sh", tmp_path / "chosen-sh")
    target = live.spawn(shell, "-c", "read line; exec " + shlex.quote(program("calls")), stdin=-1)
    target.wait_asleep_in("read")
    bpftruss = live.choose("-n", "chosen-sh")
    target.tell(b"go\n")
    assert target.wait() == 0
    report = bpftruss.interrupt()
    assert report.only("execve")["calls"] == 1 and not report.only("execve")["no_return"]
    assert not report.select("getppid")


SLOW_EXEC = """
import os, sys, threading
def sleep():
    print(threading.get_native_id(), flush=True)
    threading.Event().wait()
def run():
    sys.stdin.readline()
    os.execv(sys.argv[3], sys.argv[3:])
open("/proc/self/comm", "w").write(sys.argv[1])
threading.Thread(target=sleep).start()
if sys.argv[2] == "other":
    threading.Thread(target=run).start()
    threading.Event().wait()
run()
"""


@pytest.fixture
def own_name():
    """One that no process has yet, and none of another suite on this host will have."""
    return f"sh-{os.getpid()}"


@pytest.fixture
def execs_slowly(live, own_name):
    """
    Starts a process one of whose threads is inside an execve: the kernel waits there until another
    thread, which is traced, has been waited for. Returns it and what ends that.
    """
    libc, traced, started = ctypes.CDLL(None, use_errno=True), [], []

    def let_go():
        while traced:
            os.waitpid(traced.pop(), WALL)

    def start(thread):
        target = live.spawn(sys.executable, "-c", SLOW_EXEC, own_name, thread, program("calls"), stdin=-1)
        tid = int(until(target.stdout, "its thread says its number"))
        assert libc.ptrace(PTRACE_SEIZE, tid, None, None) == 0, os.strerror(ctypes.get_errno())
        traced.append(tid)
        started.append(target)
        target.tell(b"go\n")
        until(lambda: state_of(target.pid, tid) == "Z", "the other threads end")
        return target, let_go

    yield start
    for target in started:
        target.popen.kill()
    let_go()


def state_of(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as file:
        return file.read().rpartition(") ")[2][0]


@pytest.mark.parametrize("thread", ["first", "other"])
@pytest.mark.parametrize("option", ["-n", "-p"])
def test_an_exec_that_is_under_way_when_counting_begins_is_counted(live, execs_slowly, own_name, option, thread):
    """Whoever executes, and whether its process goes on being counted."""
    target, let_go = execs_slowly(thread)
    bpftruss = live.choose(option, own_name if option == "-n" else str(target.pid))
    let_go()
    target.wait()
    report = bpftruss.interrupt()
    execve = report.only("execve")
    assert (execve["calls"], execve["untimed"], execve["no_return"]) == (1, 1, 0)


def test_children_of_the_same_name_are_counted_from_their_first_call_on(live):
    target = live.workload("forks", "fork", 13)
    report = change(live.choose("-n", "forks"), target)
    assert report.counts() == target.table().counts()


@pytest.mark.parametrize("who", [[], ["child"]])
def test_who_takes_another_name_leaves_and_comes_back_with_its_own(live, who):
    """A child is chosen from its fork on, without ever having taken the name."""
    name = "n%d" % os.getpid()
    target = live.workload("renames", name, 300, *who)
    report = change(live.choose("-n", name), target)
    assert (report.total("getppid"), report.total("getsid")) == (600, 0)


def test_a_child_that_has_left_is_not_adopted_when_another_process_joins(live):
    name = "n%d" % os.getpid()
    bpftruss = live.choose("-n", name, "--wait")
    script = """
        exec 3>/proc/self/comm; printf %s "$1" >&3
        (exec /bin/sh -c 'printf x; read line; kill -0 $$; kill -0 $$')
        true"""
    parent = live.spawn("/bin/sh", "-c", script, "sh", name, stdin=subprocess.PIPE)
    until(lambda: parent.stdout() == b"x", "the child has left")
    joins = live.play("renames", name, 1)
    time.sleep(0.1)
    parent.tell(b"\n")
    assert parent.wait() == 0, parent.stderr()
    report = bpftruss.interrupt()
    assert report.total("getppid", pid=joins.pid) == 2
    assert report.total("kill") == 0 and not any(row["comm"] == "sh" for row in report.rows)


@pytest.mark.parametrize("pattern", ["calls", "c*s", "c?lls", "[a-c]a[!m]*", "*", "cal\\ls"])
def test_names_may_be_globs(live, pattern):
    target = live.workload("calls")
    report = change(live.choose("-n", pattern), target)
    assert report.total("getppid", pid=target.pid) == target.table().total("getppid") > 0


def test_all_processes_are_counted_but_bpftruss_itself(live):
    targets = [live.workload("calls") for _ in range(3)]
    bpftruss = live.choose("-a")
    play_all(targets)
    report = bpftruss.interrupt()
    assert bpftruss.pid not in report.all("pid")
    for target in targets:
        assert report.total("getppid", pid=target.pid) == target.table().total("getppid")


def test_selectors_add_up(live):
    targets = [live.workload(name) for name in ("calls", "forks", "numbers")]
    bpftruss = live.choose("-n", "calls", "-n", "numbers", "-p", targets[1].pid)
    play_all(targets)
    assert bpftruss.interrupt().all("pid") == {target.pid for target in targets}


GLOBS = ["no-such-name", "call", "alls", "calls?", "[!c]alls", "CALLS", "calls*x"]


@pytest.mark.parametrize("arguments, sentence", [
    *((["-n", glob], "no process or thread matches") for glob in GLOBS),
    (["-u", "no-such-unit"], "no unit no-such-unit.service is running"),
    (["-g", "/no/such/cgroup"], "no cgroup /no/such/cgroup"),
    (["-U", "no-such-user"], 'no user is called "no-such-user"'),
])  # fmt: skip
def test_a_target_that_does_not_exist_is_an_error(live, arguments, sentence):
    if "-g" in arguments:
        cgroup_mount()
    live.workload("calls")
    result = run("-c", *arguments)
    assert result.returncode == 1 and sentence in result.stderr
    assert result.stderr.count("\n") == 1 and not result.stdout


def test_a_unit_that_is_nearly_called_so_is_suggested(cgroup):
    cgroup(own("test.slice"), own("frobnicator.service"))
    refused = run("-c", "-u", own("frobnicatro"))
    assert refused.returncode == 1
    assert 'did you mean "%s"?' % own("frobnicator") in refused.stderr


def test_pids_are_those_of_the_callers_namespace(live, tmp_path):
    need_unshare("-pf", "--mount-proc")
    script = (
        "sleep 77 & pid=$!; {0} -c --json -d 0.3 -o {1} -p $pid; kill $pid; echo $pid"
    ).format(shlex.quote(BPFTRUSS), shlex.quote(str(tmp_path / "report.json")))
    inside = live.spawn("unshare", "-pf", "--mount-proc", "/bin/sh", "-c", script)
    assert inside.wait() == 0, inside.stderr()
    report = json.loads((tmp_path / "report.json").read_text())
    assert {row["pid"] for row in report["rows"]} == {int(inside.stdout())}
    assert report["targets"][0]["comm"] == "sleep"
    assert report["pid_namespace"] == "caller"


# --- at the same time as others ------------------------------------------------------------------

CROWD_CALLS = 503


def unique(name):
    """A name that only this test's processes have."""
    return "%s%d" % (name, os.getpid())


@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("chosen, name, threads, calls", [
    (unique("yes"), unique("yes"), 1, 2 * CROWD_CALLS * (1 + 1)),
    (unique("yes"), unique("yes"), 7, 2 * CROWD_CALLS * (7 + 1)),
    ("becomes", unique("no"), 3, 3 * CROWD_CALLS),
], ids=["take", "take in seven threads", "give up"])  # fmt: skip
def test_processes_that_take_or_give_up_a_name_at_the_same_time_are_counted_meanwhile(
    live, chosen, name, threads, calls, attempt
):
    targets = [live.workload("becomes", "name", name, threads, CROWD_CALLS) for _ in range(23)]
    bpftruss = live.choose("--wait", "-n", chosen)
    play_all(targets)
    report = bpftruss.interrupt(lossy=True)
    assert [report.total("getppid", pid=target.pid) for target in targets] == [calls] * 23


@pytest.mark.parametrize("number", [1, 2])
def test_processes_that_change_their_names_all_the_time_are_counted_under_each(live, number):
    """Two getppid under the chosen name each time, and one getsid under the other."""
    bpftruss = live.choose("--wait", "-n", unique("yes"))
    targets = [live.workload("renames", unique("yes"), 700) for _ in range(number)]
    play_all(targets)
    report = bpftruss.interrupt(lossy=True)
    report.may_lose()
    assert [report.total("getppid", pid=target.pid) for target in targets] == [2 * 700] * number
    assert report.total("getsid") == 0


# --- containers ----------------------------------------------------------------------------------

# Others may make such cgroups, too.
ID = uuid.uuid4().hex + uuid.uuid4().hex
TWIN = ID[:8] + ("1" if ID[8] == "0" else "0") * 56


@pytest.fixture
def containers(cgroup):
    """Cgroups of two containers whose ids begin alike, the second with a payload below it."""
    return {name: cgroup(name) for name in (
        "docker-%s.scope" % ID, "libpod-%s.scope" % TWIN, "libpod-conmon-%s.scope" % TWIN)}  # fmt: skip


@pytest.mark.parametrize("option, text", [
    ("--container", ID[:9]), ("--container", ID), ("--container", "docker-" + ID[:4]),
    ("-u", ID[:12]), ("-u", "docker-%s.scope" % ID[:12]), ("-u", "docker-%s.scope" % ID),
])  # fmt: skip
def test_a_container_is_counted_by_the_beginning_of_its_id(live, containers, option, text):
    inside, outside = live.workload("calls"), live.workload("calls")
    move(inside.pid, containers["docker-%s.scope" % ID])
    move(outside.pid, containers["libpod-%s.scope" % TWIN])
    bpftruss = live.choose(option, text)
    for target in (inside, outside):
        target.play()
    report = bpftruss.interrupt()
    assert report.all("pid") == {inside.pid}
    named = [(p["container"], p["runtime"], p["pod"], p["qos"]) for p in report.data["processes"]]
    assert named == [(ID, "docker", "-", None)]


@pytest.mark.parametrize("argv, sentence", [
    (["--container", ID[:8]], "means several containers: give more of the id"),
    (["-u", ID[:8]], "means several containers: give more of the id"),
    (["--container", ID[:3]], "no container has the name"),
    (["--container", "%012d" % 0], "no container has the name"),
    (["-u", "%012d" % 0], "no unit 000000000000.service is running"),
])  # fmt: skip
def test_a_container_that_is_not_the_only_one_is_refused(live, containers, argv, sentence):
    refused = run("-c", *argv, "-d", "1")
    assert refused.returncode == 1 and sentence in refused.stderr
