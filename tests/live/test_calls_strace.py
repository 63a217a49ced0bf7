# SPDX-License-Identifier: BSD-2-Clause
"""
The text of --format=strace is that of strace itself, for whole programs: name by name and argument
by argument, in the order of each process. What may differ is in ALLOWED, each with its reason.
"""

import collections
import difflib
import http.server
import os
import re
import shutil
import signal
import threading

import pytest

from call_lines import STRACE, Calls, attach
from harness import need, slurp, until
from test_apache import needs_apache, start_apache  # noqa: F401

OF_A_BUSY_HOST = {"calls"}

# Enough for each string of these programs, so that both cut the same ones: strace never cuts paths.
STRING_BYTES = 500

ENDINGS = re.compile(r"^\d+ +\d+\.\d+ (?:(?:---|\+\+\+) .*|.*<detached \.\.\.>)\n", re.M)
UNFINISHED = re.compile(r"^(\d+) +(\d+\.\d+) (.*?) ?<unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+) +\d+\.\d+ <\.\.\. \w+ resumed>(.*)$")


def whole_lines(text):
    """Puts the two halves together of what strace was kept from writing as one line."""
    begun = {}
    for line in ENDINGS.sub("", text).split("\n")[:-1]:
        unfinished, resumed = UNFINISHED.match(line), RESUMED.match(line)
        if unfinished:
            begun[unfinished[1]] = " ".join(unfinished.groups())
        elif resumed:
            begin = begun.pop(resumed[1])
            yield begin + (" " if begin[-1] in ",=" and resumed[2][0] not in ")" else "") + resumed[2]
        else:
            yield line
    for line in begun.values():
        yield line + ") = ?"


def sort_fields(found):
    """A structure whose members are in the order of their names."""
    others = ("st_rdev=",) + (("st_size=",) if "S_IFCHR" in found[1] else ())
    # What is beside a run's folder.
    others += ("st_nlink=",) if "S_IFDIR" in found[1] else ()
    fields = [part for part in re.split(", (?=st_)", found[1]) if not part.startswith(others)]
    return "{" + ", ".join(sorted(fields)) + "}"


def sort_flags(found):
    return "|".join(sorted(found[0].split("|")))


