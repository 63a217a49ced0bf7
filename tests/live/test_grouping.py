# SPDX-License-Identifier: BSD-2-Clause
"""
Tests what the rows of a report are: the keys of --by, the order of --sort, what --top, --min-calls
and --errors-only leave out, and what of that is refused. Sums hold whatever is asked for. Calls
stand under the user, unit and name that their process has now, also while it lives and when nothing
but that changed; and a report that groups by it says who changed.
"""

import json
import os
import pwd
import subprocess
import sys

import pytest

from cgroups import move, own
from daemons import start_daemon
from harness import BPFTRUSS, IS_X86, must_be_exact, run, until
from reports import KEYS, add_up, by, count_csv, count_text, crew_at_rest, must_add_up, parse_csv

COLUMNS = (
    "calls errors err% interrupted no_return untimed in_flight oldest time% total cpu runq sleep"
    " min avg p50 p90 p99 max bytes"
).split()

# --- groups --------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys, rows", [
    *((key, None) for key in KEYS if key != "comm"),
    ("comm", 1),
    ("pid,tid", 8),
    ("comm,syscall", 8),
    ("unit,user,comm,abi", 1),
    ("user,pid", 8),
    ("syscall,abi", 8),
    ("tid,syscall", 5 + 7 * 3 + 3),
    ("pid,syscall", 5 + 7 * 3 + 3),
])  # fmt: skip
def test_keys_group_all_calls_and_combine(live, keys, rows):
    """Seven children of three kinds of calls, every third of four, and their parent of five."""
    found, table = count_csv(live, ["-f", "--by", keys], "forks", "clone", 7)
    must_add_up(found, table)
    assert rows in (None, len(found))
    assert set(keys.split(",")) <= set(found[0])


def test_by_pid_has_one_row_for_each_process(live):
    rows, table = count_csv(live, ["-f", "--by", "pid"], "forks", "clone", 7)
    assert len({row["pid"] for row in rows}) == len(rows) == 8
    # Two calls and the exit; every third makes five more.
    assert sorted(by(rows, "pid").values())[:7] == sorted([3 + 5 * (i % 3 == 0) for i in range(7)])


def test_by_syscall_has_the_rows_of_the_table(live):
    rows, table = count_csv(live, ["-f", "--by", "syscall,abi"], "numbers")
    got = sorted(int(row["calls"]) for row in rows)
    assert got == sorted(counts["calls"] for counts in table.counts().values())
    must_add_up(rows, table)


def test_by_abi_has_the_sums_of_each_table_of_calls(live):
    rows, table = count_csv(live, ["--by", "abi"], "numbers")
    expected = {}
    for (_, abi, _), counts in table.counts().items():
        expected[(abi,)] = expected.get((abi,), 0) + counts["calls"]
    assert by(rows, "abi") == expected
    assert len(expected) == (3 if IS_X86 else 1)


def count_together(live, targets, *options):
    """The CSV of some workloads at once."""
    bpftruss = live.attach([target.pid for target in targets], "--csv", *options, json=False)
    for target in targets:
        target.go()
    return parse_csv(bpftruss.end_text())


def calls_of(target):
    return sum(counts["calls"] for counts in target.table().counts().values())


def test_by_comm_and_syscall_tells_names_apart(live):
    targets = [live.workload("calls"), live.workload("forks", "clone", 5)]
    rows = count_together(live, targets, "-f", "--by", "comm,syscall")
    counts = by(rows, "comm", "syscall")
    assert counts["calls", "getppid"] == 1009 and counts["forks", "getppid"] == 5
    assert counts["calls", "close"] == 15 and counts["forks", "close"] == 5


