# SPDX-License-Identifier: BSD-2-Clause
"""
Pages and pictures look as they did: screenshots are compared with those in looks/, at a sixteenth of their size.
There fonts of another version, and lines that they break elsewhere, make little difference; a lost style sheet, a
section in another place, a table or a graph of another width make much. GOLDEN_UPDATE=1 make check-readers
stores what is there now: look at it before you commit it.
"""

import base64
import os
from pathlib import Path

import pytest

SAMPLES = Path(os.environ["SAMPLES_DIR"])
LOOKS = Path(__file__).resolve().parent / "looks"
HEIGHTS = {360: 2560, 1280: 1792, 1920: 1280}
LIMIT = 0.02
NAMES = ["page_stacks.html", "page_timeline.html", "page_compare.html", "flame_many_calls.svg", "heatmap_day.svg",
         "series_calls.svg"]  # fmt: skip

# A cell is 16 by 16 pixels, 4 by 4 of the screenshot. It is alike if one near it in the other picture has about its
# colour.
SCRIPT = """
const CELL = 4, NEAR_X = 1, NEAR_Y = 2, DISTANCE = 24;
async function pixels(url) {
    const image = new Image();
    image.src = url;
    await image.decode();
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
}
async function shrunk(url) {
    const from = await pixels(url), to = new ImageData(from.width / CELL, from.height / CELL);
    for (let y = 0; y < to.height; y++) for (let x = 0; x < to.width; x++) for (let part = 0; part < 4; part++) {
        let sum = 0;
        for (let i = 0; i < CELL * CELL; i++)
            sum += from.data[4 * ((y * CELL + (i / CELL | 0)) * from.width + x * CELL + i % CELL) + part];
        to.data[4 * (y * to.width + x) + part] = sum / CELL / CELL;
    }
    return to;
}
async function png(url) {
    const image = await shrunk(url), canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext("2d").putImageData(image, 0, 0);
    const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
    return btoa(String.fromCharCode(...bytes));
}
function distance(a, at, b, other) {
    return Math.max(...[0, 1, 2].map(part => Math.abs(a.data[at + part] - b.data[other + part])));
}
function unlike(a, b) {
    let count = 0;
    for (let y = 0; y < a.height; y++) for (let x = 0; x < a.width; x++) {
        let least = 255;
        for (let v = Math.max(0, y - NEAR_Y); v <= Math.min(b.height - 1, y + NEAR_Y); v++)
            for (let u = Math.max(0, x - NEAR_X); u <= Math.min(b.width - 1, x + NEAR_X); u++)
                if (least > DISTANCE)
                    least = Math.min(least, distance(a, 4 * (y * a.width + x), b, 4 * (v * b.width + u)));
        count += least > DISTANCE;
    }
    return count / a.width / a.height;
}
async function compare(url, stored) {
    const now = await shrunk(url), before = await pixels(stored);
    if (now.width !== before.width || now.height !== before.height)
        return 1;
    return Math.max(unlike(now, before), unlike(before, now));
}
"""


def embedded(data):
    return '"data:image/png;base64,' + base64.b64encode(data).decode() + '"'


def shoot(browser, name, width, dark, change="0"):
    """A screenshot of the top of a page or a picture; then the window is empty but for the script."""
    height = HEIGHTS[width] if name.endswith(".html") else 960
    browser.size(width, height, dark)
    browser.open(SAMPLES / name)
    browser.run(change)
    shot = browser.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 0.25})
    browser.go("about:blank")
    browser.run(SCRIPT + "0")
    return shot


def stored_at(name, width, dark):
    return LOOKS / f"{Path(name).stem}-{width}-{'dark' if dark else 'light'}.png"


def unlike(browser, shot, stored):
    """The part of the cells that are unlike those of the stored picture."""
    return browser.run(f"compare({embedded(shot)}, {embedded(stored.read_bytes())})")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", HEIGHTS)
@pytest.mark.parametrize("name", NAMES)
def test_looks_as_before(browser, tmp_path, name, width, dark):
    stored, now = stored_at(name, width, dark), tmp_path / "now.png"
    now.write_bytes(shoot(browser, name, width, dark))
    if os.environ.get("GOLDEN_UPDATE"):
        stored.write_bytes(base64.b64decode(browser.run(f"png({embedded(now.read_bytes())})")))
    part = unlike(browser, now.read_bytes(), stored)
    assert part < LIMIT, f"{part:.1%} of {now} are unlike {stored}"


def style(rules):
    return f"""(function () {{ const sheet = new CSSStyleSheet(); sheet.replaceSync("{rules}");
        document.adoptedStyleSheets = [sheet]; return 0; }})()"""


@pytest.mark.parametrize("rules", ["* { font-family: serif !important }", "* { letter-spacing: .3px }"])
def test_other_fonts_look_alike(browser, rules):
    shot = shoot(browser, "page_stacks.html", 1280, False, style(rules))
    assert unlike(browser, shot, stored_at("page_stacks.html", 1280, False)) < LIMIT


@pytest.mark.parametrize("change", [
    "document.querySelector('style:last-of-type').remove()",
    "document.querySelector('nav').remove()",
    "document.querySelector('main').prepend(document.getElementById('stacks'))",
    style("table { width: auto !important }"),
    style("body { padding: 60px !important }"),
    style(".plots { grid-template-columns: 1fr !important }"),
    style(".box rect { fill: none !important }"),
], ids=["style", "nav", "order", "tables", "margins", "histograms", "boxes"])  # fmt: skip
def test_what_is_broken_looks_unlike(browser, change):
    """The comparison above finds this."""
    shot = shoot(browser, "page_stacks.html", 1280, False, change)
    assert unlike(browser, shot, stored_at("page_stacks.html", 1280, False)) > LIMIT