ALLOWED = [
    # What the third argument of fcntl points at, and a listing, are not taken apart.
    (r"^(fcntl\(.*, F_\w*LK\w*, )(?:\{.*\}|0x\w+)\)", r"\1LOCK)"),
    (r"^(getdents64\([^,]*, )(?:\[.*\]|0x\w+), ", r"\1LISTING, "),
    # Nor what is at this address, as a newer strace does; an older one has the length in hex.
    (r"^rseq\((?:\{.*?\}|0x\w+), (?:0x20|32), ", "rseq(ADDRESS, 32, "),
    # Where things are in memory, and when they happened, is another matter in each run.
    (r"\b0x[0-9a-f]{6,}", "ADDRESS"),
    (r"\b(st_[amc]time(?:_nsec)?|tv_n?u?sec|stx_[amcb]time)=\d+", r"\1=TIME"),
    (r" /\* \d{4}-\d\d-\d\dT[^*]*\*/", ""),
    (r"\bstx?_ino=\d+", "INODE"),
    # It says of a number without a name what it could have been.
    (r" /\* [A-Z_]+_\?\?\? \*/", ""),
    # A newer strace says how long a number of ticks is.
    (r" /\* \d+\.\d+ s \*/", ""),
    (r"^sysinfo\(\{.*\}\)", "sysinfo({...})"),
    (r"^(read\(\d</dev/urandom>, )\".*\"", r"\1RANDOM"),
    (r"getrandom\(\".*?\", ", "getrandom(RANDOM, "),
    (r"(/proc/)\d+", r"\1PID"),
    (r"/\d+/std(out|err)>", r"/std\1>"),
    (r"^getppid\(\) = \d+", "getppid() = PID"),
    # What no call says: both ends of a pair have a name only if somebody can look.
    (r"^(socketpair\(.*)\[(\d+)<[^<>]*>, (\d+)<[^<>]*>\]", r"\1[\2, \3]"),
    (r"^(getsockname\(.*sin_port=htons)\(\d+\)", r"\1(PORT)"),
    # What a call would have written is not read if it fails, nor what it was to go by there.
    (r", \[16\]\) = -1 ", ", ADDRESS) = -1 "),
    # Of a length of a message what it was before is not kept, nor the time that select() has left.
    (r"msg_namelen=\d+ => ", "msg_namelen="),
    (r", left \{[^}]*\}\)$", ")"),
    (r"^(personality\(.*\) = 0) \(PER_LINUX\)", r"\1"),
    # With -v it is said what a number is that an address leads to.
    (r"child_tidptr=\[\d+\]", "child_tidptr=ADDRESS"),
    # The environment is only read with --environment, and then it is a list, too.
    (r"^(execve\(.*\], )(?:ADDRESS /\*.*?\*/|\[.*\])\)", r"\1ADDRESS)"),
    # It shows the members of struct stat in an order of its own, and st_rdev or st_size.
    (r"\{(st_[^{}]*)\}", sort_fields),
    # It knows more attributes by name, and shows these members only if they were asked for.
    (r", stx_(?:attributes_mask=[^,]*|btime=\{[^}]*\}|mnt_id=0x\w+)", ""),
    # A name is the path by which a descriptor was opened; strace asks /proc, which has followed links.
    (r"\b(\d+)<(/(?!proc/self/)[^<>]*)>", lambda found: "%s<%s>" % (found[1], os.path.realpath(found[2]))),
    (r"</proc/self/", "</proc/PID/"),
    # No call says the inodes of pipes and sockets; of a socket its family is known, and its peer.
    (r"<pipe(?::\[\d+\])?>", "<PIPE>"),
    (r"<(?:socket:\[\d+\]|(?:TCP|UDP|UNIX|NETLINK)(?:->|[^<>])*)>", "<SOCKET>"),
    # A number that the call changes: strace 7 has both in one pair of brackets.
    (r"\[(-?\d+)\] => \[(-?\d+)\]", r"[\1 => \2]"),
    # The order of flags means nothing.
    (r"\b[A-Z][A-Z0-9_]+(?:\|[A-Z][A-Z0-9_]+)+", sort_flags),
]


# A child may do all it does before vfork returns in its parent: then nobody knows what it has inherited.
OF_CHILDREN = [(r"\b(\d+|AT_FDCWD)<[^<>]*>", r"\1")]


def normalize(text, pids, rules):
    for pattern, by in rules:
        text = re.sub(pattern, by, text)
    return re.sub(r"\b\d{2,}\b", lambda found: "PID" if found[0] in pids else found[0], text)


def processes(text):
    """Each process's calls as text, in the order in which they were first seen."""
    calls = collections.OrderedDict()
    for line in whole_lines(text):
        found = STRACE.match(line)
        assert found, line
        made = calls.setdefault(found["tid"], [])
        # When a child's end comes is up to chance.
        if found["name"] != "rt_sigreturn":
            made.append("%s(%s) = %s" % (found["name"], found["arguments"], found["result"]))
    rules = {tid: ALLOWED + (OF_CHILDREN if i else []) for i, tid in enumerate(calls)}
    return [[normalize(call, calls, rules[tid]) for call in calls[tid]] for tid in calls]


def differences(ours, theirs):
    found = []
    assert len(ours) == len(theirs), "processes"
    for a, b in zip(sorted(ours), sorted(theirs)):
        found += [line for line in difflib.unified_diff(b, a, lineterm="", n=0)
                  if not line.startswith(("---", "+++", "@@"))]
    return found


def fill(work):
    work.mkdir()
    (work / "small").write_text("hello\n")
    (work / "large").write_text("line\n" * 5000)


