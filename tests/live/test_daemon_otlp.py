# SPDX-License-Identifier: BSD-2-Clause
"""
What the daemon pushes to a collector: values that are those of reports, by TLS and with a token;
what an outage, a full queue and a restart lose; and mistakes in the configuration. OTELCOL=PATH
names a real collector with the receiver otlp and the exporter otlphttp, for the last test.
"""

import os
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest

from daemons import start_daemon
from harness import BPFTRUSS, Process, need_unshare, run, until, write
from otlp import Collector
from prometheus import port_free
from test_daemon_tls import Files, TOKEN

EVERYTHING = ["--metrics-histograms", "all", "--metrics-series", 10000]


@pytest.fixture
def files(tmp_path):
    made = Files(tmp_path)
    made.write("headers", "# who we are\nAuthorization: Bearer %s\n" % TOKEN)
    return made


@pytest.fixture
def start_collector():
    """Starts a collector, at whose end nothing may have been wrong."""
    started = []

    def start(*words, **options):
        started.append(Collector(*words, **options))
        return started[-1]

    yield start
    for collector in started:
        collector.close()


def push_to(live, place, endpoint, *options):
    return start_daemon(live, place, "-n", "pace", "--otlp-interval", 1, "--otlp-endpoint",
                        endpoint, *options)  # fmt: skip


def wait_pushed(daemon, collector, count=1):
    """Until so many more requests with metrics were taken that were made from now on."""
    since_ns = time.time_ns()

    def pushed():
        assert collector.faults == [], collector.faults
        times = {request.points[0].time_ns for request in collector.metrics()}
        return len([at for at in times if at > since_ns]) >= count

    until(pushed, "a push of %s" % daemon.status("otlp"))


def by_call(report, field):
    sums = {}
    for row in report.rows:
        if row[field]:
            sums[row["syscall"]] = sums.get(row["syscall"], 0) + row[field]
    return sums


def must_equal_report(request, report):
    """All that is in a report is in a request: calls, errors, time and buckets."""
    assert request.total("bpftruss.syscalls", "syscall.name") == by_call(report, "calls")
    assert sum(request.total("bpftruss.syscall.errors").values()) == report.sum("errors")
    timed = {row["syscall"] for row in report.rows if row["histogram"]}
    durations = request.histograms()
    for call in timed:
        rows = [row for row in report.rows if row["syscall"] == call]
        count, seconds = durations[call]
        assert count == sum(n for row in rows for _, _, n in row["histogram"])
        assert seconds == pytest.approx(sum(row["wall_ns"] for row in rows) / 1e9, rel=1e-12)


# --- values --------------------------------------------------------------------------------------


def test_pushed_values_are_those_of_reports(live, tmp_path, files, start_collector):
    collector = start_collector(files, TOKEN)
    daemon = push_to(live, tmp_path / "daemon", collector.endpoint + "/", *EVERYTHING,
                     "--otlp-ca", files["ca.pem"], "--otlp-headers", files["headers"],
                     "--otlp-attribute", "deployment.environment.name=test",
                     "--metrics-by", "comm")  # fmt: skip
    live.play("pace", 20)
    wait_pushed(daemon, collector, 2)
    last = collector.metrics()[-1]
    must_equal_report(last, daemon.snapshot())
    assert last.total("bpftruss.syscall.errors", "error.type")["EBADF"] >= 20
    assert {point.service for point in last.points} >= {"pace", "bpftruss"}
    assert last.temporalities == {None, 2}
    assert last.headers["User-Agent"].startswith("bpftruss/")
    for resource in last.resources:
        assert resource["host.name"] == socket.gethostname()
        assert resource["os.type"] == "linux"
        assert resource["deployment.environment.name"] == "test"
    # Events, and what the daemon says of itself.
    ((_, text, _),) = collector.events("bpftruss.start")
    assert "clients ask at" in text
    assert last.total("bpftruss.otlp_sent")[None] > 0
    said = daemon.status("otlp")
    assert said["sent"] >= 3 and said["trouble"] is None and said["endpoint"].startswith("https")
    assert "requests sent" in daemon.verb("status")
    assert "bpftruss_otlp_dropped_total 0" in daemon.request("/metrics")[2].decode()


