# SPDX-License-Identifier: BSD-2-Clause
"""The command line: where reports go, when they come, exit statuses, usage errors."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from bpf_objects import held, in_kernel, must_be_unloaded
from harness import (BPFTRUSS, Report, deaf_command, must_say_exact, need, program, readable_copy, run,
                     slurp, until)  # fmt: skip


TITLE = "\nsyscall                  seconds   calls  errors\n"


def one_sentence(text):
    return text.startswith("bpftruss: ") and text.count("\n") == 1 and text.endswith("\n")


def must_refuse(result, status, *words):
    """It must refuse in one sentence with these words, and do nothing else."""
    assert result.returncode in status and not result.stdout, result
    assert one_sentence(result.stderr) and all(word in result.stderr for word in words), result


# --- when the report comes -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_counting_and_prints_the_report(live, number):
    target = live.workload("calls")
    bpftruss = live.attach(target.pid)
    bpftruss.signal(number)
    assert bpftruss.report().only("read")["in_flight"] == 1
    # The target goes on as if nothing had been.
    assert target.popen.poll() is None and target.play().table().rows


def test_d_ends_the_counting_after_that_many_seconds(live):
    target = live.workload("calls")
    report = live.attach(target.pid, "-d", "0.3").report()
    assert 0.3e9 <= report.data["elapsed_ns"] < 30e9
    assert target.popen.poll() is None


def test_the_end_of_the_target_comes_before_d(live):
    report, _ = live.count("calls", options=["-d", 50])
    assert report.total("getppid") == 1009


def test_a_first_signal_is_passed_on_to_the_command(live):
    script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.01; done"
    bpftruss = live.start("/bin/sh", "-c", script)
    until(lambda: b"ready" in bpftruss.stdout(), "the command says ready")
    bpftruss.signal(signal.SIGINT)
    assert bpftruss.wait() == 5
    assert b"caught" in bpftruss.stdout()
    assert Report(bpftruss.text()).total("execve") == 1


def test_a_signal_after_the_report_still_reaches_the_command(live):
    bpftruss = live.start("sleep", 77, options=["-d", "0.1"])
    until(lambda: os.path.exists(bpftruss.report_path) and bpftruss.text().endswith(b"\n"), "report")
    time.sleep(0.1)  # the signals are bpftruss's again
    bpftruss.signal(signal.SIGTERM)
    assert bpftruss.wait() == 128 + signal.SIGTERM


def test_a_command_that_has_ended_is_not_waited_for(live):
    bpftruss = live.start("/bin/sh", "-c", "sleep 77 & exit 3", options=["-f"])
    until(lambda: [bpftruss.state(pid) for pid in bpftruss.children()] == ["Z"], "the command ends")
    bpftruss.signal(signal.SIGINT)
    assert bpftruss.wait() == 3
    # It may still be the shell, if it had no CPU yet.
    subprocess.run(["pkill", "-s", str(bpftruss.pid)], check=True)


def test_an_ignored_hangup_stays_ignored(live):
    target = live.workload("calls")
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    bpftruss = live.attach(target.pid, preexec_fn=ignore)
    bpftruss.signal(signal.SIGHUP)
    target.go()
    assert bpftruss.report().total("getppid") == 1009


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_standard_descriptors_do_not_spoil_the_report(live, tmp_path, closed):
    target = live.workload("calls")
    path = tmp_path / "report.json"
    command = "exec %s -c --json -d 0.1 -p %d -o %s %s" % (
        shlex.quote(BPFTRUSS), target.pid, shlex.quote(str(path)), closed)
    assert subprocess.run(["/bin/sh", "-c", command]).returncode == 0
    assert Report(path.read_bytes()).data["exact"]


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["doctor"], ["doctor", "--json"]])
def test_output_that_does_not_arrive_is_a_failure(words):
    with open("/dev/full", "w") as full:
        result = subprocess.run([BPFTRUSS] + words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1 and "cannot write" in result.stderr


def test_a_second_signal_ends_at_once(live):
    with deaf_command(live) as bpftruss:
        bpftruss.signal(signal.SIGINT)
        time.sleep(0.2)
        assert bpftruss.popen.poll() is None
        bpftruss.signal(signal.SIGINT)
        bpftruss.popen.wait(10)
    assert Report(bpftruss.text()).total("execve") == 1


# --- where the report goes -----------------------------------------------------------------------


def test_an_attached_report_goes_to_stdout(live):
    target = live.workload("calls")
    result = run("-c", "-d", "0.1", "-p", target.pid)
    assert result.returncode == 0
    assert TITLE in result.stdout
    assert one_sentence(result.stderr) and result.stderr.startswith("bpftruss: counting 1 process")


def test_o_writes_the_report_to_a_file_in_place_of_an_older_one(tmp_path):
    path = tmp_path / "report"
    path.write_text("old\n" * 10000)
    result = run("-c", "-o", path, "/bin/echo", "hello")
    assert (result.returncode, result.stdout, result.stderr) == (0, "hello\n", "")
    assert "sys totals:" in path.read_text() and "old\n" not in path.read_text()


def test_a_report_that_cannot_be_written_is_a_failure(live):
    target = live.workload("calls")
    result = run("-c", "-o", "/dev/full", "-d", "0.1", "-p", target.pid)
    assert result.returncode == 1
    assert one_sentence(result.stderr.splitlines(keepends=True)[-1])


def test_the_report_has_the_columns_of_truss_and_their_sums():
    table = run("-c", program("calls")).stderr
    lines = table[table.index("\nsyscall") + 1 :].split("\n")
    rule = lines.index("                     -----------  ------   ----")
    assert lines[0] == "syscall                  seconds   calls  errors"
    for line in lines[1:rule]:
        assert re.match(r"^\S.{18} [ \d]{5}\.\d{6} [ \d]{6}\d( [ \d]{6}\d)?$", line), line
    assert any(line.startswith("getppid ") for line in lines[1:rule])
    assert re.match(r"^sys totals: {9}[ \d]{5}\.\d{6} [ \d]{6}\d [ \d]{5}\d$", lines[rule + 1])
    assert re.match(r"^usr time: {11}[ \d]{5}\.\d{6}$", lines[rule + 2])
    assert re.match(r"^elapsed: {12}[ \d]{5}\.\d{6}$", lines[rule + 3])
    # What the seconds are is said where the calls took longer than that.
    rest = lines[rule + 4 + lines[rule + 4].startswith("seconds: CPU time; "):]
    assert re.match(r"^threads [\d.]+ s = user [\d.]+ \+ system", rest[0])
    # How they are split has a line of its own if there is no room for it.
    assert "(user and system split by clock ticks)" in "".join(rest[:2])
    must_say_exact("\n".join(rest[1:3]))
    rows = re.findall(r"^[a-z]\S* +\d*\.\d{6} +(\d+)(?: +(\d+))?$", table, re.M)
    calls, errors = re.search(r"^sys totals: +\S+ +(\d+) +(\d+)$", table, re.M).groups()
    assert sum(int(row[0]) for row in rows) == int(calls)
    assert sum(int(row[1] or 0) for row in rows) == int(errors)
    assert re.search(r"^getppid +\.\d{6} {4}1009$", table, re.M)
    assert re.search(r"^openat +\.\d{6} {6}12 {6}12$", table, re.M)


def test_json_describes_itself(live):
    report, _ = live.count("calls")
    data = report.data
    assert data["schema"] == 1
    assert data["kernel"] == os.uname().release and data["host"] == os.uname().nodename
    assert data["boot_id"] == slurp("/proc/sys/kernel/random/boot_id").decode().strip()
    stamp = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"
    assert re.match(stamp, data["start"]) and re.match(stamp, data["end"])
    assert data["elapsed_ns"] > 0 and data["user_cpu_ns"] > 0
    assert data["targets"][0]["comm"] == "calls"


# --- exit statuses -------------------------------------------------------------------------------


@pytest.mark.parametrize("command, status, output", [
    (["/bin/sh", "-c", "exit 7"], 7, ""),
    (["true"], 0, ""),
    (["/bin/sh", "-c", "kill -TERM $$"], 128 + signal.SIGTERM, ""),
    (["/bin/sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL, ""),
    (["/bin/echo", "-c", "--json", "-p", "1"], 0, "-c --json -p 1\n"),
])  # fmt: skip
def test_a_command_has_its_path_status_and_options_and_the_report_goes_to_stderr(
    command, status, output
):
    result = run("-c", *command)
    assert (result.returncode, result.stdout) == (status, output)
    assert TITLE in result.stderr


def test_a_command_reads_its_standard_input():
    result = subprocess.run(
        [BPFTRUSS, "-c", "/bin/cat"], input=b"hello", stdout=-1, stderr=-1, timeout=60, check=False
    )
    assert (result.returncode, result.stdout) == (0, b"hello")


def test_a_command_gets_neither_blocked_signals_nor_file_descriptors():
    script = "grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd"
    argv = ["/bin/sh", "-c", script]
    expected = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True)
    assert run("-c", "/bin/sh", "-c", script).stdout == expected.stdout.decode()


# --- usage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, says", [
    (["-c", "--colour", "-p", "1"], "--colour"),
    (["-c", "-p", "no-pid"], "no-pid"),
    (["-c", "-t", "opne", "-p", "1"], "open"),
    (["-c", "-t", "getpid,clsoe", "-p", "1"], "close"),
    (["-c", "-t", "%netwrok", "-p", "1"], "%network"),
    (["-c", "-p"], "-p"),
    (["-c"], ""),
    ([], ""),
    (["-c", "-p", "1", "/bin/true"], ""),
])  # fmt: skip
def test_what_makes_no_sense_is_a_usage_error(arguments, says):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == "" and says in result.stderr
    assert result.stderr.startswith("bpftruss: ") or result.stderr.lower().startswith("usage")


@pytest.mark.parametrize("arguments, status, word", [
    (["-t", "getpdi", "/bin/echo", "hello"], [2], "getpid"),
    (["-o", "/nonexistent/report", "/bin/echo", "hello"], [1], "/nonexistent/report"),
    (["/nonexistent/command"], [1, 127], "/nonexistent/command"),
    (["/dev/null"], [1, 126], "/dev/null"),
    (["-p", "4194303"], [1], "4194303"),
])  # fmt: skip
def test_what_cannot_be_done_is_refused_before_a_command_runs(arguments, status, word):
    must_refuse(run("-c", *arguments), status, word)


def test_a_process_that_is_not_there_is_one_sentence_also_among_others(live):
    pids = "%d,4194303" % live.workload("calls").pid
    must_refuse(run("-c", "-p", pids), [1], "4194303")


def test_help_and_version_go_to_stdout():
    for option, says in (("--help", "-p"), ("--version", "bpftruss")):
        result = run(option)
        assert (result.returncode, result.stderr) == (0, "") and says in result.stdout


# --- privileges ----------------------------------------------------------------------------------


def as_nobody(tmp_path, *arguments):
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--"]
    argv = nobody + [readable_copy(tmp_path), *arguments]
    return subprocess.run(argv, capture_output=True, check=False, text=True)


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv")
@pytest.mark.parametrize("arguments", [["-c", "-p", "1"], ["-c", "/bin/echo", "hello"]])
def test_without_privilege_it_says_so_in_one_sentence_and_ends_with_4(tmp_path, arguments):
    result = as_nobody(tmp_path, *arguments)
    must_refuse(result, [4])
    assert "libbpf" not in result.stderr


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv")
def test_doctor_without_privilege_says_what_is_missing_and_ends_with_4(tmp_path):
    result = as_nobody(tmp_path, "doctor")
    assert result.returncode == 4
    assert "CAP_BPF" in result.stdout + result.stderr
    assert "libbpf:" not in result.stdout + result.stderr


# --- doctor --------------------------------------------------------------------------------------


def test_doctor_says_that_this_machine_will_do_also_in_json():
    result = run("doctor")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
    result = run("doctor", "--json")
    assert result.returncode == 0 and json.loads(result.stdout)


def finding(name):
    result = run("doctor", "--json")
    assert result.returncode == 0, result.stderr
    (found,) = [item for item in json.loads(result.stdout)["findings"] if item["name"] == name]
    return found


def test_doctor_names_who_else_traces_calls_and_measures_beside_them(live):
    """Others may trace on this machine, too; each is named while it does, and up to three are."""
    target = live.workload("calls")
    bpftruss = live.attach(target.pid)
    named = f"bpftruss ({bpftruss.pid})"
    others = finding("other tracers")
    assert others["state"] == "absent" and "all calls: " in others["detail"]
    assert named in others["detail"] or "more" in others["detail"]
    cost = finding("cost to every process")
    assert "beside the other tracers" in cost["detail"]
    assert "end them first" in cost["remedy"]
    bpftruss.signal(signal.SIGINT)
    bpftruss.wait()
    assert named not in finding("other tracers")["detail"]


def test_doctor_names_who_traces_by_ptrace(live):
    need("strace")
    command = ["strace", "-o", "/dev/null", "-p", str(live.workload("calls").pid)]
    with subprocess.Popen(command) as strace:
        try:
            until(lambda: f"strace ({strace.pid})" in finding("other tracers")["detail"],
                  "doctor does not name it")
        finally:
            strace.terminate()


def test_doctor_does_not_measure_itself_when_it_is_traced(tmp_path):
    need("strace")
    report = tmp_path / "report"
    with report.open("w") as out:
        subprocess.run(["strace", "-o", "/dev/null", BPFTRUSS, "doctor"], stdout=out, check=True)
    assert "could not be measured: doctor's own calls are traced" in report.read_text()


# --- nothing stays behind ------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_of_it_stays_in_the_kernel(live, number):
    need("bpftool")
    target = live.workload("calls")
    bpftruss = live.attach(target.pid)
    objects = held(str(bpftruss.pid))
    assert len(objects["prog"]) >= 2 and objects["prog"] <= in_kernel("prog")
    bpftruss.signal(number)
    bpftruss.wait()
    must_be_unloaded(objects)
    target.play()
