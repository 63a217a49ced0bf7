# SPDX-License-Identifier: BSD-2-Clause
"""
Pages of --html in a browser without a network: what they show is what JSON has; sorting, filters, zoom and the
keyboard; names that would like to be code; every width, both colour schemes, paper. Without chromium all are
skipped by name.
"""

import itertools
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))

from test_readers import SIGHTS, contrast, oklab  # noqa: E402

BPFTRUSS = os.path.join(os.environ.get("O", str(TOP / "build")), "bpftruss")
SAMPLES = Path(os.environ["SAMPLES_DIR"])
SEEDS = TOP / "tests/fuzz/seeds/json"
PAGES = sorted(SAMPLES.glob("page_*.html"))


@pytest.fixture
def page(browser, tmp_path):
    """page(saved, options…) opens the page of a saved snapshot at 1280 pixels."""

    def open_page(saved, *options):
        path = tmp_path / "page.html"
        subprocess.run([BPFTRUSS, "report", str(saved), "--html", str(path), *options],
                       capture_output=True, check=True, timeout=60)  # fmt: skip
        browser.size(1280)
        browser.open(path)
        must_be_quiet(browser, path)
        return browser

    return open_page


def must_be_quiet(browser, path):
    assert browser.console == []
    assert browser.requests == [path.resolve().as_uri()]


def rows(browser, section):
    """The texts of the cells of a table, as lists."""
    return browser.run(f"""Array.from(document.querySelectorAll("#{section} tbody tr"), row =>
        Array.from(row.children, cell => cell.textContent))""")


def titles(browser, section):
    return browser.run(f"""Array.from(document.querySelectorAll("#{section} thead th"),
        cell => cell.textContent)""")


def column(browser, section, title):
    at = titles(browser, section).index(title)
    return [row[at] for row in rows(browser, section)]


def click(browser, section, title):
    browser.run(f"""Array.from(document.querySelectorAll("#{section} thead button"))
        .find(button => button.textContent === "{title}").click()""")


def report(saved, *options):
    done = subprocess.run([BPFTRUSS, "report", str(saved), *options], capture_output=True,
                          check=True, timeout=60)  # fmt: skip
    return json.loads(done.stdout)


def ns_of(text):
    """A time of the page in ns, as exact as it is written."""
    number, _, unit = text.replace(",", "").partition("\u00a0")
    return float(number) * {"": 1, "ns": 1, "\u00b5s": 1e3, "ms": 1e6, "s": 1e9}[unit]


# --- numbers ---


def test_numbers_are_those_of_json(page):
    saved = SEEDS / "stacks"
    shown = page(saved, "--by", "comm,syscall")
    told = report(saved, "--json", "--by", "comm,syscall", "--columns", "calls,errors,total,p99")
    # Those without a call that ended have a table of their own.
    table = {(row["comm"], row["syscall"]): row for row in told["table"] if row["calls"]}
    found = {}
    for section in ("calls", "waiting"):
        heads = titles(shown, section)
        for row in rows(shown, section):
            found[row[0], row[1]] = dict(zip(heads, row))
    assert set(found) == set(table)
    for key, row in table.items():
        cells = found[key]
        assert int(cells["calls"].replace(",", "")) == row["calls"]
        assert int(cells["errors"].replace(",", "")) == row["errors"]
        for title, field in (("total", "total_ns"), ("p99", "p99_ns")):
            if row[field] is None:
                assert cells[title] == "\u2013"
            else:
                assert ns_of(cells[title]) == pytest.approx(row[field], rel=0.006)


def test_options_choose_tables_and_columns(page):
    shown = page(SEEDS / "stacks", "--by", "pid", "--columns", "calls,max", "--top", "1")
    assert titles(shown, "calls") == ["pid", "comm", "calls", "max"]
    facts = shown.run("""document.querySelector("header").textContent""")
    assert "bpftruss report --html " in facts and "--columns calls,max --top 1" in facts
    assert len(rows(shown, "calls")) == 2 and "others" in rows(shown, "calls")[1][1]
    shown = page(SEEDS / "paths")
    assert titles(shown, "paths")[0] in ("path", "file") and rows(shown, "paths")


# --- tables ---


