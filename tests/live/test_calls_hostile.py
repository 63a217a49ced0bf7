# SPDX-License-Identifier: BSD-2-Clause
"""Single calls with arguments that are not as they should be: what is shown was there, or is said not to be."""

import re
import sys

import pytest

from call_lines import STRACE, show, show_command
from harness import program, x86_only

OF_A_BUSY_HOST = {"calls"}

ABSENT = " (not in memory)"


def between(lines):
    """What a workload does that says where it begins and where it ends."""
    (begin,), (end,) = ([i for i, call in enumerate(lines.ended) if call.name == name]
                        for name in ("getuid", "getgid"))
    return lines.ended[begin + 1:end]


def arguments(live, what, *options, **how):
    lines = show(live, "arguments", what, options=list(options), **how).must_have_lost_nothing()
    return between(lines)


def paths(live, what, *options):
    opens = [call for call in arguments(live, what, *options) if call.name == "openat"]
    found = [re.fullmatch(r"AT_FDCWD, (.*?), O_RDONLY", call.arguments) for call in opens]
    return [match[1] for match in found if match]


# --- strings -------------------------------------------------------------------------------------


def test_names_are_escaped_and_long_ones_are_cut(live):
    assert paths(live, "paths") == [
        r'"new\nline"', r'"\33]0;title\7\33[2J"', r'"quo\"te\\back"', r'"\377\376\200"', r'"tab\tret\rx"',
        r'"csi\302\2332J"', r'"rtl\342\200\256evil"', '"%s%n%x"', r'"\0011"', r'"\177"',
        r'"\342\200\246 9 calls of thread 1 not shown"',
        '""', '"%s"' % ("x" * 255), '"%s"' % ("x" * 256), '"%s"...' % ("x" * 256),
        '"%s"...' % ("x" * 256)]


def test_s_0_shows_nothing_but_paths(live):
    script = "import os; os.writev(1, [b'a', b'']); os.write(1, b'secret'); os.listxattr('/')"
    lines = show_command(live, sys.executable, "-c", script, options=["-s", "0", "-t",
                         "execve,write,writev,listxattr,readlink"])
    assert "secret" not in lines.text
    assert lines.only("write").arguments.endswith(', ""..., 6')
    assert '{iov_base=""..., iov_len=1}, {iov_base="", iov_len=0}' in lines.only("writev").arguments
    exec_line = next(call for call in lines.of("execve") if call.result == "= 0")
    assert '", [""..., ""..., ""...], 0x' in exec_line.arguments
    assert lines.only("listxattr").arguments.startswith('"/", ')


@pytest.mark.parametrize("number", [1, 1022])
def test_s_says_how_much_of_a_name_is_shown(live, number):
    assert paths(live, "paths", "-s", number)[-1] == '"%s"...' % ("x" * number)


def test_terminals_are_not_told_anything(live):
    """Nor does a line begin where no call does."""
    lines = show(live, "arguments", "paths")
    assert re.search(r"[^ -~\n\t…]", lines.text) is None
    assert not lines.gaps


@pytest.mark.parametrize("form", ["truss", "strace"])
def test_names_of_descriptors_are_escaped(live, tmp_path, form):
    """A name ends where its bracket does."""
    names = [tmp_path / "a>b\n\033[2J" / "c (deleted)", tmp_path / "plain"]
    names[0].parent.mkdir()
    for name in names:
        name.write_text("")
    lines = show_command(live, "cat", *names, options=["--format", form],
                         **({"form": STRACE} if form == "strace" else {}))
    assert re.search(r"[^ -~\n\t]", lines.text) is None
    opened = [call.result for call in lines.of("openat") if str(tmp_path) in call.text]
    assert opened[0].removeprefix("= ").startswith(r"3<%s/a\76b\n\33[2J/c" % tmp_path)
    assert opened[1].removeprefix("= ").startswith("3<%s/plain>" % tmp_path)


# --- memory --------------------------------------------------------------------------------------


def test_what_is_not_in_memory_is_an_address_that_says_so(live):
    calls = arguments(live, "pointers")
    shown = ["%s(%s)" % (call.name, re.sub(r"0x7[0-9a-f]{8,}", "EDGE", call.arguments))
             for call in calls if call.name not in ("mmap", "munmap")]
    assert shown == [
        "openat(AT_FDCWD, NULL, O_RDONLY)",
        "openat(AT_FDCWD, 0x8 (not in memory), O_RDONLY)",
        "openat(AT_FDCWD, 0xffffffffffffffff (not in memory), O_RDONLY)",
        "openat(AT_FDCWD, 0x8000000000000000 (not in memory), O_RDONLY)",
        "openat(AT_FDCWD, EDGE (not in memory), O_RDONLY)",
        shown[5],  # its descriptor has a name
        'write(-1, "eeee", 4)',
        "write(-1, EDGE (not in memory), 5)",
        "writev(-1, EDGE (not in memory), 2)",
        "execve(0x8 (not in memory), 0x8 (not in memory), 0x8)",
        "connect(-1, 0x8 (not in memory), 16)",
        "nanosleep(0x8 (not in memory), NULL)",
        'openat(AT_FDCWD, "edge", O_RDONLY)']
    assert re.fullmatch(r"write\(1(<.*>\??)?, 0x8 \(not in memory\), 10\)", shown[5])


