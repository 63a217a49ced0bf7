# SPDX-License-Identifier: BSD-2-Clause
"""
Runs workloads under bpftruss and judges its reports.

Every report that a test gets has been checked against the identities that hold for all of them
(check_identities). A workload's own table is then compared row by row: the difference is to be 0.
"""

import collections
import contextlib
import errno
import glob
import json
import os
import platform
import pty
import re
import shutil
import signal
import stat
import subprocess
import threading
import time

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("O", os.path.join(TOP, "build")))
BPFTRUSS = os.path.join(BUILD, "bpftruss")

NATIVE = {"x86_64": "x86_64", "aarch64": "arm64"}[platform.machine()]
IS_X86 = NATIVE == "x86_64"
x86_only = pytest.mark.skipif(not IS_X86, reason="x86 has this, other machines do not")
NUMBERS = {
    "x86_64": {"read": 0, "nanosleep": 35, "restart_syscall": 219, "getppid": 110, "write": 1,
               "fork": 57, "prctl": 157},
    "arm64": {"read": 63, "nanosleep": 101, "restart_syscall": 128, "getppid": 173, "write": 64,
              "prctl": 167},
}[NATIVE]

# For anything to happen at all, far beyond what it takes: a report of -c waits a minute for names.
DEADLINE_S = 150
COUNTS = ("calls", "errors", "interrupted", "no_return", "denied", "untimed", "bytes")
STACK_TIMES = ("wall_ns", "cpu_ns", "runq_ns", "sleep_ns")
NOTHING = {field: 0 for field in COUNTS}
NOTHING["errnos"] = {}


def until(condition, what):
    """Waits for something that happens soon, and returns it; asks less often the longer it takes."""
    start = time.monotonic()
    while (waited_s := time.monotonic() - start) < DEADLINE_S:
        value = condition()
        if value:
            return value
        time.sleep(min(max(waited_s / 8, 0.001), 0.05))
    raise AssertionError("did not happen: " + what)


@contextlib.contextmanager
def meanwhile(*functions):
    """Calls these over and over, each in a thread of its own."""
    over, errors = threading.Event(), []

    def repeat(function):
        try:
            while not over.is_set():
                function()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=repeat, args=[function]) for function in functions]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


def need_terminals():
    """Skips where the kernel hands out no pseudo-terminals, as in a bare chroot."""
    try:
        for fd in pty.openpty():
            os.close(fd)
    except OSError as error:
        pytest.skip("no pseudo-terminals here (is devpts mounted?): %s" % error)


def slurp(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    """Bytes, or the text of anything else."""
    with open(path, "wb") as file:
        file.write(content if isinstance(content, (bytes, bytearray)) else str(content).encode())


TICK_NS = 10**9 // 100  # in which user space is told times


def stolen_ns():
    """Returns what a hypervisor has taken of all CPUs so far."""
    return int(slurp("/proc/stat").split()[8]) * TICK_NS


def is_sanitized():
    """Whether it was built with SAN=1: then it takes far more memory, and keeps what is freed."""
    return b"__asan_init" in slurp(BPFTRUSS)


def skip_if_sanitized(reason="sanitizers take memory of their own"):
    if is_sanitized():
        pytest.skip(reason)


def readable_copy(directory):
    """bpftruss where anybody can reach it; the build directory may be private."""
    for path in [directory] + list(directory.parents)[:2]:
        os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) | 0o755)
    return shutil.copy(BPFTRUSS, directory / "bpftruss")


def need(name, path=None):
    """Where a program is; skips where it is not installed."""
    found = shutil.which(name) or (path and shutil.which(name, path=path))
    if not found:
        pytest.skip("no %s here" % name)
    return found


def program(name):
    """Where a workload is."""
    return os.path.join(BUILD, "workloads", name)


# --- reports -------------------------------------------------------------------------------------


def check_times(row, timed):
    keys = ("wall", "cpu", "runq", "sleep", "min", "p50", "p90", "p99", "max")
    times = [row[key + "_ns"] for key in keys]
    if not timed:
        assert times == [None] * len(keys), row
        return
    wall, cpu, runq, sleep, low, p50, p90, p99, high = times
    if runq is None:
        # Not accounted by the kernel, or so it is to seem.
        assert sleep is None and 0 <= cpu <= wall, row
    else:
        assert cpu + runq + sleep == wall, row
        assert min(cpu, runq, sleep) >= 0, row
    assert low <= p50 <= p90 <= p99 <= high, row
    assert low * timed <= wall <= high * timed, row
    first, last = row["histogram"][0], row["histogram"][-1]
    assert first[0] <= low < first[1], row
    assert last[0] <= high and (last[1] is None or high < last[1]), row


