# SPDX-License-Identifier: BSD-2-Clause
"""
Clients as they should not be: too many, too slow, half a request, nonsense, without the right to
ask. Others are served meanwhile, memory stays bounded, and afterwards nothing is left of them.
FAULTS_REQUESTS says how many malformed requests there are (3000).
"""

import contextlib
import json
import os
import random
import resource
import socket

import pytest

from daemons import descriptors, many, memory_kib, must_be_below, start_daemon
from harness import run, until
from test_daemon import STRANGER, shared, status_as

__all__ = ["shared"]

CLIENTS = 1000
REQUESTS = many(3000, "FAULTS_REQUESTS")
SEED = many(0, "FAULTS_SEED") or random.randrange(1, 1 << 30)
GET = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def daemon(live, tmp_path):
    return start_daemon(live, tmp_path / "daemon", "-n", "crowd", "--interval", "1h")


@pytest.fixture(scope="module")
def calm_daemon(live_together, tmp_path_factory):
    """A daemon for questions that change nothing."""
    place = tmp_path_factory.mktemp("calm") / "daemon"
    return start_daemon(live_together, place, "-n", "crowd", "--interval", "1h")


def close_all(connections):
    for connection in connections:
        connection.close()


@pytest.fixture
def sockets():
    """Many connections at a time; all of them end with the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    opened = []
    yield opened
    close_all(opened)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connect(daemon):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(daemon.socket)
    return connection


def must_have_let_go(daemon, before):
    """The one client that is left is the one that asks."""
    until(lambda: daemon.status("clients", "connected") == 1, "it has let go of all clients")
    until(lambda: descriptors(daemon.pid) <= before, "descriptors are closed")


# --- many and slow -------------------------------------------------------------------------------


def test_a_thousand_clients_are_served_beside_slow_and_silent_ones(live, daemon, sockets):
    live.workload("crowd", 100).go()
    until(lambda: daemon.snapshot(lossy=True).rows, "something to tell")
    before, memory = descriptors(daemon.pid), memory_kib(daemon.pid)
    for number in range(CLIENTS):
        text = (b"", b"GET /v1/sta", GET % b"/v1/status", GET % b"/v1/snapshot")[number % 4]
        sockets.append(connect(daemon))
        sockets[-1].sendall(text)
        if number % 20 == 0:
            until(lambda: daemon.request("/v1/status")[0] == 200, "an answer")
    for path in ("/v1/status", "/v1/snapshot", "/metrics"):
        until(lambda: daemon.request(path)[0] == 200, "those who ask again are answered")
    assert daemon.verb("status")
    most = memory_kib(daemon.pid, "VmHWM")
    print("%d clients: %d KiB before, at most %d KiB" % (CLIENTS, memory, most))
    # Pending answers take at most 32 MiB together; a client and what it has sent, 16 KiB.
    must_be_below(most - memory, (32 << 10) + 16 * CLIENTS + (16 << 10))
    close_all(sockets)
    must_have_let_go(daemon, before)


@pytest.mark.waits
def test_clients_that_take_nothing_do_not_hold_up_others(live, daemon, sockets):
    """Answers of megabytes, of which nobody takes a byte: more than may be pending together."""
    live.workload("crowd", 1000).go()
    until(lambda: len(daemon.request("/v1/snapshot")[2]) > 4 << 20, "a large answer")
    size, before = len(daemon.request("/v1/snapshot")[2]), descriptors(daemon.pid)
    for _ in range((64 << 20) // size + 2):
        sockets.append(connect(daemon))
        sockets[-1].sendall(GET % b"/v1/snapshot")
    for _ in range(5):
        assert "exact" in daemon.verb("status")
        assert len(daemon.verb("snapshot", "--json")) > 4 << 20
    most = memory_kib(daemon.pid, "VmHWM")
    print("answers of %d KiB: at most %d KiB resident" % (size >> 10, most))
    must_be_below(most, 256 << 10)
    close_all(sockets)
    must_have_let_go(daemon, before)


def test_more_clients_than_there_may_be_wait_their_turn(daemon, sockets):
    before = descriptors(daemon.pid)
    for _ in range(1250):
        sockets.append(connect(daemon))
    close_all(sockets)
    assert daemon.status("schema") == 1
    must_have_let_go(daemon, before)


# --- nonsense ------------------------------------------------------------------------------------

GOOD = [
    b"/v1/status", b"/v1/snapshot?since=1000", b"/v1/snapshot?pid=1&name=x&unit=y.service",
    b"/v1/history?from=0&to=1&step=1000000000", b"/v1/baselines", b"/v1/baselines/monday",
    b"/v1/snapshot?mark=1&boot_id=x", b"/metrics", b"/v1/snapshot?from=1&to=2",
]
WORDS = [
    b"%00", b"%", b"%zz", b"\0", b"\r\n", b"\n", b" ", b"..", b"/../", b"?", b"&", b"=", b"#",
    b"-1", b"18446744073709551616", b"9" * 400, b"\xff\xfe", b"name=", b"x" * 3000, b"a=b&" * 70,
    b"Host: evil", b"Content-Length: 99999999999999999999", b"Transfer-Encoding: chunked\r\n",
    b"Expect: 100-continue\r\n", b"HTTP/9.9", b"Connection: upgrade\r\n", b"*", b"http://a/",
]


def malformed(chance):
    """A request that was fine, with some of it cut, doubled, replaced or turned round."""
    method = chance.choice([b"GET", b"PUT", b"DELETE", b"HEAD", b"POST", b"get", b""])
    text = bytearray(method + GET[3:] % chance.choice(GOOD))
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.randrange(12))
        kind = chance.randrange(5)
        if kind == 0:
            del text[at:end]
        elif kind == 1:
            text[at:at] = text[at:end] * chance.randrange(1, 30)
        elif kind == 2:
            text[at:end] = chance.choice(WORDS)
        elif kind == 3:
            text[at:end] = bytes(chance.randrange(256) for _ in range(end - at))
        elif at < len(text):
            text[at] ^= 1 << chance.randrange(8)
    return bytes(text)


LAST = b"\r\n\r\nGET /v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def put(daemon, text, half):
    """
    Returns what comes back until the daemon hangs up. Half a request is never ended: the client
    leaves; otherwise a good one follows, in case the daemon makes sense of the first.
    """
    answer = b""
    with connect(daemon) as connection, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(text if half else text + LAST)
        while not half and (part := connection.recv(65536)):
            answer += part
    return answer


def test_malformed_requests_leave_nothing_behind(live, daemon):
    print("FAULTS_SEED=%d" % SEED)
    chance = random.Random(SEED)
    live.workload("crowd", 3).go()
    daemon.verb("baseline", "list")
    before, memory, answered = descriptors(daemon.pid), 0, {}
    for number in range(REQUESTS):
        answer = put(daemon, malformed(chance), half=chance.random() < 0.2)
        status = answer[9:12].decode("latin-1")
        assert not answer or answer.startswith(b"HTTP/1."), answer[:200]
        answered[status] = answered.get(status, 0) + 1
        if number == REQUESTS // 4:
            memory = memory_kib(daemon.pid)
        if number % 500 == 0:
            assert daemon.status("schema") == 1
    print(answered, "%d KiB, then %d KiB" % (memory, memory_kib(daemon.pid)))
    assert not {"500", "502"} & set(answered), answered
    assert answered["400"] > REQUESTS // 20
    must_be_below(memory_kib(daemon.pid), memory + 4096)
    must_have_let_go(daemon, before)
    daemon.stop()


# --- without the right ---------------------------------------------------------------------------

PATHS = [
    "/metrics", "/v1/snapshot", "/v1/status", "/v1/history", "/v1/baselines", "/v1/baselines/x",
    "/debug/pprof/syscalls", "/", "/nothing", "/v2/status", "/v1/snapshot?pid=1", "/v1/baselines/",
]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_whoever_may_not_ask_gets_nothing_on_any_path(shared, method):
    """It does not even learn whether there is such a path."""
    os.chmod(shared.socket, 0o666)
    for path in PATHS:
        assert status_as(shared, path, method, **STRANGER) == "403", path


# --- verbs ---------------------------------------------------------------------------------------


@pytest.fixture
def odd_files(tmp_path, daemon):
    """Makes files that are no snapshots, by name."""
    good = daemon.verb("snapshot", "--json").encode()
    contents = {
        "empty": b"",
        "cut": good[: len(good) // 2],
        "garbage": bytes(random.Random(1).randrange(256) for _ in range(5000)),
        "deep": b"[" * 100000,
        "number": b"1",
        "other": b'{"schema": 1}',
        "future": good.replace(b'"schema":1', b'"schema":999'),
        "nul": b"\0" * 100,
    }
    files = {name: tmp_path / name for name in contents}
    for name, content in contents.items():
        files[name].write_bytes(content)
    files["directory"] = tmp_path
    files["fifo"] = tmp_path / "fifo"
    os.mkfifo(files["fifo"])
    files["zero"] = "/dev/zero"
    files["socket"] = daemon.socket
    return files


def test_files_that_are_no_snapshots_are_named_in_one_sentence(daemon, odd_files):
    for name, path in odd_files.items():
        word = os.path.basename(str(path))
        for arguments in (("snapshot", "--since", path), ("compare", path, "now"),
                          ("compare", "now", path)):
            said = daemon.refusal(*arguments)
            print(name, said, end="")
            assert word in said and len(said) > 30


@pytest.mark.parametrize("arguments, word", [
    (("snapshot", "--since", "99999999999999999999d"), "--since"),
    (("snapshot", "--since", "5m5"), "--since"),
    (("snapshot", "--since", ""), "--since"),
    (("snapshot", "--since"), "--since"),
    (("snapshot", "-p", "-1"), "-1"),
    (("snapshot", "-p", "99999999999"), "99999999999"),
    (("snapshot", "--top", "-3"), "top"),
    (("history", "--step", "0"), "step"),
    (("history", "--step", "-1m"), "step"),
    (("history", "--step", "1d1"), "step"),
    (("history", "--from", "tomorrow-ish"), "--from"),
    (("history", "--from", "5m", "--to", "10m ago"), "--from"),
    (("history", "--from", "400d", "--step", "1s"), "10000"),
    (("history", "extra"), "extra"),
    (("history", "-p", "1"), "pids"),
    (("baseline",), "baseline"),
    (("baseline", "save"), "save"),
    (("baseline", "save", "a", "b"), "b"),
    (("baseline", "save", "a/b"), "a/b"),
    (("baseline", "save", "\x1b[31m"), "name"),
    (("baseline", "save", "-x"), "x"),
    (("baseline", "rm", "none"), "none"),
    (("baseline", "dance"), "save NAME"),
    (("compare", "now"), "compare"),
    (("compare", "now", "now", "now"), "now"),
    (("compare", "now", "5m", "--fail-over", "-3%"), "--fail-over"),
    (("compare", "now", "5m", "--fail-over", "nan%"), "--fail-over"),
    (("compare", "\x1b[31m", "now"), "31m"),
    (("compare", "./none.json", "now"), "./none.json"),
    (("compare", "now", "none"), "none"),
    (("status", "extra"), "extra"),
    (("status", "--socket", "/" + "x" * 200), "107"),
])  # fmt: skip
def test_odd_words_are_refused_in_one_sentence(calm_daemon, arguments, word):
    sentence = calm_daemon.refusal(*arguments)
    print(sentence, end="")
    assert word in sentence and len(sentence) > 30 and "\x1b" not in sentence


def test_spans_of_which_nothing_is_known_are_said_to_be_so(daemon):
    """Huge ones, future ones, and an empty history."""
    for arguments in (("--since", "36500d"), ("--since", "1s"), ("--since", "BOOT")):
        result = run("snapshot", "--socket", daemon.socket, *arguments)
        assert result.returncode == 0 or result.stderr.count("\n") == 1, result.stderr
    for arguments in (
        ("--from", "@4102444800", "--to", "@4102448400"),
        ("--from", "@1", "--to", "@2", "--step", "all"),
        ("--json", "--step", "all"),
        (),
    ):
        result = run("history", "--socket", daemon.socket, *arguments)
        assert result.returncode == 0 or result.stderr.count("\n") == 1, result.stderr
        print(arguments, result.returncode, result.stdout[:300], result.stderr)
        if "--json" in arguments:
            assert json.loads(result.stdout)["steps"] is not None