def test_sorts_by_any_column(page):
    shown = page(SEEDS / "stacks", "--by", "comm,syscall")
    calls = lambda: [int(text.replace(",", "")) for text in column(shown, "calls", "calls")]  # noqa: E731
    click(shown, "calls", "calls")
    assert calls() == sorted(calls(), reverse=True) and len(calls()) > 2
    click(shown, "calls", "calls")
    assert calls() == sorted(calls())
    sort = """Array.from(document.querySelectorAll("#calls thead th"), th => th.getAttribute("aria-sort"))"""
    assert shown.run(sort).count("ascending") == 1 and "descending" not in shown.run(sort)
    click(shown, "calls", "comm")
    names = column(shown, "calls", "comm")
    assert names == sorted(names)


def test_sorts_by_keyboard(page):
    shown = page(SEEDS / "stacks")
    shown.run("""document.querySelector("#calls thead button").focus()""")
    shown.press("Tab")
    assert shown.run("document.activeElement.textContent") == "calls"
    assert shown.run("""document.activeElement.matches(":focus-visible")""")
    shown.press("Enter", text="\r")
    assert shown.run("""document.activeElement.parentNode.getAttribute("aria-sort")""") == "descending"


def filter_by(browser, words):
    browser.run(f"""(function () {{ const input = document.querySelector("#calls input");
        input.value = "{words}"; input.dispatchEvent(new Event("input")); }})()""")


def test_filters_by_words_and_shows_more(browser):
    path = SAMPLES / "page_many_rows.html"
    browser.size(1280)
    browser.open(path)
    must_be_quiet(browser, path)
    status = """document.querySelector("#calls [role=status]").textContent"""
    length = """document.querySelectorAll("#calls tbody tr").length"""
    more = """document.querySelector("#calls .more button:%s-child").click()"""
    assert browser.run(length) == 20 and browser.run(status) == "The first 20 of 9,000 rows"
    browser.run(more % "first")
    assert browser.run(length) == 220
    filter_by(browser, "WORKER 77 write")
    found = rows(browser, "calls")
    assert len(found) == 19 and all("77" in row[0] and row[2] == "write" for row in found)
    filter_by(browser, "worker 77")
    assert browser.run(status) == "The first 20 of 171 rows"
    browser.run(more % "last")
    assert browser.run(length) == 171 and browser.run(status) == "171 rows"
    filter_by(browser, "no such name")
    assert browser.run(length) == 0 and browser.run(status) == "0 rows"
    filter_by(browser, "")
    assert browser.run(length) == 20


def test_ten_thousand_rows_are_small():
    assert (SAMPLES / "page_many_rows.html").stat().st_size < 2_000_000


# --- histograms and flame graphs ---


def test_histograms_have_all_calls(page):
    saved = SEEDS / "stacks"
    shown = page(saved)
    told = report(saved, "--json", "--hist")
    for row in told["table"]:
        texts = shown.run(f"""Array.from(document.querySelectorAll("#durations figure")).filter(figure =>
            figure.querySelector("b").textContent === "{row["syscall"]}").flatMap(figure =>
            Array.from(figure.querySelectorAll("rect title"), title => title.textContent))""")
        counts = [int(re.search(": ([0-9,]+) calls?$", text)[1].replace(",", "")) for text in texts]
        assert counts == [bucket["calls"] for bucket in row["histogram"]]


def test_comparison_shows_both_sides(browser):
    path = SAMPLES / "page_compare.html"
    browser.size(1280)
    browser.open(path)
    must_be_quiet(browser, path)
    assert browser.run("""document.querySelectorAll("#durations figure").length""") == 4
    for name in ("rect.one", "path.other"):
        assert browser.run(f"""Array.from(document.querySelectorAll("#durations svg")).every(
            svg => svg.querySelector("{name}"))"""), name
    assert "+200%" in rows(browser, "calls")[0] and "failed" in rows(browser, "calls")[0]
    assert "before </script>" in browser.run("""document.querySelector(".legend").textContent""")