def check_row(row, elapsed_ns):
    timed = sum(count for _, _, count in row["histogram"])
    assert timed == row["calls"] - row["untimed"] - row["no_return"], row
    assert row["calls"] >= row["errors"] + row["interrupted"] + row["no_return"], row
    assert row["untimed"] >= row["denied"], row
    if row["pid"] is not None:
        assert sum(row["errnos"].values()) == row["errors"], row
    assert all(count > 0 for _, _, count in row["histogram"]), row
    assert (row["in_flight"] > 0) == (row["oldest_in_flight_ns"] is not None), row
    # One that began before counting is as old as it is known to be.
    if not row["in_flight_early"]:
        assert (row["oldest_in_flight_ns"] or 0) <= elapsed_ns, row
    check_times(row, timed)
    check_stacks(row)


def check_stacks(row):
    """Every call of a row was made from exactly one of its stacks."""
    stacks = row.get("stacks")
    if stacks is None:
        return
    for field in ("calls", "errors") + STACK_TIMES:
        assert sum(stack[field] or 0 for stack in stacks) == (row[field] or 0), (field, row)
    if stacks and row["max_ns"]:
        assert max(stack["max_ns"] or 0 for stack in stacks) == row["max_ns"], row


def locked_bytes(pid):
    """Kernel memory of the maps that a process holds, as the kernel says."""
    maps = {}
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        fields = dict(re.findall(r"^(map_id|memlock):\t(\d+)$", slurp(path).decode(), re.M))
        if "map_id" in fields:
            maps[fields["map_id"]] = int(fields["memlock"])
    return sum(maps.values())


def need_unshare(*options):
    """Skips where no such namespace can be made, as in a chroot that is not a mount point."""
    result = subprocess.run(["unshare", *options, "true"], check=False, stderr=subprocess.PIPE)
    if result.returncode:
        pytest.skip(result.stderr.decode().strip())


class Lossy(AssertionError):
    """A report that says itself that it is not exact."""

    def __init__(self, losses):
        super().__init__(losses)
        self.losses = losses


def must_be_exact(data):
    """An object of --json is. With losses of a busy host, the test is tried again."""
    if not data["exact"]:
        raise Lossy({name: count for name, count in data["losses"].items() if count})


def must_say_exact(text):
    """A text report, or each of several, says that it is. With losses of a busy host, the test is tried again."""
    unseen = re.search(r"^not exact: (\d+) context switch(es)? not seen ", text, re.M)
    if unseen:
        raise Lossy({"switch_unseen": int(unseen[1])})
    assert re.search(r"^exact", text, re.M) and not re.search(r"^not exact", text, re.M), text


class Report:
    """A --json report. In one of an interval a call may be in flight for longer than elapsed_ns."""

    def __init__(self, text, lossy=False, longest_ns=None):
        self.text = text
        self.data = json.loads(text.decode("utf-8"))
        self.rows = self.data["rows"]
        self.losses = {name: count for name, count in self.data["losses"].items() if count}
        if not lossy:
            self.may_lose()
            assert self.data["exact"] is True
            for row in self.rows:
                check_row(row, longest_ns or self.data["elapsed_ns"])
                assert self.data["has_runq"] or row["runq_ns"] is None, row
                assert row["runq_ns"] is not None or not (self.data["has_runq"] and row["wall_ns"])

    def must_lose(self, **expected):
        """It has these losses. Others are those of a busy host, and the test is tried again."""
        self.may_lose(*(name for name, count in expected.items() if self.losses.get(name) == count))
        assert self.losses == expected

    def may_lose(self, *names):
        """It has no other losses than these. With those of a busy host, the test is tried again."""
        others = {name: count for name, count in self.losses.items() if name not in names}
        if others:
            raise Lossy(others)

    def select(self, syscall, abi=NATIVE, pid=None):
        return [
            row
            for row in self.rows
            if row["syscall"] == syscall and row["abi"] == abi and pid in (None, row["pid"])
        ]

    def total(self, syscall, field="calls", abi=NATIVE, pid=None):
        return sum(row[field] or 0 for row in self.select(syscall, abi, pid))

    def errnos(self, syscall):
        return merge_errnos(row["errnos"] for row in self.select(syscall))

    def only(self, syscall, abi=NATIVE):
        """The one row of a call that one process made."""
        (row,) = self.select(syscall, abi)
        return row

    def must_have(self, syscall, abi=NATIVE, **fields):
        """The one row of a call that one process made has these values."""
        row = self.only(syscall, abi)
        assert {field: row[field] for field in fields} == fields

    def stacks(self, syscall=None, pid=None):
        """All stacks of a call or of all calls, of a process or of all."""
        rows = [row for row in self.rows if pid in (None, row["pid"])]
        return [s for row in rows if syscall in (None, row["syscall"]) for s in row["stacks"]]

    def frames(self, syscall=None):
        """The frames of these stacks, as (module, symbol)."""
        frames = [frame for stack in self.stacks(syscall) for frame in stack["frames"]]
        return {(frame["module"], frame["symbol"]) for frame in frames}

    def all(self, field):
        """Returns what its rows have there."""
        return {row[field] for row in self.rows}

    def sum(self, field):
        return sum(row[field] or 0 for row in self.rows)

    def counts(self, by_pid=False):
        return merge_counts(self.rows, by_pid)

    def completed(self):
        """Returns what was counted, by process and call, without the times."""
        return {key: counts for key, counts in self.counts(by_pid=True).items() if counts["calls"]}