def test_by_tid_has_the_calls_of_every_thread(live):
    target, bpftruss = crew_at_rest(live, "--csv", "--by", "pid,tid,syscall")
    rows = parse_csv(bpftruss.stop_text())
    assert {row["pid"] for row in rows} == {str(target.pid)}
    counts = by(rows, "tid", "syscall")
    tids = {tid for tid, syscall in counts if syscall == "sched_yield"}
    assert {int(tid) for tid in tids} == set(target.threads()) - {target.pid}
    assert sorted(counts[tid, "sched_yield"] for tid in tids) == [1, 2, 3, 4, 5, 6, 7]
    assert all(counts[tid, "close"] == counts[tid, "sched_yield"] for tid in tids)
    assert counts[str(target.pid), "clone"] == 7


def test_the_calls_of_every_thread_are_added_up_by_tid(live):
    _, bpftruss = crew_at_rest(live, "--csv", "--by", "pid,tid", "-t", "sched_yield")
    assert sorted(by(parse_csv(bpftruss.stop_text()), "tid").values()) == [1, 2, 3, 4, 5, 6, 7]


def test_threads_that_have_ended_keep_rows(live):
    rows, table = count_csv(live, ["--by", "tid"], "threads", 7, 101)
    must_add_up(rows, table)
    assert len({row["tid"] for row in rows} - {""}) == 8


def test_threads_that_have_ended_are_added_up_without_room(live):
    rows, table = count_csv(live, ["--by", "tid", "--keep-exited", "3"], "threads", 7, 101)
    must_add_up(rows, table)
    tids = {row["tid"] for row in rows}
    assert "" in tids and len(tids) == 4


NAMED_THREADS = """
import ctypes, os, threading
def work(name):
    ctypes.CDLL(None).prctl(15, name)
    for _ in range(5):
        os.getppid()
for name in (b"alpha", b"beta", b"alpha"):
    thread = threading.Thread(target=work, args=(name,))
    thread.start()
    thread.join()
"""


def test_threads_that_have_ended_keep_their_names(tmp_path):
    saved = tmp_path / "saved.json"
    words = ("-t", "getppid", "-o", saved, sys.executable, "-c", NAMED_THREADS)
    assert run("-c", "--json", "--by", "tid", *words).returncode == 0
    rows = parse_csv(run("report", saved, "--by", "thread", "--csv").stdout)
    assert by(rows, "thread") == {("alpha",): 10, ("beta",): 5}
    rows = parse_csv(run("report", saved, "--by", "tid", "--csv").stdout)
    assert sorted((row["thread"], row["calls"]) for row in rows) == [
        ("alpha", "5"), ("alpha", "5"), ("beta", "5")]  # fmt: skip
    # Differences, too.
    words = ("-t", "getppid", "-o", saved, "sh", "-c", '"$@"; sleep 0.3', "sh", *words[4:])
    result = run("-c", "-f", "--csv", "-i", "0.1", "--by", "thread", *words)
    assert result.returncode == 0, result.stderr
    calls = [(row["thread"], int(row["calls"])) for row in parse_csv(saved.read_text())]
    assert sum(calls for name, calls in calls if name == "alpha") == 10
    assert sum(calls for name, calls in calls if name == "beta") == 5


def test_by_unit_tells_cgroups_apart(live, cgroup):
    names = [own("one.service"), own("two.service")]
    targets = [live.workload("calls"), live.workload("forks", "clone", 5)]
    for name, target in zip(names, targets):
        move(target.pid, cgroup(own("both.slice"), name))
    rows = count_together(live, targets, "-f", "--by", "unit")
    assert by(rows, "unit") == {(name,): calls_of(each) for name, each in zip(names, targets)}


def test_by_user_tells_users_apart(live):
    other, target = live.workload("becomes", "user", 54321, 3, 101), live.workload("calls")
    counts = by(count_together(live, [target, other], "--by", "user"), "user")
    assert set(counts) == {("root",), ("54321",)}
    assert counts[("root",)] == calls_of(target)


# --- the first argument --------------------------------------------------------------------------


def as_arg0(value, bits=64):
    value &= (1 << bits) - 1
    return str(value) if value < 65536 else "0x%x" % value


