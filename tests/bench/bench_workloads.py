# SPDX-License-Identifier: BSD-2-Clause
"""The programs that the benchmark measures, and what it knows of the processes of the machine."""
import contextlib
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

# Batches of half a millisecond: most of them see no timer tick.
BATCHES, BATCH_US = 100, 500
READY_SECONDS, STOP_SECONDS = 30, 20
WORKERS = 4


class BenchError(Exception):
    """Says in one sentence what keeps the benchmark from going on."""


class ToolError(Exception):
    """Says what keeps one tool from being measured: it stands in the tool's row."""


def program_missing(name):
    return None if shutil.which(name) else f"{name} is not installed"


@contextlib.contextmanager
def running(argv, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, stop=signal.SIGINT,
            **options):
    """A process that is gone when the block is left, however it is left."""
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr,
                               start_new_session=True, **options)
    try:
        yield process
    finally:
        with contextlib.suppress(OSError):
            process.stdin.close()
        if process.poll() is None:
            process.send_signal(stop)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until(reached, otherwise, error=BenchError, seconds=READY_SECONDS):
    """Polls, and raises the error when that takes too long."""
    deadline = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > deadline:
            raise error(otherwise)
        time.sleep(0.02)


def children(parent):
    return sorted(map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split()))


def tracers():
    """Processes that have BPF programs attached which trace the kernel."""
    found = set()
    for info in glob.glob("/proc/[0-9]*/fdinfo/*"):
        with contextlib.suppress(OSError):
            if re.search(r"^link_type:\s*(raw_tracepoint|tracing|perf|kprobe)",
                         Path(info).read_text(), re.M):
                found.add(int(info.split("/")[2]))
    return found


class Loop:
    """A program of tests/bench that measures itself on request, and says its pids first."""

    def __init__(self, stack, *argv):
        self.process = stack.enter_context(running(argv, stdout=subprocess.PIPE, stderr=None))
        self.pids = [int(pid) for pid in self.process.stdout.readline().split()]
        if not self.pids:
            raise BenchError(f"{argv[0]} does not start")

    def measure(self, threads=1, batches=BATCHES):
        """Nanoseconds a repetition: the median of the batches."""
        self.process.stdin.write(f"{threads} {batches} {BATCH_US}\n".encode())
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            raise BenchError("a measured program has ended")
        return float(answer[0])


APACHE_CONFIG = """
ServerRoot {dir}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {dir}/pid
ErrorLog {dir}/error.log
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
LoadModule authz_core_module {modules}/mod_authz_core.so
User www-data
Group www-data
StartServers {workers}
MinSpareServers {workers}
MaxSpareServers {workers}
MaxRequestWorkers {workers}
DocumentRoot {dir}/www
"""


class Apache:
    """An Apache on a free port of loopback, with as many workers as ab has connections."""

    def __init__(self, stack, requests):
        root = stack.enter_context(tempfile.TemporaryDirectory(prefix="bpftruss-bench-"))
        os.chmod(root, 0o755)
        Path(root, "www").mkdir()
        Path(root, "www/index.html").write_text("x" * 1000)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        config = Path(root, "apache.conf")
        config.write_text(APACHE_CONFIG.format(dir=root, port=port, workers=WORKERS,
                                               modules="/usr/lib/apache2/modules"))
        self.requests, self.url = requests, f"http://127.0.0.1:{port}/index.html"
        self.process = stack.enter_context(
            running(["apache2", "-f", str(config), "-DFOREGROUND"], stop=signal.SIGTERM))
        wait_until(lambda: len(children(self.process.pid)) == WORKERS, "Apache does not start")
        self.pids = [self.process.pid, *children(self.process.pid)]
        self.measure()

    @staticmethod
    def missing():
        return program_missing("apache2") or program_missing("ab")

    def measure(self):
        """Requests per second and the servers' CPU time in microseconds for one request. The time
        limit is for the slowest tools."""
        cpu_ns = self.cpu_ns()
        run = subprocess.run(["ab", "-q", "-t", "2", "-n", str(self.requests), "-c", str(WORKERS),
                              self.url], capture_output=True, text=True, timeout=60)
        rate = re.search(r"Requests per second:\s+([\d.]+)", run.stdout)
        done = re.search(r"Complete requests:\s+(\d+)", run.stdout)
        if not rate or not done:
            raise BenchError(f"ab: {run.stderr.strip()}")
        return float(rate[1]), (self.cpu_ns() - cpu_ns) / 1000 / int(done[1])

    def cpu_ns(self):
        return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in self.pids)