def interval_reports(text, **how):
    return [Report(line, longest_ns=1 << 62, **how) for line in text.splitlines()]


def merge_errnos(all_errnos):
    total = collections.Counter()
    for errnos in all_errnos:
        total.update(errnos)
    return dict(total)


def merge_counts(rows, by_pid):
    total = {}
    for row in rows:
        key = (row["pid"] if by_pid else None, row["abi"], row["nr"])
        counts = total.setdefault(key, dict(NOTHING))
        for field in COUNTS:
            counts[field] += row[field]
        counts["errnos"] = merge_errnos([counts["errnos"], row["errnos"]])
    return total


# --- the workloads' own tables -------------------------------------------------------------------


class Table:
    """Holds what a workload says that it did: the sum of all tables that it printed."""

    def __init__(self, output, pid=None):
        self.pid = pid
        self.rows = []
        self.measures = []
        self.printed = b""  # the lines of its tables
        for line in output.splitlines(keepends=True):
            if line.startswith(b'{"writer"'):
                self.add(json.loads(line), len(line))
                self.printed += line
            elif line.startswith(b"{"):
                self.measures.append(json.loads(line))
        assert self.rows, output

    def add(self, printed, length):
        for row in printed["rows"]:
            row["errnos"] = {errno.errorcode[int(nr)]: n for nr, n in row["errnos"].items()}
            row["abi"] = NATIVE if row["abi"] == "native" else row["abi"]
            # The line itself, which its writer could not know.
            if (row["pid"], row["abi"], row["nr"]) == (printed["writer"], NATIVE, NUMBERS["write"]):
                row["bytes"] += length
        self.rows += printed["rows"]

    def counts(self, by_pid=False):
        return merge_counts(self.rows, by_pid)

    def total(self, syscall, field="calls"):
        return sum(row[field] for row in self.rows if row["nr"] == NUMBERS[syscall])

    def knows_pids(self):
        return all(row["pid"] for row in self.rows)


def differences(got, expected, keys):
    """Returns one line for each number that differs: '1234 x86_64 3: calls 14, not 15'."""
    lines = []
    for key in keys:
        a, b = got.get(key, NOTHING), expected.get(key, NOTHING)
        name = " ".join(str(part) for part in key if part is not None)
        lines += ["%s: %s %s, not %s" % (name, k, a[k], b[k]) for k in a if a[k] != b[k]]
    return lines


def must_include(report, table):
    """Every row of the table is in the report; libc's own calls may be there, too."""
    by_pid = table.knows_pids()
    got, expected = report.counts(by_pid), table.counts(by_pid)
    assert differences(got, expected, expected) == []


def must_equal(report, table):
    """The report holds what the table holds and nothing else."""
    by_pid = table.knows_pids()
    got, expected = report.counts(by_pid), table.counts(by_pid)
    assert differences(got, expected, set(got) | set(expected)) == []


# --- processes -----------------------------------------------------------------------------------


