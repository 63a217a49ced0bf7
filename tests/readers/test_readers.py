# SPDX-License-Identifier: BSD-2-Clause
"""Tests what other programs make of the files that the unit tests left in SAMPLES_DIR: pprof, a
browser, readers of folded stacks. A program that is not here is a test that is skipped, by name."""

import gzip
import os
import re
import shutil
import subprocess
import urllib.parse
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

SAMPLES = Path(os.environ["SAMPLES_DIR"])
GO_PLACES = [*os.environ["PATH"].split(":"), "/usr/local/go/bin", "/usr/lib/go/bin"]
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]


def run(*command, stdin=None):
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=300, check=True)
    return done.stdout.decode()


# --- pprof ---


def go_pprof(name, *options):
    go = shutil.which("go", path=":".join(GO_PLACES))
    if not go:
        pytest.skip("no go here")
    return run(go, "tool", "pprof", *options, SAMPLES / name)


def test_go_reads_all():
    text = go_pprof("pprof_stacks.pb.gz", "-raw")
    samples = text[text.index("Samples:"):text.index("Locations")]
    values = [[int(n) for n in row.split()] for row in re.findall(r"^([\d ]+):", samples, re.M)]
    assert "calls/count[dflt] wall/nanoseconds cpu/nanoseconds errors/count" in samples
    assert sum(row[0] for row in values) == 1069
    assert sum(row[3] for row in values) == 43
    assert "comm:[worker pool] syscall:[futex]\n                pid:[200]" in samples
    assert "Duration: 2.5s" in text
    assert "ngx_read_file" in text and "[no frame pointer]" in text


def test_go_makes_a_table():
    text = go_pprof("pprof_stacks.pb.gz", "-top", "-sample_index=calls")
    assert re.search(r"^ +1000 .* read$", text, re.M)


@pytest.mark.parametrize("name", ["pprof_hostile.pb.gz", "pprof_empty.pb.gz"])
def test_go_reads_odd_ones(name):
    go_pprof(name, "-raw")


@pytest.mark.parametrize("name", ["stacks", "hostile", "empty"])
def test_protoc_reads_all(name):
    if not shutil.which("protoc"):
        pytest.skip("no protoc here")
    profile = gzip.decompress((SAMPLES / f"pprof_{name}.pb.gz").read_bytes())
    assert 'nanoseconds' in run("protoc", "--decode_raw", stdin=profile)


# --- folded stacks ---


@pytest.mark.parametrize("name,calls", [("stacks", 1069), ("hostile", 78)])
def test_folded_lines(name, calls):
    lines = (SAMPLES / f"{name}.folded").read_text().splitlines()
    counts = [line.split() for line in lines]
    assert all(len(words) == 2 and all(words[0].split(";")) for words in counts)
    assert sum(int(words[1]) for words in counts) == calls


@pytest.mark.parametrize("name", ["stacks", "hostile"])
def test_flamegraph_pl(name):
    if not shutil.which("flamegraph.pl"):
        pytest.skip("no flamegraph.pl here")
    ElementTree.fromstring(run("flamegraph.pl", SAMPLES / f"{name}.folded"))


# --- the flame graph ---


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("flame_*.svg")), ids=lambda path: path.stem)
def test_well_formed(path):
    ElementTree.parse(path)


def browse(name, zoom=None, search=None):
    """The picture as the browser has it once its script has run; its boxes that are shown."""
    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if not browser:
        pytest.skip("no chromium here")
    state = {key: value for key, value in (("zoom", zoom), ("search", search)) if value is not None}
    address = f"{(SAMPLES / name).resolve().as_uri()}#{urllib.parse.urlencode(state)}"
    svg = run(browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000",
              "--window-size=1200,800", "--dump-dom", address)
    boxes = re.findall(r'<g class="(box [^"]*)" data-x="(\d+)" data-w="(\d+)"([^>]*)>'
                       r'<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)"', svg)
    keys = ("class", "x", "w", "rest", "left", "y", "width")
    boxes = [dict(zip(keys, box)) for box in boxes]
    for box in boxes:
        box["name"] = re.search('aria-label="([^,"]*)', box["rest"]).group(1)
    return svg, [box for box in boxes if "display: none" not in box["rest"]]


def matched(svg):
    return float(re.search(r">([\d.]+)% matched<", svg).group(1))


def test_script_runs():
    svg, boxes = browse("flame_many_calls.svg")
    assert re.search('<svg [^>]*class="live"', svg)
    assert "matched" not in svg.split("<script>")[0]
    assert boxes[0]["name"] == "all" and float(boxes[0]["width"]) > 1100


def box_of(name):
    """The number of a box in the whole picture."""
    _, whole = browse("flame_many_calls.svg")
    return next(i for i, box in enumerate(whole) if box["name"] == name)


def test_zoom():
    svg, boxes = browse("flame_many_calls.svg", zoom=box_of("postgres"))
    postgres = next(box for box in boxes if box["name"] == "postgres")
    assert postgres["width"] == boxes[0]["width"]
    assert "below" in boxes[0]["class"] and "below" not in postgres["class"]
    assert not {"nginx", "node"} & {box["name"] for box in boxes}
    # The row above fills it again, up to the gaps.
    above = [box for box in boxes if int(box["y"]) == int(postgres["y"]) - 18]
    assert len(above) > 1
    assert sum(float(box["width"]) for box in above) > 0.98 * float(postgres["width"])
    assert 'transform="translate' in svg


def test_zoom_out_of_range():
    _, boxes = browse("flame_many_calls.svg", zoom=99999)
    assert boxes[0]["name"] == "all" and "below" not in boxes[0]["class"]


def test_search():
    svg, boxes = browse("flame_many_calls.svg", search="^pread")
    found = [box for box in boxes if "match" in box["class"]]
    assert found and all(box["name"].startswith("pread") for box in found)
    # A match above another match is not counted twice.
    calls = sum(int(box["w"]) for box in boxes
                if box["name"] == "pread64" and "call" in box["class"])
    assert matched(svg) == pytest.approx(100 * calls / int(boxes[0]["w"]), abs=0.02)


def test_search_when_zoomed():
    index = box_of("postgres")
    assert matched(browse("flame_many_calls.svg", zoom=index, search="PostgresMain")[0]) > 90
    # The boxes below are around all of it.
    assert matched(browse("flame_many_calls.svg", zoom=index, search="^all$")[0]) == 100
    assert matched(browse("flame_many_calls.svg", zoom=index, search="nginx")[0]) == 0


def test_search_case_and_errors():
    assert matched(browse("flame_many_calls.svg", search="postgresmain")[0]) > 0
    assert matched(browse("flame_many_calls.svg", search="POSTGRESMAIN")[0]) == 0
    assert "not a regular expression" in browse("flame_many_calls.svg", search="(")[0]


def test_hostile_in_browser():
    svg, boxes = browse("flame_hostile.svg", search="</text><script>")
    assert any("match" in box["class"] for box in boxes)
    assert svg.count("<script") == 1


def test_empty_in_browser():
    svg, boxes = browse("flame_empty.svg", search="x")
    assert len(boxes) == 1 and matched(svg) == 0