def post_once(files, collector, ca):
    """The HTTP status that the child that sends gets, 0 if none, where the system trusts stranger-ca."""
    system, queue = files["system"], files["queue"]
    os.mkdir(system)
    os.mkdir(queue)
    shutil.copy(files["stranger-ca.pem"], system)
    files.openssl("rehash", system)
    # Some versions of libcurl look for a certificate only in here.
    shutil.copy(files["stranger-ca.pem"], os.path.join(system, "ca-certificates.crt"))
    write(os.path.join(queue, "1.logs.json"), '{"resourceLogs": []}')
    script = 'mount --bind "$1" /etc/ssl/certs && exec "$2" --otlp-post "$3" "" "$4" 1.logs.json <"$5"'
    words = [system, BPFTRUSS, collector.endpoint, ca, queue]
    said = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *words],
                          check=True, capture_output=True).stdout  # fmt: skip
    return struct.unpack_from("I", said)[0]


@pytest.mark.parametrize("ca, status", [("", 200), ("ca.pem", 0)])
def test_a_ca_replaces_those_of_the_system(files, start_collector, ca, status):
    need_unshare("--mount")
    files.issue("server", "stranger-ca", "serverAuth")
    collector = start_collector(files)
    collector.answer = lambda path: (200, {}, b"{}")
    assert post_once(files, collector, files[ca] if ca else "") == status


# --- what goes wrong -----------------------------------------------------------------------------


def test_an_outage_loses_nothing(live, tmp_path, start_collector):
    """Each delta would be missed. There is no collector at first, then a busy one."""
    port = port_free()
    daemon = push_to(live, tmp_path / "daemon", "http://127.0.0.1:%d/in/front" % port, *EVERYTHING,
                     "--otlp-temporality", "delta")  # fmt: skip
    live.play("pace", 20)
    until(lambda: daemon.status("otlp")["failed"], "a failure")
    assert "Connection refused" in daemon.status("otlp", "trouble")
    soon = {"Retry-After": "1"}
    answers = [(503, soon, b"busy"), (429, soon, b""), (401, soon, b"who are you?"),
               (401, soon, b"who?"), (307, {**soon, "Location": "/elsewhere"}, b""),
               (200, {}, b'{"partialSuccess": {"rejectedDataPoints": "7", "errorMessage": "no"}}'),
               (400, {}, b"no such thing"), (202, {}, b""),
               # It says that there is more to come, but then breaks off.
               (200, {"Content-Length": "100"}, b"{")]  # fmt: skip

    def answer(path):
        # Only events are refused: of metrics all have to come.
        if answers and (answers[0][0] != 400 or path.endswith("logs")):
            return answers.pop(0)
        return 200, {}, b"{}"

    collector = start_collector(port=port, prefix="/in/front", answer=answer)
    until(lambda: not answers, "all answers")
    live.play("pace", 20)
    wait_pushed(daemon, collector)
    until(lambda: daemon.status("otlp", "queued") == 0, "an empty queue")
    report = daemon.snapshot()
    taken = collector.metrics()
    assert {2} & set().union(*(request.temporalities for request in taken)) == set()
    calls = sum((request.total("bpftruss.syscalls", "syscall.name") for request in taken),
                start=type(taken[0].total(""))())  # fmt: skip
    assert calls == by_call(report, "calls")
    errors = sum(sum(request.total("bpftruss.syscall.errors").values()) for request in taken)
    assert errors == report.sum("errors") >= 40
    said = daemon.status("otlp")
    assert said["rejected"] == 7 and said["refused"] == 1 and said["dropped"] == 0
    assert "7 points or records were rejected: no" in daemon.stderr()
    assert "a request was refused: status 400: no such thing" in daemon.stderr()
    assert "can be pushed to again" in daemon.stderr()
    # Each says once what to do.
    assert daemon.stderr().count("status 401: put headers that the collector accepts") == 1
    assert daemon.stderr().count("status 307: set otlp-endpoint to where the collector is") == 1