class Process:
    """A child of the test, in a session of its own; its output goes to files."""

    def __init__(self, directory, argv, stdin=subprocess.DEVNULL, **options):
        os.makedirs(directory)
        self.stdout_path = os.path.join(directory, "stdout")
        self.stderr_path = os.path.join(directory, "stderr")
        with open(self.stdout_path, "wb") as out, open(self.stderr_path, "wb") as err:
            self.popen = subprocess.Popen(
                argv, stdin=stdin, stdout=out, stderr=err, start_new_session=True, **options
            )
        self.pid = self.popen.pid

    def stdout(self):
        return slurp(self.stdout_path)

    def stderr(self):
        return slurp(self.stderr_path).decode("utf-8", "surrogateescape")

    def signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        return self.popen.wait(DEADLINE_S)

    def stop(self, number=None):
        """Asks it to end, by SIGINT if not said otherwise, and waits until it has."""
        self.signal(number or signal.SIGINT)
        assert self.wait() == 0, self.stderr()

    def pause(self):
        """Stops it, until a SIGCONT."""
        self.signal(signal.SIGSTOP)
        until(lambda: self.state() == "T", "it stops")

    def tell(self, text):
        self.popen.stdin.write(text)
        self.popen.stdin.flush()

    def state(self, tid=None):
        status = slurp("/proc/%d/status" % (tid or self.pid)).decode("latin-1")
        return re.search(r"\nState:\t(.)", status).group(1)

    def threads(self):
        return [int(tid) for tid in os.listdir("/proc/%d/task" % self.pid)]

    def run_ns(self):
        """Time that its first thread has had a CPU."""
        return int(slurp("/proc/%d/schedstat" % self.pid).split()[0])

    def children(self):
        pids = slurp("/proc/%d/task/%d/children" % (self.pid, self.pid)).split()
        return [int(pid) for pid in pids]

    def wait_asleep_in(self, *syscalls, tid=None, fd=None):
        """
        Until a thread, the first one if not said otherwise, sleeps in one of these calls (with this
        first argument).
        """
        path = "/proc/%d/task/%d/" % (self.pid, tid or self.pid)
        wanted = [str(NUMBERS[name]) for name in syscalls]

        def asleep():
            status = slurp(path + "status").decode("latin-1")
            pending = re.findall(r"(?:SigPnd|ShdPnd):\t0*([0-9a-f]*)\n", status)
            call = slurp(path + "syscall").decode().split()
            in_call = call[0] in wanted and (fd is None or int(call[1], 16) == fd)
            return in_call and "\nState:\tS" in status and not any(pending)

        until(asleep, "sleep in " + " or ".join(syscalls))

    def close(self):
        if self.popen.stdin:
            self.popen.stdin.close()
        if self.popen.poll() is None:
            # Its session: the children that it made, and nobody else's.
            os.killpg(self.pid, signal.SIGKILL)
            self.popen.wait()


class Talker(Process):
    """A process that says when it is ready, and then answers each line by one."""

    def __init__(self, directory, argv, **options):
        argv = [str(arg) for arg in argv]
        super().__init__(directory, argv, stdin=subprocess.PIPE, **options)
        self.lines = open(self.stdout_path, "rb")
        self.answer()

    def next_line(self):
        """The next one, once it is whole."""
        assert self.popen.poll() is None, self.stderr()
        line = self.lines.readline()
        if line.endswith(b"\n"):
            return line
        self.lines.seek(-len(line), os.SEEK_CUR)
        return None

    def answer(self):
        return until(self.next_line, "an answer")[:-1]

    def ask(self, line):
        self.tell(line.encode() + b"\n")
        return self.answer()

    def close(self):
        super().close()
        self.lines.close()


class Workload(Process):
    """A workload at its barrier: it sleeps in read until it is told to go, unless not asleep."""

    def __init__(self, directory, name, *args, asleep=True):
        argv = [program(name), "wait"] + [str(arg) for arg in args]
        super().__init__(directory, argv, stdin=subprocess.PIPE)
        until(self.is_ready, name + " says ready")
        if asleep:
            self.wait_asleep_in("read")

    def is_ready(self):
        ended = self.popen.poll() is not None
        is_ready = self.stdout().startswith(b"ready\n")
        assert is_ready or not ended, self.stderr()
        return is_ready

    def go(self):
        self.tell(b"go\n")

    def play(self):
        """Lets it do all that it does."""
        self.go()
        assert self.wait() == 0, self.stderr()
        return self

    def table(self):
        return Table(self.stdout(), self.pid)


def play_all(targets):
    """Lets all of them do what they do, at the same time."""
    for target in targets:
        target.go()
    for target in targets:
        assert target.wait() == 0, target.stderr()