def test_flame_graph_by_each_weight(page):
    shown = page(SEEDS / "stacks")
    visible = """Array.from(document.querySelectorAll("#stacks figure")).filter(f => f.checkVisibility())
        .map(f => f.dataset.weight).join()"""
    assert shown.run(visible) == "calls"
    for weight in ("wall time", "CPU time", "errors"):
        shown.run(f"""Array.from(document.querySelectorAll("#stacks .tools button"))
            .find(button => button.textContent === "by {weight}").click()""")
        assert shown.run(visible) == weight
        assert shown.run("""document.querySelectorAll("#stacks [aria-pressed=true]").length""") == 1
        assert shown.run("""(function () { const svg = Array.from(document.querySelectorAll("#stacks svg"))
            .find(svg => svg.checkVisibility()); return svg.clientWidth <= svg.parentNode.clientWidth &&
            svg.clientWidth > 1100 && svg.querySelectorAll(".box[role=treeitem]").length > 3; })()""")
    assert shown.console == []


def test_flame_graph_zooms(page):
    shown = page(SEEDS / "stacks")
    widths = """Array.from(document.querySelectorAll("#stacks figure:not([hidden]) .box"))
        .filter(box => box.style.display !== "none").map(box => Number(box.querySelector("rect").getAttribute("width")))"""
    before = shown.run(widths)
    shown.run("""document.querySelectorAll("#stacks figure:not([hidden]) .box")[1]
        .dispatchEvent(new MouseEvent("click", { bubbles: true }))""")
    after = shown.run(widths)
    assert after[1] == after[0] > before[1] and len(after) < len(before)


# --- names, and what a page may do ---


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_is_quiet_and_runs_no_name(browser, path):
    """Elements are those of ours: as many scripts as there are in the file, no image, no link but to sections."""
    browser.size(1280)
    browser.open(path)
    must_be_quiet(browser, path)
    assert browser.run("document.scripts.length") == path.read_text().count("<script")
    assert browser.run("""document.querySelectorAll("img, iframe, object, embed, link, base, form").length""") == 0
    assert browser.run("""Array.from(document.querySelectorAll("[href]")).every(
        link => document.getElementById(link.getAttribute("href").slice(1)))""")
    assert browser.run("""!document.getElementById("static")""")


def test_hostile_names_are_text(page):
    shown = page(SEEDS / "hostile", "--by", "comm,syscall")
    names = column(shown, "calls", "comm")
    assert "</script>" in names and 'a"b\\c\'d' in names and "one\\x0atwo\\x0d\\x09x" in names


def test_the_policy_holds(page):
    """Even a script in the page could neither load anything nor run what is not ours."""
    shown = page(SEEDS / "stacks")
    shown.run("""(function () { const script = document.createElement("script");
        script.textContent = "window.injected = 1"; document.body.append(script);
        document.body.append(Object.assign(new Image(), { src: "page.png" })); })()""")
    shown.run("new Promise(done => setTimeout(done, 50))")
    assert shown.run("window.injected === undefined")
    assert len(shown.console) >= 2 and all("Content Security Policy" in text for text in shown.console)
    assert shown.blocked == ["csp"]


def test_without_a_script(browser):
    path = SAMPLES / "page_ordinary.html"
    browser.size(1280)
    browser.open(path, scripts=False)
    text = browser.run("document.body.innerText")
    assert "exact: no call is missing" in text and "\nread\t" in text
    assert "nav" not in browser.run("Array.from(document.body.children, child => child.localName).join()")


def deep(nr_frames):
    """A saved snapshot with one stack of so many frames."""
    data = json.loads((SEEDS / "stacks").read_text())
    data["rows"] = [row for row in data["rows"] if row["stacks"] and row["pid"]][:1]
    (stack,) = stacks = data["rows"][0]["stacks"][:1]
    stack["frames"] = [{"module": "deep", "symbol": f"frame_{i}", "offset": 1, "inlined": False,
                        "kernel": False} for i in range(nr_frames)]  # fmt: skip
    stack["end"] = "complete"
    data["rows"][0]["stacks"] = stacks
    return data


def test_one_row_and_deep_stacks(page, tmp_path):
    saved = tmp_path / "saved.json"
    saved.write_text(json.dumps(deep(127)))
    shown = page(saved)
    assert sum(len(rows(shown, section)) for section in ("calls", "waiting")) == 1
    assert shown.run("""Array.from(document.querySelectorAll("#stacks figure:not([hidden]) .box"),
        box => box.getAttribute("aria-label")).filter(label => label.startsWith("frame_")).length""") == 127


