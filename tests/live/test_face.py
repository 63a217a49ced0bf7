# SPDX-License-Identifier: BSD-2-Clause
"""
What people type who know truss, strace, perf and top: what is typed, and what must come.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
from harness import BPFTRUSS, need_terminals, run, until

# Opens files as the C library does, fails at it, writes, and asks for its parent.
BUSY = """
import os, time
while True:
    for _ in range(7):
        os.close(os.open("/dev/null", os.O_RDONLY))
        os.getppid()
    try:
        os.open("/nowhere", os.O_RDONLY)
    except FileNotFoundError:
        pass
    time.sleep(0.005)
"""


@pytest.fixture(scope="module")
def busy():
    with subprocess.Popen([sys.executable, "-c", BUSY]) as process:
        yield process.pid
        process.kill()


TRUSS = r"^syscall +seconds +calls +errors$"
WIDE = r"^syscall +calls +errors +total"

# What is typed after bpftruss, with -p PID -d 0.2 behind it, and what must be in the report.
WORKS = [
    ("", r"^getppid\(\) += \d+$"),
    ("-c", TRUSS),
    ("-C", TRUSS),
    ("-c -d 200ms", TRUSS),
    ("-d 0.2s", r"^getppid\(\) += \d+$"),
    ("-c -d 0.003m", TRUSS),
    ("--sort nr", TRUSS),
    ("--sort -calls,name", TRUSS),
    ("-S calls", TRUSS),
    ("-S time", WIDE),
    ("--top 2", r"\(\d+ others\)"),
    ("-t open", r'^openat\(AT_FDCWD, "/dev/null", O_RDONLY'),
    ("-t open*", r"^openat\("),
    ("-t /^open/", r"^openat\("),
    ("-t ?nosuch,openat", r"^openat\("),
    ("-c -t !getppid", r"^openat "),
    ("-c -e trace=open,getppid", r"^getppid "),
    ("-e getppid", r"^getppid\("),
    ("-U calls,errors", r"^syscall +calls +errors$"),
    ("-c -z -t openat,getppid", r"^getppid "),
    ("-c -Z", r"^openat "),
    ("-Z", r"^openat\(.*  Err#2 ENOENT$"),
    ("-w", WIDE),
    ("-w", r"threads [\d.]+ s = user [\d.]+ \+ system [\d.]+ \(split by clock ticks\)$"),
    ("--hist -t getppid", r"^getppid: \d+ calls by duration$"),
    ("--errors", r"^\S+ +openat +ENOENT +No such file or directory"),
    ("--errors --csv", r",openat,ENOENT,\d+,\d+$"),
    ("--errors --sort syscall", r"ENOENT"),
    ("--csv", r"^start,end,syscall,calls"),
    ("--csv -w --columns calls,p99", r"^start,end,syscall,calls,p99_ns$"),
    ("--csv --waiting read", r"^start,end,half,syscall"),
    ("--csv --stacks", r"^start,end,syscall,stack,"),
    ("--by comm", r"^comm +calls"),
    ("--by tid", r"^ *pid +tid +thread +comm"),
    ("--by user,unit", r"^unit +user +calls|^user +unit"),
    ("--by container,cgroup", r"^container +cgroup"),
    ("--by cpu", r"^ *on_cpu +calls"),
    ("--by arg2 -t openat", r"^openat +0x"),
    ("--by abi", r"^abi +calls"),
    ("--json --by comm", r'"table":\[\{"comm":'),
    ("--json --sort errors --top 1", r'"table":\[\{"syscall":"openat"'),
    ("--json --errors", r'"errno":"ENOENT"'),
    ("--json --hist --columns calls", r'"histogram":\[\{"from_ns"'),
    ("--json --waiting getppid", r'"half":"waiting"'),
    ("--json --by tid", r'"processes":\['),
    ("--format strace --by comm --sort calls --top 3", r"^% time +seconds"),
    ("-c --format strace --errors-only", r"openat$"),
    ("--format strace --errors-only", r"^\d+ [\d.]+ openat\(.* = -1 ENOENT \(No such file or directory\)"),
    ("--format strace --min-calls 3", r"getppid$"),
    ("--format folded", r";openat \d+$"),
    ("--format flame", r"^<svg "),
    ("--format chart", r"^<svg "),
    ("--format html --stacks", r'^<figure class="graph" data-weight="calls">'),
    ("--kernel-stacks -t openat", r"calls?, 100.0%, \d+ stacks?"),
    ("--width 40 -w", r"^syscall"),
    ("-c --slower-than 1us", r"only calls that took at least"),
    ("-c --errors-only", r"^openat "),
]  # fmt: skip


@pytest.mark.parametrize("typed, wanted", WORKS)
def test_what_is_typed_works(busy, typed, wanted):
    words = typed.split()
    span = [] if "-d" in words else ["-d", "0.1"]
    result = run(*words, *span, "-p", busy)
    assert result.returncode == 0, result.stderr
    assert re.search(wanted, result.stdout, re.M), result.stdout[:2000]
    if "--json" in words:
        json.loads(result.stdout)


# What is refused, in one sentence that says what to do.
REFUSED = [
    (["tpo"], 'did you mean "top"'),
    (["help", "tpo"], 'did you mean "top"'),
    (["--sotr", "calls", "-p", "1"], "did you mean --sort"),
    (["-c", "--by", "syscal", "-p", "1"], 'did you mean "syscall"'),
    (["-c", "--columns", "cals", "-p", "1"], 'did you mean "calls"'),
    (["-c", "-t", "opnat", "-p", "1"], "did you mean"),
    (["-c", "-a", "-p", "1"], "-a is all processes"),
    (["-c", "-p", "1", "--json", "--csv"], "one format"),
    (["-c", "-p", "1", "--by", "arg0,arg1"], "split by one"),
    (["-c", "-p", "1", "--sort", "pid"], "add --by pid"),
    (["snapshot", "--by", "tid"], "use bpftruss -c"),
    (["snapshot", "--since", "tomorrow-ish"], "neither a span such as 10m, nor a time"),
    (["history", "--by", "pid"], "not by pid"),
    (["report"], "give one file"),
    (["report", "/dev/null"], "is not a saved snapshot"),
    (["-c", "--as-user=no-such-user", "true"], "no user is called"),
    ([], "give -p PID for a running process"),
    (["-p", "nginx"], "; -n NAME chooses processes by name"),
    (["-y", "ls"], "-y; leave it out"),
    (["-tt", "ls"], "; -t is --trace here; --elapsed or"),
    (["-T", "-o", "f", "ls"], "-T; --format=strace"),
    (["-ff", "ls"], "-ff: all processes share one output"),
    (["-E", "FOO=bar", "true"], "use env FOO=bar COMMAND"),
    (["-c", "FOO=bar", "true"], "use env FOO=bar COMMAND"),
    (["-u", "www-data", "true"], "; --as-user=www-data runs it as a user"),
    (["-c", "-u", "root", "-d", "1"], "no unit root.service is running; -U chooses by user"),
    (["-c", "--failed", "-p", "1"], "; with -c: --errors, or -Z"),
    (["--in-flight", "-l", "-p", "1"], "for single calls, not of --in-flight"),
    (["top", "-b", "-n", "1"], "-b; --once prints one frame"),
    (["top", "--once", "-n", "1"], "-n 1: -n is --name here; --once prints one frame"),
    (["top", "-H"], "-H; --by tid shows threads"),
    (["top", "-o", "%CPU"], "-o is --output here; --sort cpu sorts"),
    (["top", "--csv"], "add --once"),
]  # fmt: skip


@pytest.mark.parametrize("typed, wanted", REFUSED)
def test_what_is_refused_says_what_to_do(typed, wanted):
    result = run(*typed)
    assert result.returncode in (1, 2) and not result.stdout
    assert wanted in result.stderr and result.stderr.count("\n") == 1, result.stderr


@pytest.mark.parametrize("verb", ["", "top", "doctor", "daemon", "snapshot", "status", "history",
                                  "baseline", "compare", "report"])  # fmt: skip
def test_help_of_a_verb_is_its_help(verb):
    words = [verb] if verb else []
    assert run("help", *words).stdout == run(*words, "--help").stdout != ""


@pytest.mark.parametrize("word", ["-c", "count"])
def test_help_of_counting_is_found_by_its_option_and_by_its_page(word):
    assert run("help", word).stdout == run("-c", "--help").stdout != run("--help").stdout


def test_help_of_single_calls_is_that_without_a_verb():
    assert run("help", "calls").stdout == run("help").stdout != ""


def test_a_name_of_the_c_library_is_explained_once_and_counts_what_it_calls(busy):
    result = run("-c", "-t", "open,stat", "-i", "0.4", "-N", "2", "-p", busy)
    assert len(re.findall(r"open means .*openat", result.stderr)) == 1, result.stderr
    assert re.search(r"^openat ", result.stdout, re.M)
    assert not re.search(r"^openat ", run("-t", "=open", "-d", "0.1", "-p", busy).stdout, re.M)


def test_the_longest_comes_first_and_solaris_order_is_asked_for(busy):
    def rows(*options):
        text = run("-c", "-d", "0.5", "-p", busy, *options).stdout
        found = re.findall(r"^([a-z]\S*) +(\d*\.\d{6}) +(\d+)", text, re.M)
        return [(name, float(seconds)) for name, seconds, _ in found if name != "elapsed:"]

    seconds = [value for _, value in rows()]
    assert len(seconds) > 3 and seconds == sorted(seconds, reverse=True)
    names = [name for name, _ in rows("--sort", "nr")]
    assert names.index("getppid") < names.index("openat") and names.index("close") == 0


def test_total_cpu_runq_and_sleep_stand_together_at_80_columns(busy):
    text = run("-w", "-d", "0.2", "-p", busy, env={**os.environ, "COLUMNS": "80"}).stdout
    head = text.splitlines()[0]
    assert len(head) <= 80 and re.search(r"total \S+ +cpu \S+ +runq \S+ +sleep ", head), head
    assert "p99" not in head
    # A pipe is as wide as it takes.
    free = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    assert "p99" in run("-w", "-d", "0.2", "-p", busy, env=free).stdout.splitlines()[0]


def test_intervals_say_when_they_were(busy):
    text = run("-c", "-i", "0.1", "-N", "2", "-p", busy).stdout
    stamp = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d to \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, 0\.\d{3} s$"
    assert len(re.findall(stamp, text, re.M)) == 2


def test_sigint_ends_it_in_the_background_of_a_script(busy, tmp_path):
    script = "%s -c -p %d > %s & sleep 1; kill -INT $!; wait $!" % (
        shlex.quote(BPFTRUSS), busy, shlex.quote(str(tmp_path / "report")))  # fmt: skip
    begin = time.monotonic()
    assert subprocess.run(["sh", "-c", script], timeout=60, check=False).returncode == 0
    assert time.monotonic() - begin < 50 and "exact" in (tmp_path / "report").read_text()


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become somebody else")
@pytest.mark.parametrize("option, environment", [("--as-user=nobody", {}),
                                                 ("--as-user", {"SUDO_USER": "nobody"})])
def test_a_command_runs_as_the_user_and_is_counted(option, environment):
    result = run("-c", option, "sh", "-c", "id -un; echo $HOME $USER",
                 env={**os.environ, **environment})  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[0] == "nobody" and result.stdout.split()[-1] == "nobody"
    assert re.search(r"^execve +\.\d+ +1$", result.stderr, re.M)


def test_a_terminal_sees_that_it_counts_and_colours_but_a_pipe_does_not(busy):
    need_terminals()
    command = "TERM=xterm NO_COLOR= %s -c -w -d 2 -p %d" % (shlex.quote(BPFTRUSS), busy)
    seen = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True,
                          timeout=60, check=True).stdout.decode()  # fmt: skip
    assert re.search(r"\r\033\[K\d+ s of 2 s  1 process  [\d,]+ calls  [\d,]+/s", seen)
    assert "mostly " in seen and "\033[31m" in seen
    # What is cut is left out whole, and nothing is nothing in color, too.
    narrow = "stty cols 40; " + command.replace(" -w", "")
    seen = subprocess.run(["script", "-qec", narrow, "/dev/null"], capture_output=True,
                          timeout=60, check=True).stdout.decode()  # fmt: skip
    assert re.search(r"\r\033\[K\d+ s of 2 s  1 process(  [\d,]+ calls)?\r", seen), seen
    assert "\033[31m\033[0m" not in seen
    plain = subprocess.run(["script", "-qec", command.replace("NO_COLOR=", "NO_COLOR=1"),
                            "/dev/null"], capture_output=True, timeout=60,
                           check=True).stdout.decode()  # fmt: skip
    assert "\033[31m" not in plain
    assert "\033" not in run("-c", "-d", "0.1", "-p", busy).stderr


@pytest.mark.parametrize("verb", ["history", "snapshot"])
def test_completion_offers_only_keys_that_the_verb_has(verb, tmp_path):
    lines = run("--complete", verb).stdout.splitlines()
    (by,) = [line for line in lines if line.startswith("--by\t")]
    words = by.split("\t")[3].split()
    assert "comm" in words and ("pid" in words) == (verb == "snapshot")
    for word in words:
        result = run(verb, "--by", word, "--socket", tmp_path / "none")
        assert result.returncode == 1 and "no daemon answers" in result.stderr, result.stderr


def test_a_saved_snapshot_becomes_every_report(busy, tmp_path):
    path = tmp_path / "saved.json"
    # Single calls are no part of what a snapshot can become.
    words = ("--exemplars", 0, "-d", "0.3", "-o", path, "-p", busy)
    assert run("-c", "--json", *words).returncode == 0
    whole = run("report", path)
    assert re.search(TRUSS, whole.stdout, re.M) and "exact" in whole.stdout
    assert run("report", path, "--json").stdout == path.read_text()
    errors = run("report", path, "--errors", "--csv").stdout
    assert re.search(r",openat,ENOENT,\d+,\d+$", errors, re.M)
    with path.open() as stdin:
        assert run("report", "-", stdin=stdin).stdout == whole.stdout
    grouped = tmp_path / "grouped.json"
    words = ("--json", "--by", "syscall", "-d", "0.1", "-o", grouped, "-p", busy)
    assert run("-c", *words).returncode == 0
    refused = run("report", grouped)
    assert refused.returncode == 1 and "save it without these options" in refused.stderr
    refused = run("report", path, "--by", "arg0")
    assert refused.returncode == 1 and "take one with --by arg0" in refused.stderr


def test_waiting_for_nobody_says_so(live):
    waiting = live.start("-n", "no-such-program-yet", "--wait")
    until(lambda: "counting nobody yet" in waiting.stderr(), "it waits")
    waiting.signal(signal.SIGINT)
    assert waiting.wait() == 0