class Bpftruss(Process):
    """A running bpftruss that writes a JSON report to a file, or with json=False a text."""

    def __init__(self, directory, arguments, json=True, **options):
        self.report_path = os.path.join(directory, "report")
        argv = [BPFTRUSS, "-c", "-o", self.report_path] + (["--json"] if json else [])
        super().__init__(directory, argv + [str(arg) for arg in arguments], **options)

    def wait_counting(self):
        def counting():
            ended = self.popen.poll() is not None
            found = re.search(r"^bpftruss: counting .*\n", self.stderr(), re.M)
            assert found or not ended, "bpftruss ended: " + self.stderr()
            return found

        until(counting, "bpftruss counts")
        return self

    def text(self):
        return slurp(self.report_path)

    def end_text(self):
        """The text of one that ends by itself."""
        assert self.wait() == 0, self.stderr()
        return self.text().decode("utf-8")

    def stop_text(self):
        self.stop()
        return self.text().decode("utf-8")

    def report(self, lossy=False):
        """The report of a bpftruss that ends by itself."""
        status = self.wait()
        assert status == 0, "status %d: %s" % (status, self.stderr())
        return Report(self.text(), lossy)

    def interrupt(self, lossy=False):
        self.signal(signal.SIGINT)
        return self.report(lossy)


def run(*arguments, **options):
    """bpftruss as a user would call it, and what came of it."""
    argv = [BPFTRUSS] + [str(arg) for arg in arguments]
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, **options}
    return subprocess.run(argv, timeout=DEADLINE_S, **options)


@contextlib.contextmanager
def deaf_command(live, **options):
    """bpftruss with a command that signals do not end."""
    script = "trap '' INT TERM; echo ready $$; while :; do sleep 0.01; done"
    bpftruss = live.start("/bin/sh", "-c", script, **options)
    ready = until(lambda: re.search(rb"ready (\d+)\n", bpftruss.stdout()), "the command says ready")
    try:
        yield bpftruss
    finally:
        os.kill(int(ready.group(1)), signal.SIGKILL)


class Live:
    """Starts things for one test, and ends what is left of them after it."""

    def __init__(self, directory):
        self.directory = str(directory)
        self.processes = []

    def add(self, kind, *args, **options):
        directory = os.path.join(self.directory, str(len(self.processes)))
        self.processes.append(None)
        process = kind(directory, *args, **options)
        self.processes[-1] = process
        return process

    def spawn(self, *argv, **options):
        return self.add(Process, [str(arg) for arg in argv], **options)

    def workload(self, name, *args, **options):
        return self.add(Workload, name, *args, **options)

    def play(self, name, *args, **options):
        """A workload that has done all that it does."""
        return self.workload(name, *args, **options).play()

    def choose(self, *arguments, **options):
        """bpftruss, counting what its arguments choose."""
        return self.add(Bpftruss, list(arguments), **options).wait_counting()

    def attach(self, pids, *arguments, **options):
        """bpftruss, counting these processes."""
        pids = [pids] if isinstance(pids, int) else pids
        listed = ",".join(str(pid) for pid in pids)
        return self.choose(*arguments, "-p", listed, **options)

    def begin(self, name, *args, options=(), needs=None, **how):
        """
        A workload that was let go from its barrier once bpftruss counted it, and bpftruss. Skips
        where the workload says that there is none of what it needs.
        """
        target = self.workload(name, *args, asleep=not needs)
        if needs:
            if b"none" in target.stdout():
                pytest.skip(needs + " is not to be had here")
            target.wait_asleep_in("read")
        bpftruss = self.attach(target.pid, *options, **how)
        target.go()
        return target, bpftruss

    def count(self, *workload, lossy=False, **how):
        """The report and the table of such a workload, which ends by itself."""
        target, bpftruss = self.begin(*workload, **how)
        report = bpftruss.report(lossy)
        assert target.wait() == 0, target.stderr()
        return report, target.table()

    def count_exactly(self, *workload, **how):
        """The report of such a workload, which holds what its table holds and nothing else."""
        report, table = self.count(*workload, **how)
        must_equal(report, table)
        return report

    def start(self, *command, options=(), **process_options):
        """bpftruss -c COMMAND …"""
        return self.add(Bpftruss, list(options) + list(command), **process_options)

    def run(self, *command, options=(), status=0):
        """The report of a command that bpftruss ran, and what that command printed."""
        bpftruss = self.start(*command, options=options)
        assert bpftruss.wait() == status, bpftruss.stderr()
        return Report(bpftruss.text()), bpftruss.stdout()

    def run_workload(self, name, *args, options=()):
        report, output = self.run(program(name), *args, options=options)
        return report, Table(output)

    def close(self):
        for process in reversed(self.processes):
            if process:
                process.close()


@pytest.fixture
def live(tmp_path):
    things = Live(tmp_path)
    yield things
    things.close()


@pytest.fixture(scope="module")
def live_together(tmp_path_factory):
    """The same for all tests of a file."""
    things = Live(tmp_path_factory.mktemp("together"))
    yield things
    things.close()
