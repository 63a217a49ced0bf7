# SPDX-License-Identifier: BSD-2-Clause
"""Tests what other programs make of the files that the unit tests left in SAMPLES_DIR: pprof, a
browser, readers of folded stacks, Prometheus and its tools. A program or module that is not here is
a test that is skipped, by name."""

import gzip
import itertools
import math
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "live"))

from prometheus import Prometheus, Server, need  # noqa: E402

TOP = Path(__file__).resolve().parents[2]
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


def browser_run(address, *options):
    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if not browser:
        pytest.skip("no chromium here")
    return run(browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000",
               *options, "--dump-dom", address)


def browse(name, zoom=None, search=None, width=1200):
    """The picture as the browser has it once its script has run; its boxes that are shown."""
    state = {key: value for key, value in (("zoom", zoom), ("search", search)) if value is not None}
    address = f"{(SAMPLES / name).resolve().as_uri()}#{urllib.parse.urlencode(state)}"
    return boxes_of(browser_run(address, f"--window-size={width},800"))


def boxes_of(svg):
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
    assert re.search('<svg [^>]*class="flame live"', svg)
    assert "matched" not in svg.split("<script>")[0]
    assert boxes[0]["name"] == "all" and float(boxes[0]["width"]) > 1100


def box_of(name):
    """The number of a box in the whole picture: all boxes count, also those too small to be shown."""
    titles = re.findall(r'<g class="box[^>]*><title>([^\n<]*)', (SAMPLES / "flame_many_calls.svg").read_text())
    return titles.index(name)


def test_zoom():
    svg, boxes = browse("flame_many_calls.svg", zoom=box_of("postgres"))
    postgres = next(box for box in boxes if box["name"] == "postgres")
    assert postgres["width"] == boxes[0]["width"]
    assert "outer" in boxes[0]["class"] and "outer" not in postgres["class"]
    assert not {"nginx", "node"} & {box["name"] for box in boxes}
    # The row below fills it again, up to the gaps and to what is narrower than a pixel.
    below = [box for box in boxes if int(box["y"]) == int(postgres["y"]) + 18]
    assert len(below) > 1
    assert sum(float(box["width"]) for box in below) > 0.95 * float(postgres["width"])
    assert 'transform="translate' in svg


def test_nothing_to_zoom_or_search():
    svg, boxes = browse("flame_empty.svg", search="x")
    assert len(boxes) == 1 and matched(svg) == 0
    _, boxes = browse("flame_many_calls.svg", zoom=99999)
    assert boxes[0]["name"] == "all" and "outer" not in boxes[0]["class"]


def test_search():
    svg, boxes = browse("flame_many_calls.svg", search="^pread")
    found = [box for box in boxes if "match" in box["class"]]
    assert found and all(box["name"].startswith("pread") for box in found)
    # A match below another match is not counted twice.
    calls = sum(int(box["w"]) for box in boxes
                if box["name"] == "pread64" and "call" in box["class"])
    assert matched(svg) == pytest.approx(100 * calls / int(boxes[0]["w"]), abs=0.02)
    assert matched(browse("flame_many_calls.svg", search="postgresmain")[0]) > 0
    assert matched(browse("flame_many_calls.svg", search="POSTGRESMAIN")[0]) == 0
    assert "not a regular expression" in browse("flame_many_calls.svg", search="(")[0]


def test_search_when_zoomed():
    index = box_of("postgres")
    assert matched(browse("flame_many_calls.svg", zoom=index, search="PostgresMain")[0]) > 90
    # The boxes above are around all of it.
    assert matched(browse("flame_many_calls.svg", zoom=index, search="^all$")[0]) == 100
    assert matched(browse("flame_many_calls.svg", zoom=index, search="nginx")[0]) == 0


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_the_root_is_seen_at_once(width):
    """However deep the picture is and however narrow the window: nothing is beside it."""
    svg, boxes = browse("flame_deep.svg", width=width)
    assert len(boxes) == 1003 and boxes[0]["name"] == "all" and boxes[0]["y"] == "0"
    top = int(re.search(r'class="boxes" transform="translate\(0 (\d+)\)', svg).group(1))
    assert top < 300
    drawn = int(re.search(r'<svg [^>]*viewBox="0 0 (\d+) ', svg).group(1))
    assert drawn <= max(width, 500), "a browser without a head may have no narrower window"
    for box in boxes:
        assert float(box["left"]) + float(box["width"]) <= drawn


