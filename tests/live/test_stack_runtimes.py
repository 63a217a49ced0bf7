# SPDX-License-Identifier: BSD-2-Clause
"""
Tests call stacks of what people run: servers, interpreters, and code that a JIT made. All stacks of
compiled code are whole. Programs that are not installed are skipped by name.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness import need, until
from stacks import must_be_complete, stack_text, symbols
from test_apache import MODULES, PAGE, needs_apache, start_apache  # noqa: F401

CALLS = 100

def tool(name):
    return need(name, path="/usr/local/go/bin")


def plain(name):
    """Leaves out the version of a symbol, or the calling convention that Go tells."""
    return str(name).split("@")[0].removesuffix(".abi0")


def begins_with(stack, *names):
    """Whether these are the outermost frames, beginning with the last of them."""
    found = [plain(name) for name in symbols(stack)]
    return found[-len(names) :] == list(names)[::-1]


PROGRAM = ("_start", "__libc_start_main", "__libc_start_call_main", "main")
THREADS = (("clone3", "start_thread"), ("__clone3", "start_thread"), ("__clone", "start_thread"))


def ask(live, argv, ready=lambda pid: None, **options):
    """
    The report of a program that answers each line with one, and in between makes calls that are
    known; the first line has made it do all that it does once.
    """
    target = live.spawn(*argv, stdin=subprocess.PIPE, **options)

    def line(number):
        target.tell(b"go\n")
        until(lambda: target.stdout().count(b"done") == number, "an answer: " + target.stderr())

    try:
        line(1)
        ready(target.pid)
        bpftruss = live.attach(target.pid, "-f", "--stacks")
        line(2)
        return bpftruss.interrupt()
    finally:
        # A JVM that was asked for its map has a socket there, too.
        for path in ("/tmp/perf-%d.map", "/tmp/.java_pid%d"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path % target.pid)


def must_all_contain(row, *names):
    """All stacks are whole and have these functions, from the innermost to the outermost."""
    assert row["calls"] == CALLS
    for stack in row["stacks"]:
        assert stack["end"] == "complete", stack_text(stack)
        rest = iter(plain(name) for name in symbols(stack))
        assert all(name in rest for name in names), stack_text(stack)


# --- servers -------------------------------------------------------------------------------------


@needs_apache
def test_every_stack_of_an_apache_worker_begins_in_its_main(live, start_apache):  # noqa: F811
    apache = start_apache()
    bpftruss = live.attach(apache.worker, "--stacks")
    apache.requests(100)
    report = bpftruss.interrupt()
    assert report.total("accept4") == 100
    must_be_complete(report.rows)
    for stack in report.stacks():
        last = stack["frames"][-1]
        assert last["module"] == "apache2", stack_text(stack)
        # Stripped, but for what its modules may call.
        assert last["symbol"] in ("_start", None)
        assert begins_with({"frames": stack["frames"][:-1]}, *PROGRAM[1:]), stack_text(stack)


@needs_apache
def test_php_in_apache_has_whole_stacks(live, start_apache):  # noqa: F811
    modules = sorted(MODULES.glob("libphp*.so"))
    if not modules:
        pytest.skip("no PHP for Apache here (package libapache2-mod-php)")
    more = "LoadModule php_module %s\nAddType application/x-httpd-php .html\n" % modules[-1]
    script = "<?php for ($i = 0; $i < 10; $i++) @fileperms('/nowhere/'.$i); ?>"
    apache = start_apache(more=more, page=script + PAGE)
    bpftruss = live.attach(apache.worker, "--stacks")
    apache.requests(10)
    report = bpftruss.interrupt()
    must_be_complete(report.rows)
    looks = [s for s in report.stacks() if {"zif_fileperms", "php_stat"} & set(symbols(s))]
    assert sum(stack["calls"] for stack in looks) == CALLS
    for stack in looks:
        assert {"libc.so.6", modules[-1].name, "apache2"} <= {f["module"] for f in stack["frames"]}


# --- interpreters --------------------------------------------------------------------------------

PYTHON = """
import os, sys
for line in sys.stdin:
    [os.getppid() for n in range(100)]
    print("done", flush=True)
"""
PERL = "$| = 1; while (<STDIN>) { getppid() for 1..100; print qq(done\\n) }"
PHP = "while (fgets(STDIN)) { for ($i = 0; $i < 100; $i++) posix_getppid(); echo \"done\\n\"; }"


INTERPRETERS = {
    "python3": ["-c", PYTHON, "Py_RunMain", "Py_BytesMain"],
    "perl": ["-e", PERL, "Perl_runops_standard", "perl_run"],
    "php": ["-r", PHP, "execute_ex", "__libc_start_call_main"],
}


@pytest.mark.parametrize("name", INTERPRETERS)
def test_interpreters_have_whole_stacks(live, name):
    option, script, *functions = INTERPRETERS[name]
    interpreter = sys.executable if name == "python3" else tool(name)
    report = ask(live, [interpreter, option, script])
    must_be_complete(report.rows)
    must_all_contain(report.only("getppid"), "getppid", *functions)


# --- other stacks and other code -----------------------------------------------------------------

GO = """package main

import ("bufio"; "fmt"; "os")

//go:noinline
func leaf() { os.Getppid() }

//go:noinline
func middle(n int) { for i := 0; i < n; i++ { leaf() } }