def test_by_arg0_counts_each_value_of_the_first_argument(live):
    """And splits only the calls that are reported."""
    rows, table = count_csv(live, ["--by", "arg0", "-t", "close,semop"], "firsts")
    assert {row["syscall"].split("/")[0] for row in rows} == {"close", "semop"}
    native = [row for row in rows if row["syscall"] == "close"]
    assert by(native, "arg0") == {(as_arg0(-n),): n for n in range(1, 14)}
    assert by(native, "arg0", value="errors") == by(native, "arg0")
    first, second = table.measures[0]["semaphores"]
    semops = [row for row in rows if row["syscall"] == "semop"]
    assert by(semops, "arg0") == {(as_arg0(first),): 17, (as_arg0(second),): 19}


@pytest.mark.skipif(not IS_X86, reason="only x86 has int 0x80")
def test_by_arg0_counts_calls_of_the_32_bit_abi(live):
    rows, _ = count_csv(live, ["--by", "arg0,abi", "-t", "close"], "firsts")
    rows = [row for row in rows if row["abi"] == "i386"]
    assert by(rows, "arg0") == {(as_arg0(1000 + n),): n for n in range(1, 6)}


def test_by_arg0_of_all_calls_adds_up(live):
    rows, table = count_csv(live, ["--by", "arg0"], "firsts")
    must_add_up(rows, table)


def test_more_values_of_arg0_than_rows_keep_exact_totals(live):
    options = ["--by", "arg0", "--max-rows", 7]
    target = live.workload("firsts")
    bpftruss = live.attach(target.pid, "--csv", *options, json=False)
    wide = live.attach(target.pid, "-w", *options, json=False)
    target.go()
    rows, text = parse_csv(bpftruss.end_text()), wide.end_text()
    counts = target.table().counts().values()
    for field in ("calls", "errors"):
        assert add_up(rows, field) == sum(each[field] for each in counts)
    assert len(rows) < 25
    assert "not exact: " in text and "--max-rows" in text


# --- sorting and cutting -------------------------------------------------------------------------


@pytest.mark.parametrize("column", COLUMNS)
def test_rows_sort_by_every_column(live, column):
    """Numbers fall; what is unknown comes last."""
    rows, _ = count_csv(live, ["--sort", column, "--columns", column], "calls")
    (field,) = set(rows[0]) - {"start", "end", "syscall"}
    values = [row[field] for row in rows]
    known = [float(value) for value in values if value != ""]
    assert known == sorted(known, reverse=True) and "" not in values[: len(known)]


@pytest.mark.parametrize("key", ["pid", "comm", "syscall"])
def test_rows_sort_by_keys(live, key):
    rows, _ = count_csv(live, ["-f", "--by", "pid,syscall", "--sort", key], "forks", "clone", 5)
    values = [int(row[key]) if key == "pid" else row[key] for row in rows]
    assert values == sorted(values)


@pytest.mark.parametrize("top", [1, 3, 1000])
def test_top_leaves_a_row_for_the_others(live, top):
    rows, table = count_csv(live, ["--sort", "calls", "--top", top], "calls")
    kinds = len(table.counts())
    must_add_up(rows, table)
    assert len(rows) == min(top + 1, kinds)
    assert rows[0]["syscall"] == "getppid"
    if top < kinds:
        assert rows[-1]["syscall"] == "(%d others)" % (kinds - top)


def shown(rows):
    """{call: its row} of those that are not added up as others."""
    return {row["syscall"]: row for row in rows if "other" not in row["syscall"]}


def test_min_calls_hides_rare_rows(live):
    rows, _ = count_csv(live, ["--min-calls", 12], "calls")
    assert set(shown(rows)) == {"getppid", "getuid", "close", "openat", "read", "write"}
    assert all(int(row["calls"]) >= 12 for row in shown(rows).values())


def test_errors_only_hides_rows_without_errors(live):
    rows, _ = count_csv(live, ["--errors-only"], "calls")
    errors = {name: int(row["errors"]) for name, row in shown(rows).items()}
    assert errors == {"openat": 12, "close": 13, "read": 3}


