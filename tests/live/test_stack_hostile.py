# SPDX-License-Identifier: BSD-2-Clause
"""
Programs that would rather not be looked into: files that are broken, names that are traps, more of
everything than there is room for. bpftruss lives, counts every call, and says what it could not see.
"""

import os
import re
import shutil
import struct
import time

from harness import slurp, write
from stacks import Loads, fixture, output_of, stack_text, symbols, wait_looked

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")  # of an ELF file
SECTION = struct.Struct("<IIQQQQIIQQ")
SECTION_HEADERS, NUMBER_OF_SECTIONS = 6, 12  # fields of HEADER
OFFSET, SIZE = 4, 5  # fields of SECTION


def sections(data):
    """[(position of its header, fields)] of an ELF file's sections."""
    header = HEADER.unpack_from(data)
    numbers = range(header[NUMBER_OF_SECTIONS])
    places = [header[SECTION_HEADERS] + at * SECTION.size for at in numbers]
    return [(place, list(SECTION.unpack_from(data, place))) for place in places]


def section_range(path, name):
    """Where a section lies in a file."""
    table = output_of("readelf", "-SW", path)
    found = re.search(r" %s +\w+ +\w+ (\w+) (\w+)" % re.escape(name), table)
    start, size = (int(word, 16) for word in found.groups())
    return slice(start, start + size)


def cut_off(data, path):
    """Ends in the middle of its unwind table; code and what the linker needs are there."""
    frames = section_range(path, ".eh_frame")
    del data[(frames.start + frames.stop) // 2 :]


def huge_sections(data, path, field=SIZE, value=1 << 62):
    for place, fields in sections(data):
        fields[field] = value
        SECTION.pack_into(data, place, *fields)


def sections_elsewhere(data, path):
    huge_sections(data, path, OFFSET, (1 << 64) - 4096)


def garbage_frames(data, path):
    frames = section_range(path, ".eh_frame")
    data[frames] = bytes((at * 167 + 13) % 256 for at in range(frames.stop - frames.start))


def endless_entry(data, path):
    """A first entry that says that it is longer than all there is."""
    frames = section_range(path, ".eh_frame")
    data[frames.start : frames.start + 4] = b"\xf0\xff\xff\xff"


def garbage_names(data, path):
    names = section_range(path, ".dynstr")
    data[names] = b"\xff" * (names.stop - names.start)


BREAKAGES = [cut_off, huge_sections, sections_elsewhere, garbage_frames, endless_entry,
             garbage_names]  # fmt: skip


def broken_copy(directory, breakage):
    path = os.path.join(str(directory), breakage.__name__ + ".so")
    data = bytearray(slurp(fixture("alpha.so")))
    breakage(data, fixture("alpha.so"))
    write(path, data)
    return path


# --- files ---------------------------------------------------------------------------------------


def test_a_broken_file_costs_its_own_frames_only(live, tmp_path):
    """Its code is mapped and called; below and above it all is known."""
    programs = {breakage: live.add(Loads) for breakage in BREAKAGES}
    bpftruss = live.attach([program.pid for program in programs.values()], "--stacks")
    for breakage, program in programs.items():
        path = broken_copy(tmp_path, breakage)
        program.do("raw %s 4096 25" % path)
        time.sleep(0.2)
        program.do("raw %s 4096 75" % path)
        program.call(fixture("beta.so"), "beta_one", 10)
        program.finish()
    report = bpftruss.report()
    # Without a table: whatever is in the register of the frame pointer.
    partial = {"no_frame_pointer", "table_pending", "unsupported_rule", "paged_out"}
    for breakage, program in programs.items():
        assert report.total("getppid", pid=program.pid) == 110, breakage
    for stack in report.stacks("getppid"):
        assert symbols(stack)[:2] == ["getppid", "probe"], stack_text(stack)
        assert stack["end"] in partial | {"complete"}, stack_text(stack)


def test_a_path_that_became_a_pipe_is_not_opened(live, tmp_path):
    """A process that opens it waits for a writer."""
    program = live.add(Loads)
    path = shutil.copy(fixture("alpha.so"), str(tmp_path))
    program.do("load " + path)
    os.unlink(path)
    os.mkfifo(path)
    (stack,) = program.count(live, "call alpha_one 10").only("getppid")["stacks"]
    assert (stack["calls"], symbols(stack)[2]) == (10, "alpha_one")


# --- names ---------------------------------------------------------------------------------------

TRAP = b"\x1b[31m\x07\r\n;\"<b>\xff\xc3("


def trap_names(path, directory):
    """A copy whose functions are called by bytes that terminals and formats do not like."""
    target = os.path.join(str(directory), "trap\x1b[2J;<i>.so")
    data = slurp(path)
    for name in (b"alpha_one", b"alpha_two"):
        assert data.count(b"\0" + name + b"\0") >= 1
        data = data.replace(b"\0" + name + b"\0", b"\0" + TRAP[: len(name)] + b"\0")
    write(target, data)
    return target


def test_names_of_functions_and_files_are_escaped(live, tmp_path):
    path, program = trap_names(fixture("alpha.so"), tmp_path), live.add(Loads)
    folded, flame = tmp_path / "folded", tmp_path / "flame"
    options = ["--stacks", "--folded", folded, "--flame", flame]
    text = live.attach(program.pid, *options, json=False)
    json_one = live.attach(program.pid, "--stacks")
    program.do("raw %s 4096 25" % path)
    for bpftruss in (text, json_one):
        wait_looked(bpftruss)
    program.do("raw %s 4096 25" % path)
    program.finish()
    frames = json_one.report().frames("getppid")
    assert text.wait() == 0
    assert any("trap" in str(module) for module, _ in frames)
    for written in (text.text(), folded.read_bytes(), flame.read_bytes()):
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", written)
        assert b"\xff" not in written and b"trap" in written
    lines = folded.read_text().splitlines()
    assert all(re.fullmatch(r"[^ ].* \d+", line) for line in lines)
    assert sum(int(line.rpartition(" ")[2]) for line in lines) >= 50
    svg = flame.read_text()
    assert "<b>" not in svg and "<i>" not in svg


# --- too much ------------------------------------------------------------------------------------


def test_a_great_many_stacks_lose_no_call(live):
    """Random recursion: nearly every call has a stack of its own."""
    report = live.add(Loads).count(live, "random 20000", options=["--max-stacks", 2000])
    assert report.total("getppid") == 20000
    stacks = report.stacks("getppid")
    (others,) = [stack for stack in stacks if stack["end"] == "other_stacks"]
    assert len(stacks) - 1 > 1000
    assert others["calls"] > 10000


def test_thousands_of_files_with_code_fill_the_table_and_no_more(live):
    """Files beyond those that there is room for are pending for good, in this report only."""
    program, other = live.add(Loads), live.add(Loads)
    program.do("crowd 9000")
    bpftruss = live.attach([program.pid, other.pid], "--stacks")
    other.do("jit made 10")
    program.do("walk 1")
    other.finish()
    program.finish()
    # Nobody waits until each of so many files has been read for its names.
    report = bpftruss.interrupt()
    assert report.total("getppid", pid=other.pid) == 10
    assert report.total("getppid", pid=program.pid) == 9000