func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() { middle(100); fmt.Println("done") }
}
"""


def test_go_has_whole_stacks(live, tmp_path):
    """
    No unwind tables at all, but frame pointers in all code but a little assembler. That is what makes
    system calls: so their caller, here main.leaf, is not seen.
    """
    (tmp_path / "asks.go").write_text(GO)
    program = tmp_path / "asks"
    environment = dict(os.environ, GOFLAGS="-mod=mod", CGO_ENABLED="0")
    argv = [tool("go"), "build", "-o", program, tmp_path / "asks.go"]
    subprocess.run(argv, check=True, env=environment, timeout=120)
    row = ask(live, [program]).only("getppid")
    must_all_contain(row, "main.middle", "main.main", "runtime.main", "runtime.goexit")


NODE = """
require('readline').createInterface({input: process.stdin}).on('line', () => {
  for (let i = 0; i < 100; i++) asked();
  require('fs').writeSync(1, 'done\\n');
});
function asked() { return process.ppid; }
"""


def test_node_has_whole_stacks_and_names_of_its_functions(live, tmp_path):
    target = [tool("node"), "--perf-basic-prof", "--interpreted-frames-native-stack", "-e", NODE]
    # It leaves a log where it runs.
    report = ask(live, target, cwd=tmp_path)
    row = report.only("getppid")
    must_be_complete([row])
    # Debian's library is stripped and names little of itself.
    modules = {str(frame["module"]) for frame in row["stacks"][0]["frames"]}
    if not any(module.startswith("libnode") for module in modules):
        must_all_contain(row, "node::GetParentProcessId", "node::Start", "_start")
    for stack in row["stacks"]:
        named = [f for f in stack["frames"] if f["module"] == "[jit]" and "asked" in f["symbol"]]
        assert named, stack_text(stack)


JAVA = """
public class Asks {
    static long look() { return new java.io.File("/nowhere/at/all").length(); }
    public static void main(String[] unused) throws Exception {
        var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        while (in.readLine() != null) {
            for (int i = 0; i < 100; i++) look();
            System.out.println("done");
        }
    }
}
"""


def compiled(tmp_path):
    """Asks, and the options of any JVM that runs it."""
    (tmp_path / "Asks.java").write_text(JAVA)
    subprocess.run([tool("javac"), "-d", tmp_path, tmp_path / "Asks.java"], check=True, timeout=60)
    return ["-XX:+PreserveFramePointer", "-XX:+UseSerialGC", "-cp", tmp_path, "Asks"]


def stacks_of_the_question(report):
    """
    Returns the stacks of calls that Asks.java makes, whose count is known: all of them, and whole.
    The JVM makes others there now and then, for locks and for code.
    """
    rows = [row for row in report.rows if "stat" in row["syscall"]]
    stacks = [stack for row in rows for stack in row["stacks"]]
    found = [s for s in stacks if any("getLength" in str(name) for name in symbols(s))]
    assert sum(stack["calls"] for stack in found) == CALLS
    for stack in found:
        assert stack["end"] == "complete", stack_text(stack)
    return found


def test_a_jvm_with_frame_pointers_has_whole_stacks(live, tmp_path):
    report = ask(live, [tool("java"), "-Xshare:auto", *compiled(tmp_path)])
    for stack in stacks_of_the_question(report):
        assert any(begins_with(stack, *names) for names in THREADS), stack_text(stack)


def test_a_jvm_with_a_perf_map_has_names_of_its_methods(live, tmp_path):
    def write_map(pid):
        """Since Java 17."""
        argv = [tool("jcmd"), str(pid), "Compiler.perfmap"]
        if subprocess.run(argv, timeout=60).returncode:
            pytest.skip("this JVM writes no perf map")

    # Compiled at once: the interpreter's code has one name for all methods.
    report = ask(live, [tool("java"), "-Xcomp", *compiled(tmp_path)], ready=write_map)
    for stack in stacks_of_the_question(report):
        names = [frame["symbol"] for frame in stack["frames"] if frame["module"] == "[jit]"]
        assert any("Asks" in str(name) for name in names), stack_text(stack)


# --- PostgreSQL ----------------------------------------------------------------------------------


def as_postgres(*argv):
    """The server refuses to run as root."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *argv]


def postgres_tool(name):
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/" + name))
    if not found:
        pytest.skip("no PostgreSQL here")
    return str(found[-1])


@pytest.fixture
def postgres(live):
    """A server of its own: its process, and how to ask it."""
    initdb, server = postgres_tool("initdb"), postgres_tool("postgres")
    # The folder is not below the test's own, which only root may enter.
    with tempfile.TemporaryDirectory(prefix="bpftruss-pg-") as folder:
        shutil.chown(folder, "postgres", "postgres")
        data = os.path.join(folder, "data")
        making = as_postgres(initdb, "-D", data, "-A", "trust", "--no-sync")
        subprocess.run(making, check=True, capture_output=True, timeout=60)
        options = ["-c", "listen_addresses=", "-k", folder, "-c", "autovacuum=off"]
        process = live.spawn(*as_postgres(server, "-D", data, *options))
        query = as_postgres("psql", "-h", folder, "-d", "postgres", "-Atc")
        ready = [*query, "select 1"]
        until(lambda: subprocess.run(ready, capture_output=True, timeout=60).stdout == b"1\n",
              "PostgreSQL answers")
        yield process, query
        process.signal(signal.SIGINT)
        process.wait()


def test_every_stack_of_a_postgresql_backend_begins_in_its_main(live, postgres):
    server, query = postgres
    bpftruss = live.attach(server.pid, "-f", "--stacks")
    table = "create table t as select generate_series(1, 10000) as n; checkpoint; select sum(n) from t"
    subprocess.run([*query, table], check=True, capture_output=True, timeout=60)
    report = bpftruss.interrupt()
    assert report.total("recvfrom") > 0
    must_be_complete(report.rows)
    for stack in report.stacks():
        # The program is stripped: its _start has no name.
        assert plain(symbols(stack)[-2]) == "__libc_start_main", stack_text(stack)
        assert stack["frames"][-1]["module"] == "postgres", stack_text(stack)
