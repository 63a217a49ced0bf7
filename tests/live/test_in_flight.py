# SPDX-License-Identifier: BSD-2-Clause
"""What --in-flight says of threads that wait for something known: call, file, peer, holder of a lock."""

import fcntl
import glob
import json
import os
import re
import signal
import subprocess
import sys

import pytest
from harness import Process, run, slurp, until

# Each thread waits for one thing for ever; it prints a line once all do.
WAITING = """
import ctypes, fcntl, os, socket, sys, threading, time
libc = ctypes.CDLL(None)
path = sys.argv[1]
pipe, pair = os.pipe(), socket.socketpair()
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
client = socket.create_connection(server.getsockname())
held, wanted = open(path, "w"), open(path, "w")
fcntl.flock(held, fcntl.LOCK_EX)
lock = threading.Lock()
lock.acquire()
waits = {
    "pipe": lambda: os.read(pipe[0], 1),
    "unix": lambda: pair[0].recv(1),
    "tcp": lambda: client.recv(1),
    "accept": lambda: (server.accept(), server.accept()),
    "flock": lambda: fcntl.flock(wanted, fcntl.LOCK_EX),
    "futex": lock.acquire,
    "nap": lambda: time.sleep(1000),
}
for name, wait in waits.items():
    def work(name=name, wait=wait):
        libc.prctl(15, name.encode())
        wait()
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print(os.getpid(), client.getsockname()[1], server.getsockname()[1], flush=True)
threading.Event().wait()
"""


def is_asleep(pid):
    """Whether each of its threads sleeps."""
    stats = [slurp(path) for path in glob.glob("/proc/%s/task/*/stat" % pid)]
    return len(stats) == 8 and all(b") S " in stat for stat in stats)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("waiting") / "locked")
    argv = [sys.executable, "-c", WAITING, path]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        pid, client, server = process.stdout.readline().split()
        until(lambda: all(is_asleep(pid) for _ in range(3)), "all threads wait")
        yield {"pid": int(pid), "path": path, "client": client, "server": server}
        process.kill()


@pytest.fixture(scope="module")
def told(waiting):
    """The object of --json, by the names of threads."""
    result = run("--in-flight", "--json", "--top", 99, "-p", waiting["pid"])
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["threads"] == 8
    return {item["thread"]: item for item in document["in_flight"]}


def facts(item):
    return {fact["what"]: fact["value"] for fact in item["facts"]}


CALLS = {
    "pipe": {"read"},
    "unix": {"recvfrom"},
    "tcp": {"recvfrom"},
    "accept": {"accept4", "accept"},
    "flock": {"flock"},
    "futex": {"futex"},
    "nap": {"clock_nanosleep", "nanosleep"},
}


@pytest.mark.parametrize("name", CALLS)
def test_the_call_and_where_it_came_from(told, name):
    item = told[name]
    assert item["state"] == "in_call" and not item["ended_since"]
    assert item["syscall"] in CALLS[name], item
    assert item["age_ns"] > 0
    assert len(item["arguments"]) == 6
    assert item["caller"], item


def test_files_peers_and_holders(told, waiting):
    assert "pipe:[" in facts(told["pipe"])["file"]
    assert facts(told["pipe"])["other_end"].startswith("%d " % waiting["pid"])
    tcp = facts(told["tcp"])["socket"]
    assert "127.0.0.1:%s -> 127.0.0.1:%s" % (waiting["client"], waiting["server"]) in tcp
    assert ":%s" % waiting["server"] in facts(told["accept"])["socket"]
    assert facts(told["flock"])["file"].endswith(waiting["path"])
    assert facts(told["flock"])["lock_held_by"].startswith("%d " % waiting["pid"])