# --- whose a call is -----------------------------------------------------------------------------

UID = 54321
CALLS = 1000


def lingerer(live, *options, how="", json=True):
    """A workload that has changed its user, and lingers, and bpftruss."""
    target, bpftruss = live.begin("lingers", UID, CALLS, how, options=options, json=json)
    wait_change(target)
    return target, bpftruss


def wait_change(target):
    until(lambda: b"changed\n" in target.stdout(), "it has changed")
    target.wait_asleep_in("read")


def end(bpftruss):
    """The reports of a counting that ends now, while the process lives."""
    return [json.loads(line) for line in bpftruss.stop_text().splitlines()]


def process_of(report, pid):
    (process,) = [process for process in report["processes"] if process["pid"] == pid]
    return process


@pytest.mark.parametrize("how", ["", "thread"])
@pytest.mark.parametrize("interval", [[], ["-i", 0.1]])
def test_a_live_process_stands_under_the_user_that_it_has_become(live, interval, how):
    target, bpftruss = lingerer(live, *interval, how=how)
    reports = end(bpftruss)
    processes = [process_of(report, target.pid) for report in reports]
    assert processes[-1]["uid"] == UID
    assert sum(process["user_changes"] for process in processes) == 1
    assert {row["uid"] for row in reports[-1]["rows"]} == {UID}


@pytest.mark.parametrize("options, how, changes", [
    ([], "back", 7 if IS_X86 else 5),
    (["--slower-than", "10s"], "", 1),
], ids=["every way", "a call that is too fast to be counted"])  # fmt: skip
def test_a_change_of_the_user_is_seen(live, options, how, changes):
    target, bpftruss = lingerer(live, *options, how=how)
    (report,) = end(bpftruss)
    process = process_of(report, target.pid)
    assert (process["uid"], process["user_changes"]) == (UID, changes)


def test_a_table_by_user_says_who_changed(live):
    target, bpftruss = lingerer(live, "-w", "--by", "user", json=False)
    text = bpftruss.stop_text()
    said = "lingers %d: changed user while counted; all its calls are listed under the last one\n"
    assert said % target.pid in text
    assert str(UID) in text and "root" not in text


def test_a_table_by_user_does_not_speak_of_who_did_not_change(live):
    text, _ = count_text(live, ["-w", "--by", "user,unit,comm"], "calls")
    assert "changed" not in text


@pytest.mark.parametrize("options", [["-n", "lingers"], []])
def test_a_live_process_stands_under_the_unit_that_it_was_moved_to(live, cgroup, options):
    path = cgroup(own("moved.service"))
    target = live.workload("lingers", os.geteuid(), CALLS)
    bpftruss = live.choose(*options) if options else live.attach(target.pid)
    target.go()
    wait_change(target)
    move(target.pid, path)
    (report,) = end(bpftruss)
    process = process_of(report, target.pid)
    assert (process["unit"], process["cgroup_changes"]) == (own("moved.service"), 1)
    assert process["user_changes"] == 0
    assert {row["unit"] for row in report["rows"]} == {own("moved.service")}


def test_a_live_process_has_the_name_that_it_gave_itself(live):
    target, bpftruss = live.begin("becomes", "name", "renamed-itself", 1, 10)
    process = process_of(bpftruss.report().data, target.pid)
    assert (process["comm"], process["comm_changes"]) == ("renamed-itself", 1)


def test_workers_that_a_root_process_makes_beside_a_daemon_stand_under_their_user(live, tmp_path):
    nobody = pwd.getpwnam("nobody").pw_uid
    server = start_daemon(live, tmp_path / "daemon")
    target = live.workload("lingers", nobody, CALLS, "fork")
    target.go()
    until(lambda: b"changed\n" in target.stdout(), "its child has changed")
    (child,) = target.children()
    report = server.snapshot("-p", child, lossy=True)
    assert {row["user"] for row in report.select("getppid")} == {"nobody"}
    assert report.total("getppid") == 2000