def test_a_queue_is_bounded_and_outlives_the_daemon(live, tmp_path, start_collector):
    collector = start_collector()
    collector.answer = lambda path: (503, {"Retry-After": "1"}, b"")
    place = tmp_path / "daemon"
    options = ["--otlp-queue", "64K", "--interval", 1, "--otlp-attribute", "pad=" + "x" * 8000]
    daemon = push_to(live, place, collector.endpoint, *options)
    daemon.wait_intervals(1)
    until(lambda: daemon.status("otlp", "dropped"), "a request that is dropped")
    said = daemon.status("otlp")
    assert 0 < said["queued_bytes"] <= said["max_bytes"] == 65536
    assert "dropped" in daemon.verb("status") and "wait" in daemon.verb("status")
    daemon.stop()
    queue = place / "state" / "otlp"
    left = {path.name: path.stat() for path in queue.iterdir()}
    assert sum(status.st_size for status in left.values()) <= 65536
    assert all(status.st_mode & 0o777 == 0o600 for status in left.values())
    # Files that are no requests stay as they are.
    write(str(queue / "note.txt"), "x")
    collector.answer = lambda path: (200, {}, b"{}")
    daemon = push_to(live, place, collector.endpoint, *options)
    wait_pushed(daemon, collector)
    until(lambda: daemon.status("otlp", "queued") == 0, "an empty queue")
    assert sorted(path.name for path in queue.iterdir()) == ["endpoint", "note.txt"]
    names = [name for name, _, _ in collector.events()]
    assert names.count("bpftruss.stop") == 1
    assert names.index("bpftruss.stop") < names.index("bpftruss.start")
    assert any("oldest requests are dropped" in text
               for _, text, _ in collector.events("bpftruss.push.dropped"))  # fmt: skip
    ((_, text, found),) = collector.events("bpftruss.gap")
    assert "no daemon ran" in text and found["gap.start_unix_nano"] > 0


def waiting(queue):
    """Files of requests, the oldest first."""
    return sorted(path for path in queue.iterdir() if path.suffix == ".json")


def test_a_file_that_is_lost_holds_nobody_up(live, tmp_path, start_collector):
    """Neither one that was removed nor one that cannot be sent, as it has grown too large."""
    collector = start_collector()
    collector.answer = lambda path: (503, {"Retry-After": "1"}, b"")
    daemon = push_to(live, tmp_path / "daemon", collector.endpoint)
    queue = tmp_path / "daemon" / "state" / "otlp"
    until(lambda: len(waiting(queue)) >= 3, "requests that wait")
    # The oldest may be on its way already.
    gone, large = waiting(queue)[1:3]
    gone.unlink()
    os.truncate(large, (64 << 20) + 1)
    collector.answer = lambda path: (200, {}, b"{}")
    wait_pushed(daemon, collector)
    until(lambda: daemon.status("otlp", "queued") == 0, "an empty queue")
    assert daemon.status("otlp", "dropped") == 2 and not large.exists()
    for path, why in ((gone, "No such file or directory"), (large, "File too large")):
        assert "a request was dropped: cannot read %s: %s" % (path.name, why) in daemon.stderr()


def test_a_request_that_was_sent_was_not_dropped(live, tmp_path, start_collector):
    """If there is no room for it any more while the collector takes it."""
    room = threading.Event()
    collector = start_collector()
    collector.answer = lambda path: (200, {}, b"{}") if room.wait(15) else (503, {}, b"")
    daemon = push_to(live, tmp_path / "daemon", collector.endpoint, "--otlp-queue", "64K",
                     "--otlp-attribute", "pad=" + "x" * 8000)  # fmt: skip
    queue = tmp_path / "daemon" / "state" / "otlp"
    until(lambda: waiting(queue), "a request")
    first = waiting(queue)[0]
    until(lambda: not first.exists(), "it is dropped")
    room.set()
    until(lambda: daemon.status("otlp", "sent") == len(collector.taken), "all that was taken counts")


