# SPDX-License-Identifier: BSD-2-Clause
"""Questions that bpftruss is there to answer, asked of whole programs: a slow resolver, a JVM."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from harness import DEADLINE_S, need, slurp, until
from reports import SUMS, add_up, by, parse_csv


def answer_late(server):
    question, client = server.recvfrom(512)
    time.sleep(0.8)
    # A response with no such name.
    server.sendto(question[:2] + b"\x81\x83" + question[4:], client)


LOOKUP = """
import select, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.1", %d))
s.send(b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\4test\\0\\0\\1\\0\\1")
if %d:
    p = select.poll(); p.register(s, select.POLLIN); p.poll()
s.recv(512)
"""


@pytest.mark.parametrize("call", ["poll", "recvfrom"])
def test_the_time_of_a_slow_resolver_is_sleep_and_not_cpu(live, call):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(DEADLINE_S)
        resolver = threading.Thread(target=answer_late, args=[server])
        resolver.start()
        lookup = LOOKUP % (server.getsockname()[1], call == "poll")
        report, _ = live.run(sys.executable, "-c", lookup)
        resolver.join()
    names = ("poll", "ppoll") if call == "poll" else ("recvfrom",)
    (row,) = [row for row in report.rows if row["syscall"] in names]
    assert row["calls"] == 1
    # On a busy host the call may begin some time after the question was sent, and end after the answer.
    assert 0.45e9 < row["sleep_ns"] <= row["wall_ns"]
    assert row["wall_ns"] - row["sleep_ns"] - (row["runq_ns"] or 0) < 0.02e9
    assert report.sum("cpu_ns") < report.data["elapsed_ns"] - row["sleep_ns"]


CHURN = """
public class Churn {
    static Object kept;
    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        System.in.read();
        for (int i = 0; i < 12; i++) {
            Object[] chain = new Object[200000];
            for (int j = 0; j < chain.length; j++)
                chain[j] = new int[] { j };
            kept = chain;
            System.gc();
        }
        System.out.println("done");
        while (System.in.read() >= 0)
            ;
    }
}
"""


def test_the_gc_threads_of_a_jvm_have_rows_of_their_own(live, tmp_path):
    java, javac = need("java"), need("javac")
    (tmp_path / "Churn.java").write_text(CHURN)
    subprocess.run([javac, "-d", tmp_path, tmp_path / "Churn.java"], check=True)
    gc_threads = 3 * os.cpu_count() + 1
    options = ["-XX:+UseParallelGC", "-XX:ParallelGCThreads=%d" % gc_threads, "-Xmx64m"]
    options += ["-XX:-UseDynamicNumberOfGCThreads", "-cp", tmp_path]
    jvm = live.spawn(java, *options, "Churn", stdin=subprocess.PIPE)
    until(lambda: b"ready" in jvm.stdout(), "the JVM says ready")
    stop(jvm)  # its timers too: both count the same calls
    threads = live.attach(jvm.pid, "--csv", "--by", "pid,tid", json=False)
    whole = live.attach(jvm.pid, "--csv", "--by", "pid", json=False)
    jvm.signal(signal.SIGCONT)
    jvm.tell(b"g")
    until(lambda: b"done" in jvm.stdout(), "the JVM says done")
    stop(jvm)
    rows, (one,) = (parse_csv(each.stop_text()) for each in (threads, whole))
    names = {tid: slurp("/proc/%d/comm" % tid) for tid in jvm.threads()}
    workers = {tid for tid, name in names.items() if name.startswith(b"GC Thread")}
    counts = {int(tid): calls for (tid,), calls in by(rows, "tid").items() if tid}
    assert len(workers) == gc_threads > os.cpu_count()
    assert len([tid for tid in workers if counts.get(tid)]) > 2
    assert {f: add_up(rows, f) for f in SUMS[:4]} == {f: int(one[f]) for f in SUMS[:4]}


def stop(process):
    process.signal(signal.SIGSTOP)
    until(lambda: all(process.state(tid) == "T" for tid in process.threads()), "it stops")