THREADS = """
import ctypes, os, sys, threading
libc = ctypes.CDLL(None)
done = threading.Barrier(4)
def work(name, rounds):
    libc.prctl(15, name)
    for _ in range(rounds):
        os.getppid()
    done.wait()
    sys.stdin.read(1)
sys.stdin.readline()
for job in ((b"alpha", 100), (b"beta", 30), (b"beta", 70)):
    threading.Thread(target=work, args=job, daemon=True).start()
done.wait()
print("done", flush=True)
sys.stdin.read(1)
"""


def test_threads_have_names(live, tmp_path):
    target = subprocess.Popen(
        [sys.executable, "-c", THREADS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    saved = tmp_path / "saved"
    bpftruss = live.spawn(BPFTRUSS, "-c", "--json", "--by", "tid", "-o", saved, "-p", target.pid)
    until(lambda: "Ctrl-C" in bpftruss.stderr(), "that it counts")
    target.stdin.write(b"\n")
    target.stdin.flush()
    assert target.stdout.readline() == b"done\n"
    bpftruss.stop()
    target.kill()
    target.wait()
    data = json.loads(saved.read_text())
    assert sorted(thread["comm"] for thread in data["threads"])[:2] == ["alpha", "beta"]
    report = run("report", "--csv", "--by", "thread", "-t", "getppid", "--columns", "calls", saved)
    assert report.returncode == 0, report.stderr
    rows = [line.split(",")[2:] for line in report.stdout.splitlines()[1:]]
    assert sorted(rows) == [["alpha", "100"], ["beta", "100"]]


def test_n_finds_threads_by_their_names(live):
    code = THREADS.replace("sys.stdin.readline()", "").replace("sys.stdin.read(1)", "time.sleep(1000)")
    target = live.spawn(sys.executable, "-c", "import time\n" + code)
    until(lambda: target.stdout() == b"done\n", "its threads")
    result = run("-c", "-d", "0.2", "--json", "--by", "tid", "-n", "bet[a-z]")
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert [thread["comm"] for thread in data["threads"]] == ["beta", "beta"]
    assert {process["comm"] for process in data["processes"]} == {target_comm(target.pid)}
    assert all(row["tid"] for row in data["rows"])


def target_comm(pid):
    with open("/proc/%d/comm" % pid, encoding="utf-8") as file:
        return file.read().strip()


def test_a_thread_alone_has_no_more_time_than_there_was(live):
    """Its process sleeps in its first thread, which is not counted."""
    code = THREADS.replace("sys.stdin.readline()", "").replace("sys.stdin.read(1)", "time.sleep(1000)")
    target = live.spawn(sys.executable, "-c", "import time\n" + code)
    until(lambda: target.stdout() == b"done\n", "its threads")
    tid = max(int(name) for name in os.listdir("/proc/%d/task" % target.pid))
    result = run("-c", "--json", "-i", "0.1", "-N", "6", "-p", tid)
    assert result.returncode == 0, result.stderr
    for line in result.stdout.splitlines():
        data = json.loads(line)
        must_be_exact(data)
        assert sum(process["threads_ns"] for process in data["processes"]) <= data["elapsed_ns"]
        assert {process["comm"] for process in data["processes"]} == {target_comm(target.pid)}


def test_of_a_thread_alone_the_process_says_that_it_was_moved(live, cgroup):
    """Only its first thread hears of that, which is not counted."""
    path = cgroup(own("moved.service"))
    target = live.spawn(sys.executable, "-c", THREADS.replace("sys.stdin.readline()", "").replace(
        "sys.stdin.read(1)", "__import__('time').sleep(1000)"))
    until(lambda: target.stdout() == b"done\n", "its threads")
    bpftruss = live.attach(max(int(name) for name in os.listdir("/proc/%d/task" % target.pid)))
    move(target.pid, path)
    (report,) = end(bpftruss)
    process = process_of(report, target.pid)
    assert (process["unit"], process["cgroup_changes"]) == (own("moved.service"), 1)