def test_a_name_that_had_to_be_brought_into_memory_is_shown(live):
    """It was read at the end, which is said, where programs may not sleep."""
    names = paths(live, "fresh")
    assert len(names) == 4
    assert set(names) <= {'"/no/such/folder/fresh"', '"/no/such/folder/fresh"?'}


def test_a_name_that_changes_meanwhile_is_one_that_was_there(live):
    names = paths(live, "changes", "-s", 300)
    assert len(names) == 20000
    assert {re.fullmatch(r'"([Ab]{200})"\??', name) is not None for name in names} == {True}
    # The other thread did get in between.
    assert len(set(names)) > 1


def test_parts_of_a_vector_are_shown_as_far_as_there_is_room(live):
    calls = [call for call in arguments(live, "vectors") if call.name == "writev"]
    part = '{iov_base="part", iov_len=4}'
    many = ", [%s, ...]" % ", ".join([part] * 8)
    shown = [re.sub(r"^3<.*?>\(deleted\)", "", call.arguments) for call in calls]
    assert shown[:3] == [many + ", 1024", many + ", 1025", ", 0x8 (not in memory), 3"]
    assert "{iov_base=0x8 (not in memory), iov_len=4}" in shown[3]
    assert "iov_len=18446744073709551615" in shown[4] and '"..., iov_len' in shown[4]


# --- descriptors ---------------------------------------------------------------------------------


def test_a_number_that_is_used_again_is_what_it_is_now(live):
    calls = [call for call in arguments(live, "reuse") if call.name == "write"]
    assert [call.arguments for call in calls] == [
        '50</dev/null>, "a", 1', '50</dev/zero>, "b", 1', calls[2].arguments, calls[3].arguments,
        '50, "e", 1', '50</dev/full>, "f", 1']
    # Where a name was read from /proc, the number may have been used again in the meantime: "?".
    assert re.match(r"50<pipe(:\[\d+\])?>\??, ", calls[2].arguments)
    assert re.match(r"50<UDP.*>\??, ", calls[3].arguments)


VFORKS = """
import subprocess, sys
with open(sys.argv[1], "w") as out:
    for _ in range(20):
        subprocess.run(["/bin/true"], stdout=out, close_fds=False)
"""


def test_a_child_of_vfork_has_the_names_of_its_maker(live, tmp_path):
    """Its calls end before the vfork does."""
    out = tmp_path / "out"
    lines = show_command(live, sys.executable, "-c", VFORKS, out, options=["-f"])
    copies = [call.arguments for call in lines.must_have_lost_nothing().of("dup2")]
    assert len(copies) == 20
    assert all(re.fullmatch(r"\d+<%s>, 1<[^>?]*>" % re.escape(str(out)), text) for text in copies), copies


# --- programs ------------------------------------------------------------------------------------


def test_the_arguments_of_an_exec_are_shown_also_if_it_fails(live):
    calls = [call for call in arguments(live, "starts", "-f") if call.name == "execve"]
    argv = '"/bin/true", ["/bin/true", "one", "two"], 0x'
    assert calls[0].arguments.startswith('"/no/such/program", ["missing", "a\\nb"], 0x')
    assert calls[0].result == "Err#2 ENOENT" and {call.result for call in calls[1:]} == {"= 0"}
    assert len(calls) == 4 and len({call.pid for call in calls}) == 4
    # What a forked child has not touched is not in its memory; the kernel has copies of it.
    assert all(call.arguments.startswith(argv) for call in calls[1:])


def test_the_name_of_a_program_that_had_to_be_brought_into_memory_is_shown(live):
    lines = show_command(live, program("evicted"), 20, "execve", options=["-t", "execve"])
    names = [call.arguments for call in lines.of("execve")[1:]]
    assert len(names) == 20
    for number, name in enumerate(names):
        assert re.match(r'"/no/such/folder/%08d/of/two/pages"\??, \[\], NULL' % number, name), name


@pytest.mark.parametrize("options", [[], ["-f"]])
def test_children_are_shown_with_f(live, options):
    pids = {call.pid for call in arguments(live, "starts", "-l", *options)}
    assert len(pids) == (4 if options else 1)


@x86_only
def test_calls_of_the_32_bit_abi_have_its_names_and_arguments(live):
    calls = [call for call in arguments(live, "i386") if call.name != "mmap"]
    assert [(call.name, call.arguments) for call in calls] == [
        ("open", '"/no/such/folder/i386", O_RDONLY'), ("write", '-1, "/no/", 4'),
        ("writev", '-1, [{iov_base="/no", iov_len=3}], 1'), ("close", "-1")]


def test_calls_that_a_filter_refuses_say_so(live):
    lines = show(live, "denied").must_have_lost_nothing()
    refused = [call.result for call in lines.of("getppid")]
    assert refused == ["Err#13 EACCES (refused)"] * 37
    assert [call.result for call in lines.of("getuid")] == ["= 0 (refused)"] * 11


def test_a_call_that_never_returns_is_shown_without_a_result(live):
    """Its thread was ended by another one's exit."""
    calls = show(live, "arguments", "sleeps", options=["-l"])
    (read,) = [call for call in calls.of("read") if call.arguments.startswith("3")]
    assert read.result in ("(not returned)", "Err#512 ERESTARTSYS")
    assert [call.result for call in calls.of("exit_group")] == [""]
