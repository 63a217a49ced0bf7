# SPDX-License-Identifier: BSD-2-Clause
"""
Call stacks through code that comes, goes and changes: libraries loaded while calls are counted,
other files at the same address or path, files that are gone or that only the process can see, code
of no file, processes that have ended.
"""

import os
import re
import shlex
import shutil
import time

import pytest

from harness import need_unshare, run, until
from stacks import (FRAME_POINTERS, Loads, Waiting, build_id, copy, count_waits, fixture, stack_text,
                    symbols, symbols_outside_libc, wait_looked)  # fmt: skip

LIBC_START = ["__libc_start_call_main", "__libc_start_main", "_start"]
ENTRY = ["getppid", "probe", "enter", "follow", "main"] + LIBC_START
HELPERS = ("map_and_call", "jit_and_call")
HOWS = ("over", "again", "moved", "protect")


def library_calls(report, pid=None):
    """{the library's function: {how its stack ends: calls}} of getppid."""
    found = {}
    for stack in report.stacks("getppid", pid):
        names = [str(name).split("@")[0] for name in symbols(stack)]
        name = names[2] if len(names) > 2 else None
        if stack["end"] == "complete":
            above = [name for name in names[4:] if name not in HELPERS]
            assert names[:2] + names[3:4] + above == ENTRY, stack_text(stack)
        ends = found.setdefault(name, {})
        ends[stack["end"]] = ends.get(stack["end"], 0) + stack["calls"]
    return found


def table_kib(stderr):
    """How much memory unwind tables take when counting begins."""
    return int(re.search(r"unwind tables of \d+ files, (\d+) KiB", stderr)[1])


# --- code that comes -----------------------------------------------------------------------------


def test_a_process_waits_for_the_tables_of_its_own_files_only(live):
    program = live.spawn("sleep", "60")
    attached = live.attach(program.pid, "--stacks", "-v")
    # All that bpftruss has mapped itself is among what is mapped for a command.
    started = live.start("true", options=["--stacks", "-v"])
    assert started.wait() == 0, started.stderr()
    assert 0 < table_kib(attached.stderr()) < table_kib(started.stderr())


def test_names_wait_for_the_tables_of_those_who_have_them_only(live, tmp_path):
    path = str(tmp_path / "dozes off")
    shutil.copy(shutil.which("sleep"), path)
    program = live.spawn(path, "60")
    words = ("-c", "-d", "0.1", "--stacks", "-v")
    by_pid = run(*words, "-p", program.pid).stderr
    assert table_kib(run(*words, "-n", "dozes off").stderr) == table_kib(by_pid)


def test_a_library_loaded_later_has_whole_stacks_soon(live, tmp_path):
    program, path = live.add(Loads), copy("alpha.so", tmp_path)
    bpftruss = live.attach(program.pid, "--stacks")
    program.call(path, "alpha_one", 1)
    # Until it has opened the file for its table; then a moment more, for that to be made.
    fds = "/proc/%d/fd/" % bpftruss.pid
    until(lambda: path in {os.path.realpath(fds + fd) for fd in os.listdir(fds)}, "reads " + path)
    wait_looked(bpftruss)
    program.do("call alpha_two 1000")
    program.finish()
    report = bpftruss.report()
    calls = library_calls(report)
    assert calls.pop("alpha_two") == {"complete": 1000}
    ((_, first),) = calls.items()
    assert first in ({"table_pending": 1}, {"complete": 1})
    assert report.total("getppid") == 1001


def test_many_libraries_at_once_lose_no_call(live, tmp_path):
    program = live.add(Loads)
    bpftruss = live.attach(program.pid, "--stacks")
    for number in range(20):
        folder, name = tmp_path / ("library%d" % number), ("alpha", "beta")[number % 2]
        folder.mkdir()
        program.call(copy(name + ".so", folder), name + "_one", 50)
    program.finish()
    ends = library_calls(bpftruss.report())
    assert set(ends) <= {"alpha_one", "beta_one", "None"}
    assert set(ends.pop("None", {})) <= {"table_pending"}
    assert all(calls.get("complete", 0) <= 500 for calls in ends.values())


def test_the_stacks_of_a_command_become_whole(live, tmp_path):
    """All that a command is made of may be new, the program itself always is."""
    bpftruss = live.start(copy("loads", tmp_path), options=["--stacks"], stdin=-1)
    until(lambda: bpftruss.stdout() == b"ready\n", "the command is ready")
    wait_looked(bpftruss, commands=1)
    bpftruss.tell(b"jit made 1\nbare 1\n")
    bpftruss.popen.stdin.close()
    row = bpftruss.report().only("getppid")
    os.unlink("/tmp/perf-%d.map" % row["pid"])
    assert {stack["end"] for stack in row["stacks"]} == {"complete", "no_frame_pointer"}


# --- other code in the same place ----------------------------------------------------------------


def test_another_library_at_the_same_address_has_its_own_stacks(live, tmp_path):
    """Functions begin at the same addresses, but their frames have other sizes."""
    programs = {how: live.add(Loads) for how in HOWS}
    alpha, beta = copy("alpha.so", tmp_path), copy("beta.so", tmp_path)
    for program in programs.values():
        program.do("load " + alpha, "load " + beta)
    bpftruss = live.attach([program.pid for program in programs.values()], "--stacks")
    for how, program in programs.items():
        for number in (1, 10, 100):
            for path, name in ((alpha, "alpha_one"), (beta, "beta_one"), (alpha, "alpha_two")):
                program.do("%s %s %s %d" % (how, path, name, number))
        program.finish()
    report = bpftruss.report()
    whole = {name: {"complete": 111} for name in ("alpha_one", "alpha_two", "beta_one")}
    for how, program in programs.items():
        assert library_calls(report, program.pid) == whole, how