def test_nothing_counted(browser):
    path = SAMPLES / "page_empty.html"
    browser.size(360)
    browser.open(path)
    assert "No call was counted." in browser.run("document.body.textContent")


# --- looks ---


@pytest.mark.parametrize("name", ["stacks", "hostile_stacks", "losses", "timeline", "compare"])
@pytest.mark.parametrize("width", [360, 1280, 1920])
def test_fits_every_width(browser, name, width):
    for dark in (False, True):
        browser.size(width, dark=dark)
        browser.open(SAMPLES / f"page_{name}.html")
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run("""Array.from(document.querySelectorAll("button, input")).filter(e => e.checkVisibility())
            .every(e => e.getBoundingClientRect().height >= 24)""")
        assert browser.console == []
        background = browser.run("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(22, 25, 29)") == dark


@pytest.mark.parametrize("width", [360, 800, 1280])
@pytest.mark.parametrize("name", ["page_timeline.html", "heatmap_day.svg", "series_calls.svg", "chart.svg"])
def test_letters_can_be_read(browser, tmp_path, name, width):
    """Pictures that do not adapt to a narrow window are scrolled rather than shrunk."""
    path = SAMPLES / name
    if name == "chart.svg":
        path = tmp_path / name
        report(SEEDS / "stacks", "--json", "--chart", str(path))
    browser.size(width)
    browser.open(path)
    assert browser.run("""Math.min(...Array.from(document.querySelectorAll("svg:not(.plot) text"),
        text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))""") >= 8
    assert browser.console == []


def test_prints(browser):
    browser.size(1280, dark=True)
    browser.open(SAMPLES / "page_stacks.html")
    pdf = browser.pdf()
    # All of it is on paper: more than one page.
    assert pdf.startswith(b"%PDF-") and len(re.findall(rb"/Type /Page\b", pdf)) > 1
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("""Array.from(document.querySelectorAll(".tools, .more, nav"))
        .every(element => !element.checkVisibility())""")
    assert browser.run("""document.querySelectorAll("#calls tbody tr").length""") > 0


def schemes():
    """The colours of page.css by name, of the light scheme and the dark one."""
    css = (TOP / "src/report/page.css").read_text()
    light, dark = re.findall(r":root \{[^}]*--paper[^}]*\}", css)
    return [dict(re.findall(r"--([\w-]+): (#\w+);", text)) for text in (light, dark)]


def whole(colour):
    return colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])


@pytest.mark.parametrize("colours", schemes(), ids=["light", "dark"])
def test_colours_can_be_read_and_told_apart(colours):
    colours = {name: whole(colour) for name, colour in colours.items()}
    for text, ground in itertools.product(("ink", "soft", "accent", "bad"), ("paper", "panel")):
        assert contrast(colours[text], colours[ground]) > 4.5, (text, ground)
    assert contrast(colours["ink"], colours["bar"]) > 4.5
    assert contrast(colours["ink"], colours["warn"]) > 4.5
    for sight in SIGHTS:
        assert math.dist(oklab(colours["one"], sight), oklab(colours["other"], sight)) > 8, sight


AXE_PLACES = ["/usr/share/nodejs", "/usr/lib/node_modules", "/usr/local/lib/node_modules"]


@pytest.fixture(scope="module")
def axe():
    """The script of the package axe-core of npm: AXE is its path, unless it is installed for all."""
    places = [os.environ.get("AXE", ""), *(f"{place}/axe-core/axe.min.js" for place in AXE_PLACES)]
    path = next((Path(place) for place in places if place and Path(place).exists()), None)
    if not path:
        pytest.skip("no axe-core here (npm pack axe-core; AXE=axe.min.js)")
    return path.read_text()


@pytest.mark.parametrize("name", ["stacks", "hostile_stacks", "timeline", "compare_stacks", "slowest", "losses", "empty"])
def test_accessible_by_axe(browser, axe, name):
    for width, dark in ((360, True), (1280, False)):
        browser.size(width, dark=dark)
        browser.open(SAMPLES / f"page_{name}.html")
        browser.run(axe + "; 0")
        found = browser.run("""axe.run().then(result => result.violations.map(
            one => one.id + ": " + one.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(" ")))""")
        assert found == []