def test_a_collector_that_says_nothing_holds_nobody_up(live, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        daemon = push_to(live, tmp_path / "daemon", "http://127.0.0.1:%d" % silent.getsockname()[1])
        connection, _ = silent.accept()
        assert connection.recv(1)
        live.play("pace", 1)
        until(lambda: daemon.status("otlp", "queued") >= 3, "further requests")
        assert daemon.snapshot().sum("calls") >= 12
        daemon.stop()
        connection.close()


REMOVED = "%d requests of an earlier daemon were removed unsent: otlp-endpoint is %s"


def test_no_collector_gets_what_another_one_was_to_get(live, tmp_path, start_collector):
    collector = start_collector()
    place = tmp_path / "daemon"
    port = port_free()

    def leave():
        daemon = push_to(live, place, "http://127.0.0.1:%d" % port)
        daemon.stop()
        return len(waiting(place / "state" / "otlp"))

    left = leave()
    assert left >= 2
    daemon = push_to(live, place, collector.endpoint)
    assert REMOVED % (left, "another") in daemon.stderr()
    wait_pushed(daemon, collector)
    until(lambda: collector.events("bpftruss.start"), "its start is told")
    assert len(collector.events("bpftruss.start")) == 1
    daemon.stop()
    left = leave()
    daemon = start_daemon(live, place, "-n", "none")
    assert REMOVED % (left, "not set") in daemon.stderr()
    assert waiting(place / "state" / "otlp") == []


def test_without_an_endpoint_there_is_nothing(live, tmp_path):
    daemon = start_daemon(live, tmp_path / "daemon", "-n", "none")
    assert daemon.status("otlp") is None
    assert "otlp" not in daemon.verb("status")
    assert b"otlp" not in daemon.request("/metrics")[2]
    assert not (tmp_path / "daemon" / "state" / "otlp").exists()


# --- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("words, sentence", [
    (["--otlp-ca", "/dev/null"], "--otlp-ca needs --otlp-endpoint"),
    (["--otlp-headers", "/dev/null"], "--otlp-headers needs --otlp-endpoint"),
    (["--otlp-endpoint", "localhost:4318"], "is not the base URL of a collector"),
    (["--otlp-endpoint", "http://me:secret@localhost:4318"], "belongs in --otlp-headers"),
    (["--otlp-endpoint", "http://web.example:4318", "--otlp-headers", "HEADERS"],
     "could be read on the way to http://web.example:4318: use https"),
    (["--otlp-endpoint", "https://web.example", "--otlp-ca", "/nothing"],
     "--otlp-ca: cannot read /nothing: No such file"),
    (["--otlp-interval", "0.5"], "is not from a second to an hour"),
    (["--otlp-temporality", "both"], "is none of cumulative, delta"),
    (["--otlp-attribute", "x"], "is not one of up to 32 attributes"),
    (["--otlp-queue", "1K"], "is not a size from 64K to 1G"),
])  # fmt: skip
def test_a_mistake_is_one_sentence(tmp_path, words, sentence):
    path = str(tmp_path / "headers")
    write(path, "X: y\n")
    os.chmod(path, 0o600)
    must_refuse([path if word == "HEADERS" else word for word in words], sentence)


def must_refuse(words, sentence):
    result = run("daemon", "--check-config", "--config", "/dev/null", *words)
    assert result.returncode in (1, 2) and not result.stdout
    assert sentence in result.stderr and result.stderr.count("\n") == 1, result.stderr


@pytest.mark.parametrize("text, mode, sentence", [
    ("", 0o644, "others may read or change %s: chmod 600 or 640 it"),
    ("Authorization: x\nno header\n", 0o600, "line 2 of %s is not a header"),
    ("Content-Type: text/plain\n", 0o600, "line 1 of %s is not a header"),
    ("X: a\rb\n", 0o600, "line 1 of %s is not a header"),
    (None, 0, "cannot read %s: No such file or directory"),
])  # fmt: skip
def test_a_mistake_in_the_headers_is_one_sentence(tmp_path, text, mode, sentence):
    path = str(tmp_path / "headers")
    if text is not None:
        write(path, text)
        os.chmod(path, mode)
    must_refuse(["--otlp-endpoint", "http://localhost:4318", "--otlp-headers", path],
                "--otlp-headers: " + sentence % path)  # fmt: skip


# --- a real collector ----------------------------------------------------------------------------

COLLECTOR = """\
receivers: {otlp: {protocols: {http: {endpoint: '127.0.0.1:%d'}}}}
exporters:
  otlphttp:
    endpoint: %s
    encoding: json
    compression: none
    sending_queue: {enabled: false}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [otlp], exporters: [otlphttp]}
    logs: {receivers: [otlp], exporters: [otlphttp]}
"""


def test_a_real_collector_takes_it(live, tmp_path, start_collector):
    """It passes on what it has understood, in its own words; OTLP_PUSHES times, 3 by default."""
    if not os.environ.get("OTELCOL"):
        pytest.skip("no OTELCOL=PATH of an OpenTelemetry collector")
    port = port_free()
    behind = start_collector()
    config = str(tmp_path / "config.yaml")
    write(config, COLLECTOR % (port, behind.endpoint))
    live.add(Process, [os.environ["OTELCOL"], "--config", config])
    until(lambda: not socket.socket().connect_ex(("127.0.0.1", port)), "the collector listens")
    daemon = push_to(live, tmp_path / "daemon", "http://127.0.0.1:%d" % port, *EVERYTHING)
    live.play("pace", 20)
    wait_pushed(daemon, behind, int(os.environ.get("OTLP_PUSHES", 3)))
    must_equal_report(behind.metrics()[-1], daemon.snapshot())
    said = daemon.status("otlp")
    assert (said["refused"], said["rejected"], said["dropped"]) == (0, 0, 0), said
    assert behind.events("bpftruss.start")