@pytest.mark.parametrize("gone", ["replaced", "deleted"])
def test_a_file_is_what_is_mapped_and_not_what_its_path_leads_to(live, tmp_path, gone):
    program, path = live.add(Loads), copy("alpha.so", tmp_path)
    program.do("load %s" % path)
    if gone == "replaced":
        shutil.copy(fixture("beta.so"), path + ".new")
        os.rename(path + ".new", path)
    else:
        os.unlink(path)
    report = program.count(live, "call alpha_one 100")
    assert library_calls(report) == {"alpha_one": {"complete": 100}}
    (stack,) = report.only("getppid")["stacks"]
    assert stack["frames"][2]["module"] == "alpha.so"


# --- files that only the process sees ------------------------------------------------------------


def privately(directory, commands, *argv):
    """A command in a mount namespace of its own, where a directory is a file system of its own."""
    need_unshare("-m", "--propagation", "private")
    script = "mount -t tmpfs none %s && %s && exec %s" % (directory, commands, shlex.join(argv))
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", script]


def test_a_program_may_be_where_only_its_process_sees_it(live, tmp_path):
    place = str(tmp_path)
    hidden = os.path.join(place, "hidden")
    argv = privately(place, shlex.join(["cp", fixture("chain-O2"), hidden]), hidden, "plain")
    (stack,) = count_waits(live, *argv)
    assert not os.path.exists(hidden)
    assert [frame["module"] for frame in stack["frames"]].count("hidden") == 6
    assert symbols_outside_libc(stack)[:5] == ["wait_here", "three", "two", "one", "main"]


def test_a_debug_file_is_found_by_build_id_as_the_process_sees_it(live):
    """This namespace has no such file."""
    root, debug = "/usr/lib/debug", fixture("chain-O2.debug")
    folder, name = build_id(fixture("chain-stripped"))
    folder = "%s/.build-id/%s" % (root, folder)
    os.makedirs(root, exist_ok=True)
    copying = "mkdir -p %s && cp %s %s/%s.debug" % (folder, shlex.quote(debug), folder, name)
    argv = privately(root, copying, fixture("chain-stripped"), "plain")
    each = live.add(Waiting, argv, debug={"chain-stripped": debug})
    bpftruss = live.attach(each.pid, "--stacks")
    each.tell(b"xx")
    until(each.readers, "both are read")
    # Its mounts go with the process: the report is made before.
    (stack,) = bpftruss.interrupt().only("read")["stacks"]
    assert symbols_outside_libc(stack)[:5] == ["wait_here", "three", "two", "one", "main"]


# --- without tables ------------------------------------------------------------------------------


def test_without_tables_no_library_has_the_name_of_another(live, tmp_path):
    """An address may have been mapped anew since: then there is no name."""
    programs = {how: live.add(Loads) for how in HOWS}
    alpha, beta = copy("alpha.so", tmp_path), copy("beta.so", tmp_path)
    pids = [program.pid for program in programs.values()]
    bpftruss = live.attach(pids, "--stacks", env=FRAME_POINTERS)
    for _ in range(3):
        for path, name, number in ((alpha, "alpha_self", 10), (beta, "beta_self", 1)):
            for how, program in programs.items():
                program.do("%s %s %s %d" % (how, path, name, number))
            # Most are named while the library is there.
            time.sleep(0.3)
    for program in programs.values():
        program.finish()
    report = bpftruss.report()
    named = {"alpha_self": 0, "beta_self": 0}
    for program in programs.values():
        calls = {"alpha_self": 0, "beta_self": 0}
        for stack in report.stacks("getppid", program.pid):
            for name in set(symbols(stack)) & set(calls):
                calls[name] += stack["calls"]
        assert calls["alpha_self"] in (0, 10, 20, 30) and calls["beta_self"] in range(4), calls
        named = {name: named[name] + calls[name] for name in named}
    assert all(named.values()), named


# --- code of no file -----------------------------------------------------------------------------


def test_jit_code_with_frame_pointers_has_whole_stacks_and_its_names(live):
    report = live.add(Loads).count(live, "jit made_up 100", "jit with_[odd]-name 10", looks=True)
    assert library_calls(report) == {
        "made_up": {"complete": 100},
        "with_[odd]-name": {"complete": 10},
    }
    assert {stack["frames"][2]["module"] for stack in report.stacks("getppid")} == {"[jit]"}


def test_code_without_frame_pointer_ends_a_stack_that_says_so(live):
    (stack,) = live.add(Loads).count(live, "bare 100").only("getppid")["stacks"]
    assert (stack["calls"], stack["end"]) == (100, "no_frame_pointer")
    assert symbols(stack) == ["getppid", "probe", None]
    assert stack["frames"][2]["module"] is None


def test_names_of_a_process_that_has_ended_are_known(live):
    """JIT code has its names from the process: they must be taken while it lives."""
    programs = {name: live.add(Loads) for name in ("made_up", "other")}
    bpftruss = live.attach([program.pid for program in programs.values()], "--stacks")
    for name, program in programs.items():
        program.do("jit %s 100" % name)
        wait_looked(bpftruss)
        program.finish()
        os.unlink(program.perf_map)
    report = bpftruss.report()
    for name, program in programs.items():
        assert library_calls(report, program.pid) == {name: {"complete": 100}}