def pressed(name, *keys):
    """The picture inside a page, after some keys."""
    script = "".join(
        f"document.querySelector('[tabindex=\"0\"]').dispatchEvent(new KeyboardEvent('keydown', "
        f"{{ key: '{key}', bubbles: true, cancelable: true }}));" for key in keys)
    page = SAMPLES / "page.html"
    page.write_text(f"<!doctype html><title>page</title>\n{(SAMPLES / name).read_text()}"
                    f"<script>{script}</script>")
    return boxes_of(browser_run(page.resolve().as_uri()))


def focused(boxes):
    (box,) = [box for box in boxes if 'tabindex="0"' in box["rest"]]
    return box


def test_keys_lead_through_the_picture():
    _, boxes = pressed("flame_many_calls.svg")
    assert focused(boxes)["name"] == "all"
    _, boxes = pressed("flame_many_calls.svg", "ArrowDown")
    widest = max((box for box in boxes if box["y"] == "18"), key=lambda box: int(box["w"]))
    assert focused(boxes) == widest
    _, boxes = pressed("flame_many_calls.svg", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight")
    assert focused(boxes)["y"] == "18" and focused(boxes)["x"] != widest["x"]
    svg, boxes = pressed("flame_many_calls.svg", "ArrowDown", "Enter", "ArrowLeft", "ArrowUp")
    assert focused(boxes)["name"] == "all" and "outer" in boxes[0]["class"]
    assert re.search('<g class="tip" style="" ', svg)
    _, boxes = pressed("flame_many_calls.svg", "ArrowDown", "Enter", "Home", "Enter", "End", "x")
    assert "outer" not in boxes[0]["class"]


def test_back_undoes_a_zoom():
    svg, boxes = pressed("flame_many_calls.svg", "ArrowDown", "Enter", "ArrowDown", "Enter", "Backspace")
    widest = max((box for box in boxes if box["y"] == "18"), key=lambda box: int(box["w"]))
    assert "outer" not in widest["class"] and "outer" in boxes[0]["class"]
    assert re.search(r'<g class="button"[^>]*><rect[^>]*></rect><text[^>]*>Back<', svg)
    _, boxes = pressed("flame_many_calls.svg", "ArrowDown", "Enter", "ArrowDown", "Enter", "Backspace", "Backspace")
    assert not any("outer" in box["class"] for box in boxes)


def test_changes_are_told_apart_by_everybody():
    """Colours of a differential flame graph: neighbours, and more from less."""
    css = (TOP / "src/report/flame.css").read_text()
    fills = [re.search(r"rect\.d%d \{ fill: (#\w+);" % i, css).group(1) for i in range(8)]
    for sight in SIGHTS:
        seen = [oklab(fill, sight) for fill in fills]
        for one, other in [*zip(range(7), range(1, 8)), (0, 6), (1, 5), (2, 4), (0, 7)]:
            assert math.dist(seen[one], seen[other]) > 4, (sight, one, other)
    for i, fill in enumerate(fills):
        assert contrast(fill, "#ffffff" if i in (0, 6, 7) else "#14171a") > 4.5, fill


# How those see a colour who lack one kind of cones: Machado et al. 2009, on linear RGB.
SIGHTS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
               (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                 (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                (0.004733, 0.691367, 0.303900)),
}


def dot(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def linear(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def oklab(colour, sight):
    seen = [min(1, max(0, part)) for part in dot(SIGHTS[sight], linear(colour))]
    roots = [part ** (1 / 3) for part in dot(((0.41222, 0.53633, 0.05145), (0.21190, 0.68070, 0.10740),
                                              (0.08830, 0.28172, 0.62998)), seen)]
    return [100 * part for part in dot(((0.21045, 0.79362, -0.00407), (1.97800, -2.42859, 0.45059),
                                        (0.02590, 0.78277, -0.80868)), roots)]


def contrast(one, other):
    dark, light = sorted(dot(((0.2126, 0.7152, 0.0722),), linear(colour))[0] for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def test_colours_are_told_apart_by_everybody():
    """Two shades are told apart from 2 upward; 8 is far enough for narrow boxes."""
    css = (TOP / "src/report/flame.css").read_text()
    fills = dict(re.findall(r"rect\.(m\d|kernel|call) \{ fill: (#\w+);", css))
    assert len(fills) == 8
    for sight in SIGHTS:
        for one, other in itertools.combinations(fills, 2):
            distance = math.dist(oklab(fills[one], sight), oklab(fills[other], sight))
            assert distance > 8, (sight, one, other)
    for name, fill in fills.items():
        assert contrast(fill, "#ffffff" if name == "call" else "#14171a") > 4.5, name


def over_time_colours(kind, count):
    """Those of the style sheet of pictures over time: in the light and in the dark, with the paper."""
    light, dark = (TOP / "src/report/over_time.css").read_text().split("@media screen", 1)
    for css in light, dark:
        found = [re.search(r"\.%s%d \{ \w+: (#\w{6});" % (kind, i), css).group(1) for i in range(count)]
        yield re.search(r"\.panel \{ fill: (#\w{6});", css).group(1), found


def test_colours_of_heat_maps_are_even_steps():
    """Lightness goes one way for everybody, in steps that are about as large."""
    for paper, colours in over_time_colours("c", 9):
        for sight in SIGHTS:
            seen = [oklab(colour, sight) for colour in colours]
            light = [colour[0] for colour in seen]
            assert light in (sorted(light), sorted(light, reverse=True)), sight
            steps = [math.dist(one, other) for one, other in zip(seen, seen[1:])]
            assert min(steps) > 5 and max(steps) < 11, (sight, steps)
            assert math.dist(oklab(paper, sight), seen[0]) > 4, sight


def test_lines_are_told_apart_by_everybody():
    for _, colours in over_time_colours("s", 8):
        for sight in SIGHTS:
            for one, other in itertools.combinations(colours, 2):
                assert math.dist(oklab(one, sight), oklab(other, sight)) > 8, (sight, one, other)


PICTURES = ["heatmap_day", "series_calls", "series_p99", "series_hostile", "flame_many_calls", "flame_hostile",
            "flame_inverted", "flame_difference"]


def console(address):
    """Returns the lines that a browser writes to its console, and the document as it is in the end."""
    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if not browser:
        pytest.skip("no chromium here")
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                           "--virtual-time-budget=2000", "--dump-dom", address],
                          capture_output=True, text=True, timeout=300, check=True)  # fmt: skip
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line], done.stdout


def test_all_pictures_fit_into_one_page():
    """Each is well-formed by itself; in one page none disturbs another, and the console stays empty."""
    texts = []
    for name in PICTURES:
        ElementTree.parse(SAMPLES / f"{name}.svg")
        texts.append((SAMPLES / f"{name}.svg").read_text())
    page = SAMPLES / "pictures.html"
    page.write_text("<!doctype html><meta charset=utf-8><title>page</title>\n" + "\n".join(texts))
    complaints, dom = console(page.resolve().as_uri())
    assert complaints == []
    # The script of each flame graph has run on its own.
    assert len(re.findall('<svg [^>]*class="flame live"', dom)) == 4
    assert len(re.findall('<svg [^>]*class="over-time"', dom)) == 4
    # All rules of a style sheet are below the class of its picture.
    for sheet, own in ("over_time.css", ".over-time"), ("flame.css", ".flame"):
        css = re.sub(r"/\*.*?\*/", "", (TOP / "src/report" / sheet).read_text())
        for rule in re.findall(r"^([^@{}\n]+) \{", css, re.M):
            assert all(selector.startswith(own) for selector in rule.split(", ")), rule


def test_hostile_in_browser():
    svg, boxes = browse("flame_hostile.svg", search="</text><script>")
    assert any("match" in box["class"] for box in boxes)
    assert svg.count("<script") == 1


# --- Prometheus and its tools --------------------------------------------------------------------

NAMES = ["web", "web_pid", "web_cgroup", "hostile", "overflow", "empty"]
FORMATS = {
    "openmetrics": "application/openmetrics-text; version=1.0.0; charset=utf-8",
    "prom": "text/plain; version=0.0.4; charset=utf-8",
}


def sample(name, form):
    return (SAMPLES / f"metrics_{name}.{form}").read_bytes()


def sample_lines(text):
    return [line for line in text.decode().splitlines() if not line.startswith("#")]


def promtool(*words, text=None):
    return subprocess.run([need("promtool"), "check", *words], input=text, capture_output=True,
                          timeout=300)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_promtool(name):
    done = promtool("metrics", text=sample(name, "prom"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_promtool_finds_fault():
    """It would say so."""
    text = re.sub(rb"(?m)^# HELP bpftruss_attached .*\n", b"", sample("web", "prom"))
    done = promtool("metrics", text=text)
    assert done.returncode != 0 and b"bpftruss_attached" in done.stderr


def families(name, form):
    parser = pytest.importorskip({"openmetrics": "prometheus_client.openmetrics.parser",
                                  "prom": "prometheus_client.parser"}[form])
    return list(parser.text_string_to_metric_families(sample(name, form).decode()))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_python_client(name, form):
    found = families(name, form)
    samples = [one for family in found for one in family.samples]
    assert len(samples) == len(sample_lines(sample(name, form)))
    assert len({family.name for family in found}) == len(found)
    keys = {(one.name, tuple(sorted(one.labels.items()))) for one in samples}
    assert len(keys) == len(samples)
    assert all(family.documentation for family in found)


@pytest.mark.parametrize("form", FORMATS)
def test_python_client_types(form):
    kinds = {family.name: (family.type, family.unit) for family in families("web", form)}
    unit = "seconds" if form == "openmetrics" else ""
    assert kinds["bpftruss_syscalls"] == ("counter", "")
    assert kinds["bpftruss_syscall_duration_seconds"] == ("histogram", unit)
    assert kinds["bpftruss_prog_run_seconds"] == ("counter", unit)
    assert kinds["bpftruss_build" + ("" if unit else "_info")] == ("info" if unit else "gauge", "")


def test_hostile_names_come_back():
    calls = next(family for family in families("hostile", "openmetrics")
                 if family.name == "bpftruss_syscalls")
    comms = {one.labels["comm"] for one in calls.samples}
    assert {"a\"b\\c'd", "one\\x0atwo\\x0d\\x09x", "</script>", "visible"} <= comms


@pytest.fixture
def serve():
    """serve(name, form) offers a sample and returns (HOST:PORT, what was asked to accept)."""
    servers = []

    def start(name, form):
        accepts = []

        def answer(request):
            accepts.append(request.headers["Accept"])
            return 200, FORMATS[form], sample(name, form)

        servers.append(Server(answer))
        return servers[-1].target, accepts

    yield start
    for server in servers:
        server.close()


@pytest.mark.parametrize("form", FORMATS)
def test_prometheus_reads_all(serve, tmp_path, form):
    need("prometheus")
    target, accepts = serve("web", form)
    with Prometheus(tmp_path, target) as prometheus:
        prometheus.wait_scrape()
        assert prometheus.value("up") == 1
        lines = sample_lines(sample("web", form))
        assert prometheus.value("scrape_samples_scraped") == len(lines)
        assert prometheus.value("sum(bpftruss_syscalls_total)") == 6118
        assert prometheus.value('bpftruss_syscalls_total{unit="nginx.service",syscall="read"}') == 4000
        assert prometheus.value("sum by (errno) (bpftruss_syscall_errors_total{errno='EAGAIN'})") == 160
        assert prometheus.value('bpftruss_syscall_duration_seconds_bucket{'
                                'syscall="read",le="4.095e-06"}') == 3600
        assert prometheus.value('bpftruss_syscall_duration_seconds_sum{syscall="read"}') == 0.8054
        slow = prometheus.value("histogram_quantile(0.95, sum by (le) "
                                '(bpftruss_syscall_duration_seconds_bucket{syscall="read"}))')
        assert 0.001048576 <= slow <= 0.004194304
        labels, value = prometheus.query("bpftruss_target_info")[0]
        assert value == 1 and labels["cgroup"] == "/system.slice/nginx.service"
    assert all("application/openmetrics-text" in accept for accept in accepts) and accepts


def test_prometheus_reads_hostile_names(serve, tmp_path):
    need("prometheus")
    target, _ = serve("hostile", "openmetrics")
    with Prometheus(tmp_path, target) as prometheus:
        prometheus.wait_scrape()
        assert len(prometheus.query("bpftruss_syscalls_total")) == 14
        found = prometheus.query("bpftruss_syscalls_total{comm='one\\\\x0atwo\\\\x0d\\\\x09x'}")
        assert [value for _, value in found] == [1]


# --- docs/METRICS.md ---

DOCUMENT = (Path(__file__).resolve().parent.parent.parent / "docs" / "METRICS.md").read_text()


def test_document_names_every_metric():
    written = set()
    for name in NAMES:
        types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", sample(name, "prom").decode(), re.M))
        written |= set(types.items())
    written = {(name, "info" if name.endswith("_info") else kind) for name, kind in written}
    documented = set(re.findall(r"^\| `(\w+)` \| (\w+)", DOCUMENT, re.M))
    assert documented == written


@pytest.mark.parametrize("index,check", [(0, ("config", "--syntax-only")), (1, ("rules",))])
def test_document_examples(tmp_path, index, check):
    example = re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.S)[index]
    (tmp_path / "example.yml").write_text(example)
    done = promtool(*check, tmp_path / "example.yml")
    assert done.returncode == 0, done.stderr


# Series, an alert, when it is looked at, and with which summaries it fires: "" for never.
HOST = 'instance="web:9477"'
BUCKET = 'bpftruss_syscall_duration_seconds_bucket{%s,unit="db.service",syscall="fsync",le="%s"}'
OLDEST = 'bpftruss_syscall_oldest_in_flight_seconds{%s,unit="db.service"}' % HOST
LOST = 'bpftruss_lost_updates_total{%s,reason="task_table_full"}' % HOST
MISSED = 'bpftruss_prog_missed_total{%s,program="sys_exit"}' % HOST
ENTRIES = {name: 'bpftruss_map_%s{%s,table="threads"}' % (name, HOST)
           for name in ("peak_entries", "capacity")}  # fmt: skip
INCOMPLETE = "bpftruss on web:9477 does not count everything: "
ALERTS = [
    ("BpftrussIncomplete", {LOST: "5x30"}, {}, ""),
    ("BpftrussIncomplete", {LOST: "5+1x30"}, {"reason": "task_table_full"},
     INCOMPLETE + "task_table_full"),
    ("BpftrussIncomplete", {MISSED: "0x10 3x20"}, {"program": "sys_exit"}, INCOMPLETE + "sys_exit"),
    ("BpftrussIncomplete", {"bpftruss_attached{%s}" % HOST: "0x30"},
     {"__name__": "bpftruss_attached"}, INCOMPLETE),
    ("BpftrussIncomplete", {"bpftruss_attached{%s}" % HOST: "1x30"}, {}, ""),
    ("BpftrussDown", {'up{%s,job="bpftruss"}' % HOST: "0x30"}, {"job": "bpftruss"},
     "bpftruss on web:9477 does not answer"),
    ("BpftrussDown", {'up{%s,job="bpftruss"}' % HOST: "1x30"}, {}, ""),
    ("BpftrussDown", {'up{%s,job="node"}' % HOST: "0x30"}, {}, ""),
    ("BpftrussTableNearlyFull", {ENTRIES["peak_entries"]: "95x30", ENTRIES["capacity"]: "100x30"},
     {"table": "threads"},
     "the table of threads of bpftruss on web:9477 was 95% full"),
    ("BpftrussTableNearlyFull", {ENTRIES["peak_entries"]: "90x30", ENTRIES["capacity"]: "100x30"},
     {}, ""),
    # All of them take between 0.27 and 1.07 s, or less.
    ("SlowSync", {BUCKET % (HOST, "0.268435455"): "0x30", BUCKET % (HOST, "1.073741823"): "0+60x30",
                  BUCKET % (HOST, "+Inf"): "0+60x30"}, {"unit": "db.service"},
     "db.service: one fsync in a hundred takes more than 1.066s"),
    ("SlowSync", {BUCKET % (HOST, "0.268435455"): "0+60x30",
                  BUCKET % (HOST, "1.073741823"): "0+60x30",
                  BUCKET % (HOST, "+Inf"): "0+60x30"}, {}, ""),
    ("StuckInSystemCall", {OLDEST: "0+60x30"}, {"unit": "db.service"},
     "db.service has been in one system call for 20m 0s"),
    # It is another call each time; nothing but an idle one is in flight.
    ("StuckInSystemCall", {OLDEST: "70 1 70 2 70 1 70 1 70 2 70 1 70 1 70 2 70 1 70 1"}, {}, ""),
    ("StuckInSystemCall", {OLDEST: "0x30"}, {}, ""),
]  # fmt: skip
SEVERITY = {"BpftrussTableNearlyFull": "info"}


@pytest.mark.parametrize("alert,series,labels,summary", ALERTS)
def test_document_alerts(tmp_path, alert, series, labels, summary):
    """What the rules say of series of half an hour, a value a minute, after 20 minutes."""
    (tmp_path / "rules.yml").write_text(re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.S)[1])
    labels = dict(labels, instance="web:9477", severity=SEVERITY.get(alert, "warning"))
    labels.pop("__name__", None)
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [{"eval_time": "20m", "alertname": alert, "exp_alerts": [
            {"exp_labels": labels, "exp_annotations": {"summary": summary}}] if summary else []}],
    }  # fmt: skip
    # JSON is YAML, too.
    (tmp_path / "test.yml").write_text(json.dumps({"rule_files": ["rules.yml"], "tests": [test]}))
    done = subprocess.run([need("promtool"), "test", "rules", tmp_path / "test.yml"],
                          capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_document_joins_pods_with_their_names(tmp_path):
    """The example, on series as a host of Kubernetes and kube-state-metrics have them."""
    uid = "55c6c714-b240-4dec-9a45-57b61696ab6e"
    example = re.search(r"grouped by `pod`:\n\n((?:    .*\n)+)", DOCUMENT)[1]
    series = {
        'bpftruss_syscalls_total{pod_uid="%s",syscall="read"}' % uid: "0+600x10",
        'bpftruss_syscalls_total{pod_uid="-",syscall="read"}': "0+60x10",
        'kube_pod_info{uid="%s",namespace="shop",pod="cart-7d9f",instance="ksm:8080"}' % uid: "1x10",
        'kube_pod_info{uid="%s",namespace="shop",pod="till-5c6d",instance="ksm:8080"}' % uid[::-1]:
        "1x10",
    }  # fmt: skip
    labels = '{pod_uid="%s",syscall="read",namespace="shop",pod="cart-7d9f"}' % uid
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": example, "eval_time": "10m",
                              "exp_samples": [{"labels": labels, "value": 10}]}],
    }  # fmt: skip
    (tmp_path / "test.yml").write_text(json.dumps({"tests": [test]}))
    done = subprocess.run([need("promtool"), "test", "rules", tmp_path / "test.yml"],
                          capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
