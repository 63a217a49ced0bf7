# SPDX-License-Identifier: BSD-2-Clause
"""--inline and --debuginfod: what DWARF adds to call stacks, from the file itself and from others."""

import json
import os
import re
import subprocess
import tempfile

import pytest
from harness import program, run, slurp, until, write
from stacks import DebugServer, needs_client

CALLS = 100
INLINED = b"work;ask_twice_[i];ask_[i];"


def folded(live, workload, *options, env=None):
    """The lines of --folded for getppid, without the names of files."""
    path = os.path.join(live.directory, "folded")
    target = live.workload(workload, CALLS)
    bpftruss = live.attach(target.pid, "-t", "getppid", "--folded", path, *options, env=env)
    target.go()
    report = bpftruss.report()
    assert report.total("getppid") == CALLS
    return re.sub(rb"[^;`]+`", b"", slurp(path))


def calls(lines):
    return sum(int(line.rsplit(b" ", 1)[1]) for line in lines.splitlines())


def must_be_inlined(lines):
    """The stacks of all calls must have the inlined functions."""
    assert lines.count(INLINED) == len(lines.splitlines()), lines
    assert calls(lines) == CALLS


def must_be_bare(lines):
    """The function has its name, but none that was inlined."""
    assert b";work;getppid " in lines and b"_[i]" not in lines, lines
    assert calls(lines) == CALLS


def copy_of(name, directory, *objcopy):
    """A workload, changed; its path is as good as a workload's name."""
    path = os.path.join(directory, name)
    subprocess.run(["objcopy", *objcopy, program(name), path], check=True)
    return path


def test_inlined_functions_are_shown_when_asked_for_and_known(live, tmp_path):
    must_be_inlined(folded(live, "inlined", "--inline"))
    must_be_bare(folded(live, "inlined"))
    must_be_bare(folded(live, copy_of("inlined", tmp_path, "--strip-debug"), "--inline"))


def test_separate_debug_file(live, tmp_path):
    debug = copy_of("inlined", tmp_path, "--only-keep-debug")
    os.rename(debug, debug + ".debug")
    path = copy_of("inlined", tmp_path, "--strip-all", "--add-gnu-debuglink=%s.debug" % debug)
    must_be_inlined(folded(live, path, "--inline"))


def test_inline_implies_stacks():
    result = run("-c", "--inline", "--json", "-o", "/dev/stdout", "true")
    assert result.returncode == 0
    assert json.loads(result.stdout)["has_stacks"]


# --- debuginfod ----------------------------------------------------------------------------------


def folders():
    return {name for name in os.listdir("/var/tmp") if name.startswith("bpftruss-")}


def must_leave_nothing(before):
    """Unit tests beside this one have folders, too, for a moment."""
    new = folders() - before
    until(lambda: not new & folders(), "its folders are removed")


@pytest.fixture
def server():
    served = DebugServer(program("inlined"))
    yield served
    served.close()


@needs_client
def test_debug_file_is_fetched(live, tmp_path, server):
    path = copy_of("inlined", tmp_path, "--strip-all")
    before = folders()
    must_be_inlined(folded(live, path, "--inline", "--debuginfod", env=server.env))
    assert server.asked == [server.wanted]
    must_leave_nothing(before)


@needs_client
def test_nothing_is_fetched_that_is_here(live, server):
    must_be_inlined(folded(live, "inlined", "--inline", "--debuginfod", env=server.env))
    assert server.asked == []


@needs_client
def test_another_build_is_not_believed(live, tmp_path, server):
    path = copy_of("inlined", tmp_path, "--strip-all")
    server.bytes[:] = slurp(program("calls"))
    lines = folded(live, path, "--inline", "--debuginfod", env=server.env)
    assert b"work" not in lines and calls(lines) == CALLS, lines
    assert server.asked == [server.wanted]


STUB = """#!/bin/sh
{ id -u; id -G; echo "$@"; env; grep CapEff /proc/self/status; } >%s
ln -s %s "$HOME/link"
echo "$HOME/link"
"""


def test_client_has_no_rights(live, tmp_path):
    """It is nobody, knows no secrets, and cannot make us open what is not in its folder."""
    with tempfile.TemporaryDirectory() as directory:
        said = os.path.join(directory, "said")
        client = os.path.join(directory, "debuginfod-find")
        write(client, STUB % (said, program("inlined")))
        write(said, "")
        for path, mode in ((directory, 0o755), (client, 0o755), (said, 0o666)):
            os.chmod(path, mode)
        path = "%s:%s" % (directory, os.environ["PATH"])
        env = dict(os.environ, DEBUGINFOD_URLS="http://127.0.0.1:1", PATH=path, SECRET="secret")
        before = folders()
        path = copy_of("inlined", tmp_path, "--strip-all")
        lines = folded(live, path, "--inline", "--debuginfod", env=env)
        assert b"work" not in lines and calls(lines) == CALLS, lines
        text = slurp(said).decode()
        assert text.startswith("65534\n65534\ndebuginfo "), text
        assert "CapEff:\t0000000000000000" in text and "SECRET" not in text, text
        must_leave_nothing(before)


def test_nobody_is_asked_without_the_option(live, tmp_path, server):
    path = copy_of("inlined", tmp_path, "--strip-all")
    lines = folded(live, path, "--inline", env=server.env)
    assert b"work" not in lines and calls(lines) == CALLS, lines
    assert server.asked == []


def test_debuginfod_needs_servers():
    without = {key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"}
    for options in (["--stacks", "--debuginfod"], ["--debuginfod"]):
        result = run("-c", *options, "true", env=without)
        assert result.returncode == 2
        assert "DEBUGINFOD_URLS" in result.stderr


def test_debuginfod_needs_its_program(server, tmp_path):
    env = {**server.env, "PATH": str(tmp_path)}
    result = run("-c", "--stacks", "--debuginfod", "/bin/true", env=env)
    assert result.returncode == 1
    assert "debuginfod-find, which is not installed" in result.stderr