def test_a_lock_held_by_another_process(tmp_path):
    path = tmp_path / "lock"
    with open(path, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with subprocess.Popen(["flock", path, "true"]) as hung:
            text = until(
                lambda: (run("--in-flight", "-p", hung.pid).stdout.split("lock held by: ") + [""])[1],
                "a process that waits for a lock",
            )
            hung.kill()
    assert text.startswith("%d (" % os.getpid())


def test_a_stopped_process_is_said_to_be():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        text = run("--in-flight", "-p", process.pid).stdout
        process.kill()
    assert "stopped" in text


def test_words_that_do_not_fit():
    for words in (["-d", "1"], ["--stacks"], ["true"], ["-i", "1"]):
        result = run("--in-flight", "-p", 1, *words)
        assert result.returncode == 2, words
        assert len(result.stderr.splitlines()) <= 2, result.stderr


POLLING = """
import os, select, socket, sys
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
accepted, pipe = server.accept()[0], os.pipe()
print(os.getpid(), client.fileno(), pipe[0], pipe[1], flush=True)
if sys.argv[1] == "poll":
    poll = select.poll()
    poll.register(client, select.POLLIN)
    poll.register(pipe[0], select.POLLIN | select.POLLPRI)
    poll.poll()
else:
    select.select([client, pipe[0]], [], [pipe[0]])
"""


@pytest.mark.parametrize("call", ["poll", "select"])
def test_each_file_that_is_polled(call):
    with subprocess.Popen([sys.executable, "-c", POLLING, call], stdout=subprocess.PIPE) as hung:
        pid, client, pipe, _ = map(int, hung.stdout.readline().split())

        def look():
            result = run("--in-flight", "--json", "-p", pid)
            item = json.loads(result.stdout)["in_flight"][0]
            return item["facts"] if item.get("syscall") in (call, "p" + call, "pselect6") else None

        found = [(fact["what"], fact["value"]) for fact in until(look, "it waits")]
        hung.kill()
    files = [i for i, (what, _) in enumerate(found) if what == "file"]
    assert len(files) == 2
    first, second = found[files[0] : files[1]], found[files[1] :]
    assert first[0][1].startswith("%d: socket:[" % client) and first[0][1].endswith(", POLLIN")
    assert first[1][0] == "socket" and "127.0.0.1" in first[1][1]
    assert first[2] == ("other_end", first[2][1]) and first[2][1].startswith("%d (" % pid)
    assert second[0][1].startswith("%d: pipe:[" % pipe)
    assert set(second[0][1].split(", ")[1].split("|")) == {"POLLIN", "POLLPRI"}
    assert second[1][0] == "other_end" and second[1][1].startswith("%d (" % pid)


# Nobody accepts, so that the third one waits.
CONNECTING = """
import socket, sys
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(0)
print(server.getsockname()[1], flush=True)
kept = []
while True:
    kept.append(socket.socket())
    kept[-1].connect(server.getsockname())
"""


def test_the_address_to_connect_to_is_told_once():
    with subprocess.Popen([sys.executable, "-c", CONNECTING], stdout=subprocess.PIPE) as hung:
        address = "127.0.0.1:%d" % int(hung.stdout.readline())
        text = until(
            lambda: (lambda text: text if ": connect for" in text else "")(
                run("--in-flight", "-p", hung.pid).stdout),
            "it connects",
        )  # fmt: skip
        hung.kill()
    assert text.count(address) == 1, text


SILENT = os.path.join(os.path.dirname(__file__), "silent_files.py")


@pytest.fixture
def silent_file(live, tmp_path):
    place = tmp_path / "silent"
    place.mkdir()
    server = live.add(Process, [sys.executable, SILENT, "serve", str(place)])
    until(lambda: os.path.ismount(place) or server.popen.poll(), "it is mounted")
    if server.popen.poll():
        pytest.skip("no file system in user space: " + server.stderr())
    yield str(place / "file")
    # Nobody who waits for it can be ended before it is.
    server.popen.kill()
    server.popen.wait()
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_path_is_shown_whole(live, silent_file):
    """Even if it begins near the end of the memory that is read for another one."""
    victim = live.add(Process, [sys.executable, SILENT, "victim", "rename", silent_file])
    until(lambda: b"fuse" in slurp("/proc/%d/stack" % victim.pid), "it waits for the server")
    result = run("--in-flight", "-p", victim.pid)
    paths = re.findall(r"^    path: +(.*)$", result.stdout, re.M)
    assert paths == [silent_file, os.path.join(os.path.dirname(silent_file), "silent")], result


@pytest.mark.parametrize(
    "how, call, words",
    [("read", "read", r"    file:         \d: {}\n"), ("path", "open", r"    call:         open")],
)
def test_a_file_whose_server_is_gone_holds_nobody_else_up(live, silent_file, how, call, words):
    victim = live.add(Process, [sys.executable, SILENT, "victim", how, silent_file])
    until(lambda: b"fuse" in slurp("/proc/%d/stack" % victim.pid), "it waits for the server")
    result = run("--in-flight", "-p", victim.pid)
    assert result.returncode == 0, result.stderr
    assert re.match(r"python\S* %d: %s" % (victim.pid, call), result.stdout), result.stdout
    assert re.search(words.format(re.escape(silent_file)), result.stdout), result.stdout
    assert "Py_RunMain" in result.stdout or "_start" in result.stdout, result.stdout
