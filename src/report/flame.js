// SPDX-License-Identifier: BSD-2-Clause
// Makes a flame graph move: zoom, search and tooltips. The boxes are all in the picture
// already, each with its place and weight; zooming only moves them. What is zoomed in on and
// searched for is kept behind the # of the address, so that it can be reloaded and passed on.
(function () {
"use strict";

const SVG = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
const svg = document.currentScript ? document.currentScript.ownerSVGElement : document.documentElement;
const alone = svg === document.documentElement;
const MARGIN = 10, PADDING = 4, GAP = 0.6, GAP_MIN = 3, LEAST = 0.1, LABEL_MIN = 3, WIDTH_MIN = 800, TIP_COLUMNS = 84;
const height = svg.viewBox.baseVal.height;
let width = svg.viewBox.baseVal.width, view, pattern = null;

function make(name, parent, attributes, text) {
	const element = document.createElementNS(SVG, name);
	for (const key in attributes)
		element.setAttribute(key, attributes[key]);
	if (text !== undefined)
		element.textContent = text;
	return parent.appendChild(element);
}

// In the order of the file: a box stands before all that are above it.
const boxes = Array.from(svg.querySelectorAll("g.box"), function (g) {
	const title = g.querySelector("title"), rect = g.querySelector("rect");
	const lines = title.textContent.split("\n");
	// The browser's own tooltip would come on top of ours.
	title.remove();
	g.setAttribute("role", "img");
	g.setAttribute("aria-label", lines.filter(Boolean).join(", "));
	return { g: g, rect: rect, text: g.querySelector("text"), name: lines[0], lines: lines,
		x: Number(g.dataset.x), w: Number(g.dataset.w), y: Number(rect.getAttribute("y")) };
});
view = boxes[0];

function covers(outer, inner) {
	return outer.y >= inner.y && outer.x <= inner.x && outer.x + outer.w >= inner.x + inner.w;
}

function percent(part, all) {
	return (all ? part / all * 100 : 0).toFixed(2) + "%";
}

// --- text ---

const charWidth = (function () {
	const probe = make("g", svg, { class: "box" });
	const length = make("text", probe, {}, "m".repeat(100)).getComputedTextLength() / 100;
	probe.remove();
	return length || 7.23;
})();

// Letters of the East take two columns.
function columnsOf(letter) {
	const code = letter.codePointAt(0);
	return code >= 0x1100 && !(code >= 0x2000 && code < 0x2e80) ? 2 : 1;
}

function fit(name, columns) {
	let used = 0, kept = "";
	for (const letter of name) {
		used += columnsOf(letter);
		if (used > columns)
			return kept + "\u2026";
		if (used < columns)
			kept += letter;
	}
	return name;
}

// --- zoom ---

function place(box, x, w) {
	const columns = Math.floor((w - 2 * PADDING) / charWidth);
	box.rect.setAttribute("x", x.toFixed(2));
	box.rect.setAttribute("width", (w > GAP_MIN ? w - GAP : w).toFixed(2));
	if (columns >= LABEL_MIN && !box.text)
		box.text = make("text", box.g, { y: box.y + 13 });
	if (!box.text)
		return;
	box.text.setAttribute("x", (x + PADDING).toFixed(2));
	box.text.textContent = columns >= LABEL_MIN ? fit(box.name, columns) : "";
}

function layout() {
	const scale = (width - 2 * MARGIN) / (view.w || 1), whole = width - 2 * MARGIN;
	for (const box of boxes) {
		const below = box !== view && covers(box, view), inside = covers(view, box);
		const shown = below || (inside && (box === view || box.w * scale >= LEAST));
		box.g.style.display = shown ? "" : "none";
		box.g.classList.toggle("below", below);
		if (below || box === view)
			place(box, MARGIN, whole);
		else if (shown)
			place(box, MARGIN + (box.x - view.x) * scale, box.w * scale);
	}
	controls.out.style.display = view === boxes[0] ? "none" : "";
}

function zoom(box) {
	view = box;
	layout();
	search();
	remember();
}

// --- search ---

// Boxes that match, without counting what is above them twice, as a part of what is in view.
function search() {
	let sum = 0, end = view.x;
	for (const box of boxes) {
		const match = pattern !== null && pattern.test(box.name);
		box.g.classList.toggle("match", match);
		if (!match || !(covers(box, view) || covers(view, box)) || box.x + box.w <= end)
			continue;
		const from = Math.max(box.x, end), to = Math.min(box.x + box.w, view.x + view.w);
		sum += Math.max(0, to - from);
		end = Math.max(end, to);
	}
	svg.classList.toggle("searching", pattern !== null);
	controls.found.textContent = pattern === null ? "" : percent(sum, view.w) + " matched";
}

// Capitals matter only if there are any, as in many editors.
function find(text) {
	let wrong = false;
	pattern = null;
	try {
		if (text)
			pattern = new RegExp(text, /[A-Z]/.test(text) ? "u" : "iu");
	} catch (error) {
		wrong = true;
	}
	controls.field.classList.toggle("wrong", wrong);
	search();
	if (wrong)
		controls.found.textContent = "not a regular expression";
	remember();
}

// --- the address ---

function remember() {
	const state = new URLSearchParams();
	if (view !== boxes[0])
		state.set("zoom", boxes.indexOf(view));
	if (controls.field.value)
		state.set("search", controls.field.value);
	try {
		if (alone)
			history.replaceState(null, "", "#" + state);
	} catch (error) {
		// Not every place that shows files has a history.
	}
}

function recall() {
	const state = new URLSearchParams(alone ? location.hash.slice(1) : "");
	controls.field.value = state.get("search") || "";
	view = boxes[Number(state.get("zoom"))] || boxes[0];
	layout();
	find(controls.field.value);
}

// --- tooltip ---

const tip = make("g", svg, { class: "tip" });
tip.style.display = "none";

function wrapped(lines) {
	const result = [];
	for (const line of lines) {
		const letters = Array.from(line);
		for (let i = 0; i < letters.length && i < 12 * TIP_COLUMNS; i += TIP_COLUMNS)
			result.push(letters.slice(i, i + TIP_COLUMNS).join(""));
	}
	return result;
}

function tipShow(box, event) {
	const lines = box.lines.slice(), bounds = svg.getBoundingClientRect();
	const ratio = width / bounds.width;
	let x = (event.clientX - bounds.left) * ratio + 14, y = (event.clientY - bounds.top) * ratio + 18;
	if (view !== boxes[0] && covers(view, box))
		lines[2] += " of all, " + percent(box.w, view.w) + " of what is zoomed in on";
	tip.textContent = "";
	tip.style.display = "";
	const paper = make("rect", tip, { rx: 4 }), shown = wrapped(lines);
	let longest = 0;
	shown.forEach(function (line, i) {
		const text = make("text", tip, { x: 10, y: 19 + 17 * i, class: i ? "" : "name" }, line);
		longest = Math.max(longest, text.getComputedTextLength());
	});
	const w = longest + 20, h = 17 * shown.length + 12;
	paper.setAttribute("width", w);
	paper.setAttribute("height", h);
	x = Math.max(2, Math.min(x, width - w - 2));
	if (y + h > height - 2)
		y = Math.max(2, y - h - 30);
	tip.setAttribute("transform", "translate(" + x.toFixed(1) + " " + y.toFixed(1) + ")");
}

// --- controls ---

const controls = (function () {
	const holder = make("foreignObject", svg, { y: 14, width: 230, height: 30 });
	const field = document.createElementNS(XHTML, "input");
	field.setAttribute("type", "search");
	field.setAttribute("placeholder", "Search: regular expression");
	field.setAttribute("spellcheck", "false");
	field.setAttribute("class", "field");
	holder.appendChild(field);
	const out = make("g", svg, { class: "button", role: "button" });
	make("rect", out, { width: 80, height: 26, rx: 4 });
	make("text", out, { x: 40, y: 17 }, "Zoom out");
	return { holder: holder, field: field, out: out,
		found: make("text", svg, { y: 58, class: "found" }) };
})();

// The file has to guess how wide letters are.
const keys = Array.from(svg.querySelectorAll("text.key"), function (text) {
	return { text: text, swatch: text.previousElementSibling };
});

function layoutLegend() {
	let x = MARGIN, y = keys.length ? Number(keys[0].text.getAttribute("y")) : 0;
	for (const key of keys) {
		const w = 17 + key.text.getComputedTextLength();
		if (x + w > width - MARGIN && x > MARGIN) {
			x = MARGIN;
			y += 18;
		}
		key.swatch.setAttribute("x", x);
		key.swatch.setAttribute("y", y - 10);
		key.text.setAttribute("x", x + 17);
		key.text.setAttribute("y", y);
		x += w + 18;
	}
}

function resize() {
	if (alone) {
		width = Math.max(WIDTH_MIN, document.documentElement.clientWidth || window.innerWidth);
		svg.setAttribute("width", width);
		svg.setAttribute("viewBox", "0 0 " + width + " " + height);
	}
	controls.holder.setAttribute("x", width - MARGIN - 230);
	controls.found.setAttribute("x", width - MARGIN);
	controls.out.setAttribute("transform", "translate(" + (width - MARGIN - 320) + " 15)");
	layoutLegend();
	layout();
}

boxes.forEach(function (box) {
	box.g.addEventListener("click", function () { zoom(box); });
	box.g.addEventListener("mousemove", function (event) { tipShow(box, event); });
	box.g.addEventListener("mouseleave", function () { tip.style.display = "none"; });
});
controls.out.addEventListener("click", function () { zoom(boxes[0]); });
controls.field.addEventListener("input", function () { find(controls.field.value); });
window.addEventListener("resize", resize);
window.addEventListener("hashchange", recall);
window.addEventListener("keydown", function (event) {
	const typing = document.activeElement === controls.field;
	if ((event.key === "/" && !typing) || ((event.ctrlKey || event.metaKey) && event.key === "f")) {
		event.preventDefault();
		controls.field.focus();
		controls.field.select();
	} else if (event.key === "Escape" && controls.field.value) {
		controls.field.value = "";
		find("");
	} else if (event.key === "Escape") {
		controls.field.blur();
		zoom(boxes[0]);
	}
});
svg.classList.add("live");
svg.appendChild(tip);
resize();
recall();
})();