def run_both(live, tmp_path, *argv, status=0):
    """The text of bpftruss and that of strace, of two runs of the same program."""
    need(argv[0])
    text, work = tmp_path / "strace", tmp_path / "work"
    # Descriptors, and places of the heap, that are the same in both runs.
    argv = [need("setarch"), "-R", "/bin/sh", "-c", 'exec "$@" >output 2>&1', "-", *argv]
    place = dict(cwd=work, env={"PATH": os.environ["PATH"], "LC_ALL": "C"})
    fill(work)
    live.spawn(need("strace"), "-f", "-ttt", "-T", "-y", "-v", "-s", STRING_BYTES, "-o", text, *argv,
               **place).wait()
    shutil.rmtree(work)
    fill(work)
    calls = live.add(
        Calls, ["-f", "-v", "-s", STRING_BYTES, "--format=strace", *argv], form=STRACE, **place)
    lines = calls.lines(status).must_have_lost_nothing()
    return processes(lines.text), processes(slurp(text).decode("utf-8", "surrogateescape"))


SCRIPT = """
for i in 1 2; do /bin/true; done
(cat small | wc -l); test -e /nope || echo no; kill -0 $$
trap 'echo usr1' USR1; kill -USR1 $$; exec /bin/echo end
"""
DATABASE = ("pragma journal_mode=memory; drop table if exists a; create table a(b);"
            " insert into a values('one'); select * from a")

CORPUS = {
    # Without the time: a minute may end between the two runs.
    "ls": ["ls", "-l", "--time-style=+"],
    "cat": ["cat", "small", "large", "missing"],
    "shell": ["/bin/sh", "-c", SCRIPT],
    "sqlite3": ["sqlite3", "test.db", DATABASE],
    "python3": ["/usr/bin/python3", "-S", "-c",
                "import os; print(os.listdir('.'), os.stat('small').st_size)"],
    "curl": ["curl", "-s", "file:///etc/hostname"],
}


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\npage")

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.HTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


# Talks to a server with blocking calls: how often others look is up to chance. Passes a descriptor to itself.
CLIENT = """
import os, select, socket
a, b = socket.socketpair()
socket.send_fds(a, [b"x"], (0,))
select.select([a, b], [a], [], 5)
select.select([a], [], [], 0)
socket.recv_fds(b, 1, 1)
select.select([], [], [], 1)  # its name is read from /proc
with open("small") as small:
    os.sendfile(a.fileno(), small.fileno(), 0, 6)
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
s.connect(("127.0.0.1", %d))
s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
s.recv(23, socket.MSG_WAITALL)
s.recv(1)
s.shutdown(socket.SHUT_WR)
"""


def test_the_text_of_a_client_is_that_of_strace(live, tmp_path, server):
    client = CLIENT % server.server_port
    ours, theirs = run_both(live, tmp_path, "/usr/bin/python3", "-S", "-c", client)
    found = differences(ours, theirs)
    assert not found, "\n".join(found)


@needs_apache
def test_the_text_of_requests_to_apache_is_that_of_strace(live, tmp_path, start_apache):
    """Both watch the same requests at the same time."""
    apache, text = start_apache("All"), tmp_path / "strace"
    options = ["-v", "-s", STRING_BYTES, "--format=strace"]
    calls = attach(live, apache.worker, *options, form=STRACE)
    strace = live.spawn(need("strace"), "-f", "-ttt", "-T", "-y", "-v", "-s", STRING_BYTES, "-o", text,
                        "-p", apache.worker)
    until(lambda: "attached" in strace.stderr(), "strace attaches")
    apache.requests(5)
    strace.signal(signal.SIGINT)
    strace.popen.wait()
    lines = calls.interrupt().must_have_lost_nothing()
    ours, theirs = processes(lines.text), processes(slurp(text).decode())
    # As strace came and went, the worker's sleep ended and began again.
    ours = [[call for call in made if "= ? ERESTARTSYS" not in call] for made in ours]
    # It may have been seen to begin by one of them alone.
    ours, theirs = ([made[made[0].startswith("accept4("):] for made in all_made]
                    for all_made in (ours, theirs))
    assert len(theirs) == 1 and len(theirs[0]) > 50
    found = differences(ours, theirs)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", CORPUS)
def test_the_text_of_a_program_is_that_of_strace(live, tmp_path, name):
    ours, theirs = run_both(live, tmp_path, *CORPUS[name], status=int(name == "cat"))
    found = differences(ours, theirs)
    assert not found, "\n".join(found)
