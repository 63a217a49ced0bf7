# SPDX-License-Identifier: BSD-2-Clause
"""
/debug/pprof/syscalls: profiles of call stacks over the socket and over TCP, as go tool pprof, Parca
and Pyroscope ask for them.
"""

import base64
import contextlib
import gzip
import json
import os
import subprocess
import urllib.error
import urllib.request

import pytest

from daemons import start_daemon, tick, unix_connection
from harness import need, run, until, write
from prometheus import port_free

PATH = "/debug/pprof/syscalls"
USER, TOKEN = "prom:pass", "s3cret-token"
MANY = 8  # answers that a server puts off at a time


def fields(message):
    """(number, value) of a message: integers, and the bytes of all else."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        assert key & 7 in (0, 2)
        value = varint()
        if key & 7:
            at, value = at + value, message[at:at + value]
        yield key >> 3, value


class Profile:
    """A profile, read by the field numbers of profile.proto."""

    def __init__(self, body):
        parts = list(fields(gzip.decompress(body)))
        texts = [value.decode() for number, value in parts if number == 6]
        kinds = [dict(fields(value)) for number, value in parts if number == 1]
        self.types = [(texts[kind[1]], texts[kind[2]]) for kind in kinds]
        self.samples = [self.values(value) for number, value in parts if number == 2]
        self.functions = {texts[dict(fields(value))[2]] for number, value in parts if number == 5}
        numbers = {number: value for number, value in parts if isinstance(value, int)}
        self.start_ns, self.elapsed_ns, self.period = numbers[9], numbers[10], numbers[12]

    def values(self, sample):
        (packed,) = [value for number, value in fields(sample) if number == 2]
        # Each is a varint: those of a message with a key in front of each.
        return [value for _, value in fields(b"".join(b"\x08" + one for one in varints(packed)))]

    def total(self, which):
        return sum(sample[which] for sample in self.samples)


def varints(packed):
    """Splits packed numbers."""
    one = b""
    for byte in packed:
        one += bytes([byte])
        if byte < 0x80:
            yield one
            one = b""


@pytest.fixture(scope="module", name="daemon")
def shared_daemon(live_together, tmp_path_factory):
    """One that takes stacks, for all tests that leave it as it is; its port is daemon.port."""
    place = tmp_path_factory.mktemp("profiles")
    secrets = str(place / "secrets")
    write(secrets, "%s\n%s\n" % (TOKEN, USER))
    os.chmod(secrets, 0o600)
    port = port_free()
    daemon = start_daemon(live_together, place / "daemon", "--stacks", "-n", "pace", "--listen",
                          "127.0.0.1:%d" % port, "--listen-auth", secrets,
                          "--listen-profiles")  # fmt: skip
    daemon.port = port
    return daemon


def ask(daemon, query=""):
    status, headers, body = daemon.request(PATH + query)
    assert status == 200, body
    assert headers["Content-Type"] == "application/octet-stream"
    return Profile(body)


def test_a_profile_has_all_calls(live, daemon):
    target = live.play("pace", 100)
    of_it = "?pid=%d" % target.pid
    until(lambda: "main" in ask(daemon, of_it).functions, "named frames")
    profile, whole = ask(daemon, of_it), daemon.snapshot("-p", target.pid)
    assert profile.types == [("calls", "count"), ("wall", "nanoseconds"), ("cpu", "nanoseconds"),
                             ("errors", "count")]  # fmt: skip
    assert profile.total(0) == whole.sum("calls") > 1000
    assert profile.total(1) == whole.sum("wall_ns")
    assert profile.total(3) == whole.sum("errors") == 100
    assert ask(daemon).total(0) >= profile.total(0)
    # Parts of it.
    assert ask(daemon, of_it + "&trace=getppid").total(0) == 1000
    assert ask(daemon, "?name=other").samples == []


def test_a_profile_of_seconds_has_what_comes_in_them(live, daemon):
    live.play("pace", 20)
    target = live.workload("pace", 0, "busy")
    target.go()
    before = daemon.snapshot()
    with contextlib.closing(unix_connection(daemon.socket)) as connection:
        connection.request("GET", PATH + "?seconds=1&pid=%d" % target.pid)
        # Nobody else has to wait.
        assert daemon.get("/v1/status")["clients"]["connected"] >= 1
        answer = connection.getresponse()
        assert answer.status == 200
        profile = Profile(answer.read())
    after = daemon.snapshot()
    assert 0 < profile.total(0) <= after.sum("calls") - before.sum("calls")
    assert profile.elapsed_ns >= 1_000_000_000
    assert profile.start_ns > 0


def sentence_of(daemon, query):
    """Status and sentence of a refusal, in the form that go tool pprof shows."""
    status, headers, body = daemon.request(PATH + query)
    assert headers["X-Go-Pprof"] == "1" and headers["Content-Type"].startswith("text/plain")
    return status, json.loads(body)["error"]


def test_wrong_questions_have_one_sentence(daemon):
    for query in ("seconds=301", "seconds=-1", "seconds=1s", "seconds=1&seconds=2", "debug=1",
                  "trace=nothing"):  # fmt: skip
        assert sentence_of(daemon, "?" + query)[0] == 400, query
    assert daemon.request(PATH, "PUT")[0] == 405


def test_profiles_at_a_time_are_limited(daemon):
    with contextlib.ExitStack() as stack:
        for _ in range(MANY):
            connection = stack.enter_context(contextlib.closing(unix_connection(daemon.socket)))
            connection.request("GET", PATH + "?seconds=300")
        until(lambda: sentence_of(daemon, "?seconds=300")[0] == 503, "a refusal")
        status, headers, _ = daemon.request(PATH + "?seconds=300")
        assert status == 503 and headers["Retry-After"] == "1"
        # A profile that need not wait is answered.
        assert ask(daemon, "?name=other").samples == []
    # Those who have left make room.
    until(lambda: daemon.request(PATH + "?seconds=1")[0] == 200, "room for one more")


def over_tcp(port, **headers):
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, PATH), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def go_pprof(directory, *words):
    go = need("go", path="/usr/local/go/bin:/usr/lib/go/bin")
    environment = dict(os.environ, PPROF_TMPDIR=str(directory))
    return subprocess.run([go, "tool", "pprof", *words], capture_output=True, text=True,
                          env=environment, timeout=300)  # fmt: skip


def test_over_tcp_for_those_who_say_who_they_are(live, daemon):
    target = live.play("pace", 1)
    assert over_tcp(daemon.port)[0] == 401
    status, body = over_tcp(daemon.port, Authorization="Bearer " + TOKEN)
    assert status == 200 and Profile(body).total(0) >= 12, target


@pytest.mark.parametrize("who", ["Bearer " + TOKEN, "Basic " + base64.b64encode(USER.encode()).decode()])
def test_as_pyroscope_and_parca_ask(live, daemon, who):
    """With `delta`: for a second less than their interval. Whatever is labelled as compressed they would unpack."""
    address = "http://127.0.0.1:%d%s?seconds=1" % (daemon.port, PATH)
    request = urllib.request.Request(address, headers={"Authorization": who, "Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200 and "Content-Encoding" not in answer.headers
        profile = Profile(answer.read())
    assert profile.elapsed_ns >= 1_000_000_000 and profile.period == 1


def test_go_scrapes_it(live, daemon, tmp_path):
    target = live.play("pace", 100)
    query = "?pid=%d" % target.pid
    until(lambda: "main" in ask(daemon, query).functions, "named frames")
    address = "http://%s@127.0.0.1:%d%s%s" % (USER, daemon.port, PATH, query)
    top = go_pprof(tmp_path, "-top", "-sample_index=errors", address)
    assert "Showing nodes accounting for 100, 100% of 100 total" in top.stdout, top
    raw = go_pprof(tmp_path, "-raw", "-seconds=1", address)
    assert "calls/count[dflt] wall/nanoseconds cpu/nanoseconds errors/count" in raw.stdout, raw
    # A refusal is seen with its reason.
    refused = go_pprof(tmp_path, "-top", address + "&trace=nothing")
    assert refused.returncode and "400" in refused.stderr and "nothing" in refused.stderr


def test_without_stacks_or_permission_there_are_none(live, tmp_path):
    port = port_free()
    daemon = start_daemon(live, tmp_path / "daemon", "-n", "none", "--listen",
                          "127.0.0.1:%d" % port)  # fmt: skip
    status, sentence = sentence_of(daemon, "?seconds=1")
    assert status == 410 and "takes no call stacks: set 'stacks = yes'" in sentence
    status, body = over_tcp(port)
    assert status == 403 and b"set 'listen-profiles = yes'" in body


def test_a_reload_lets_nobody_in(live, tmp_path):
    """The daemon goes on to ask nobody who he is, so it serves no profiles, and takes no stacks."""
    port = port_free()
    path, secrets = str(tmp_path / "conf"), str(tmp_path / "secrets")
    write(secrets, TOKEN + "\n")
    os.chmod(secrets, 0o600)
    listen = "[metrics]\nlisten = 127.0.0.1:%d\n" % port
    write(path, listen)
    daemon = start_daemon(live, tmp_path / "daemon", "--config", path, "-n", "none")
    write(path, listen + "listen-auth = %s\nlisten-profiles = yes\nlisten-reports = yes\n"
          "[tables]\nstacks = yes\n" % secrets)  # fmt: skip
    tick(daemon)
    for headers in ({}, {"Authorization": "Bearer " + TOKEN}):
        assert over_tcp(port, **headers)[0] == 403
    status, sentence = sentence_of(daemon, "?seconds=1")
    assert status == 410 and "takes no call stacks" in sentence
    assert "takes no call stacks" in daemon.refusal("snapshot", "--stacks")


def test_strangers_get_no_profiles(tmp_path):
    for words, sentence in (
        (["--listen-profiles"], "--listen-profiles needs --listen"),
        (["--listen-profiles", "--listen", "127.0.0.1:9477"],
         "anybody who can connect to 127.0.0.1:9477 would see the processes of all users"),
    ):  # fmt: skip
        result = run("daemon", "--check-config", "--config", "/dev/null", *words)
        assert result.returncode == 2 and sentence in result.stderr
        assert result.stderr.count("\n") == 1
