// SPDX-License-Identifier: BSD-2-Clause
// Makes a flame graph move: zoom, search, tooltips, and a layout as wide as the window. The boxes are
// all in the picture already, each with its place and weight; zooming only moves them. What is zoomed in
// on and searched for is kept behind the # of the address, so that it can be reloaded and passed on. In a
// page of HTML, it is as wide as what it stands in, and keys are its own only while it has the focus.
// A page of several graphs has the script once, and calls flame() for each when it is first shown.
"use strict";

function flame(svg) {
const SVG = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
const alone = svg === document.documentElement;
const MARGIN = 10, PADDING = 4, GAP = 0.6, GAP_MIN = 3, LABEL_MIN = 3, WIDTH_MIN = 320;
const LEVEL = 18, LINE = 15, CONTROLS = 390, NARROW = 800, past = [];
let width = svg.viewBox.baseVal.width, height = svg.viewBox.baseVal.height, view, focused, pattern = null;

function make(name, parent, attributes, text) {
	const element = document.createElementNS(SVG, name);
	for (const key in attributes)
		element.setAttribute(key, attributes[key]);
	if (text !== undefined)
		element.textContent = text;
	return parent.appendChild(element);
}

// In the order of the file: a box stands before all that are below it.
const plot = svg.querySelector("g.boxes"), outside = [];
const boxes = Array.from(plot.querySelectorAll("g.box"), function (g) {
	const title = g.querySelector("title"), rect = g.querySelector("rect");
	const lines = title.textContent.split("\n"), y = Number(rect.getAttribute("y"));
	const box = { g: g, rect: rect, text: g.querySelector("text"), name: lines[0], lines: lines,
		x: Number(g.dataset.x), w: Number(g.dataset.w), y: y, level: y / LEVEL, shown: true };
	// The browser's own tooltip would come on top of ours.
	title.remove();
	g.setAttribute("role", "treeitem");
	g.setAttribute("aria-level", box.level + 1);
	g.setAttribute("aria-label", lines.filter(Boolean).join(", "));
	g.setAttribute("tabindex", -1);
	outside[box.level] = box;
	box.parent = outside[box.level - 1];
	return box;
});
view = focused = boxes[0];
plot.setAttribute("role", "tree");

function covers(outer, inner) {
	return outer.y <= inner.y && outer.x <= inner.x && outer.x + outer.w >= inner.x + inner.w;
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

// The part of a name that fits, with room for an ellipsis unless it is all.
function fit(name, columns) {
	let used = 0, kept = "";
	for (const letter of name) {
		used += columnsOf(letter);
		if (used > columns)
			return kept;
		if (used < columns)
			kept += letter;
	}
	return name;
}

// A name that is cut is still whole for screen readers and those who speak it: its rest has no size.
function label(text, name, columns) {
	const kept = columns >= LABEL_MIN ? fit(name, columns) : "";
	text.textContent = kept;
	if (!kept || kept === name)
		return;
	make("tspan", text, { class: "rest" }, name.slice(kept.length));
	text.append("\u2026");
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
	label(box.text, box.name, columns);
}

function layout() {
	const scale = (width - 2 * MARGIN) / (view.w || 1), whole = width - 2 * MARGIN;
	for (const box of boxes) {
		const outer = box !== view && covers(box, view);
		box.shown = outer || covers(view, box);
		box.g.style.display = box.shown ? "" : "none";
		box.g.classList.toggle("outer", outer);
		if (outer || box === view)
			place(box, MARGIN, whole);
		else if (box.shown)
			place(box, MARGIN + (box.x - view.x) * scale, box.w * scale);
	}
	controls.out.style.display = view === boxes[0] ? "none" : "";
	controls.back.style.display = past.length ? "" : "none";
}

function show(box, keep) {
	view = box;
	layout();
	focus(box);
	search();
	remember(keep);
}

function zoom(box) {
	if (box === view)
		return;
	past.push(view);
	show(box, true);
}

// To what was in view before.
function back() {
	if (past.length)
		show(past.pop());
}

// --- search ---

// Boxes that match, without counting what is below them twice, as a part of what is in view.
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

// keep: the browser can go back to what was before, too.
function remember(keep) {
	const state = new URLSearchParams();
	if (view !== boxes[0])
		state.set("zoom", boxes.indexOf(view));
	if (controls.field.value)
		state.set("search", controls.field.value);
	try {
		if (alone && keep)
			history.pushState(null, "", "#" + state);
		else if (alone)
			history.replaceState(null, "", "#" + state);
	} catch (error) {
		// Not every place that shows files has a history.
	}
}

function recall() {
	const state = new URLSearchParams(alone ? location.hash.slice(1) : "");
	controls.field.value = state.get("search") || "";
	view = boxes[Number(state.get("zoom"))] || boxes[0];
	if (past[past.length - 1] === view)
		past.pop();
	layout();
	focus(view);
	find(controls.field.value);
	if (view !== boxes[0])
		view.g.scrollIntoView({ block: "center" });
}

// --- tooltip ---

const tip = make("g", svg, { class: "tip" });
tip.style.display = "none";

function wrapped(lines) {
	const result = [], columns = Math.max(20, Math.min(84, Math.floor((width - 24) / charWidth)));
	for (const line of lines) {
		const letters = Array.from(line);
		for (let i = 0; i < letters.length; i += columns)
			result.push(letters.slice(i, i + columns).join(""));
	}
	return result;
}

// Beside a place in the picture, within it.
function tipShow(box, x, y) {
	const lines = box.lines.slice();
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

function tipHide() {
	tip.style.display = "none";
}

function hover(box, event) {
	const bounds = svg.getBoundingClientRect(), ratio = width / bounds.width;
	tipShow(box, (event.clientX - bounds.left) * ratio + 14, (event.clientY - bounds.top) * ratio + 18);
}

// --- keyboard ---

// One box is on the way of the tab key; arrows lead to the others.
function focus(box) {
	focused.g.setAttribute("tabindex", -1);
	focused = box;
	box.g.setAttribute("tabindex", 0);
}

function step(box, key) {
	const at = boxes.indexOf(box), level = boxes.filter(function (other) {
		return other.shown && other.level === box.level;
	});
	const beside = level.indexOf(box);
	switch (key) {
	case "ArrowUp": return box.parent;
	case "ArrowLeft": return level[beside - 1];
	case "ArrowRight": return level[beside + 1];
	case "Home": return boxes[0];
	case "ArrowDown":
		// The widest, so that it leads along the heaviest path.
		return boxes.slice(at + 1).filter(function (other) {
			return other.shown && other.parent === box;
		}).sort(function (a, b) { return b.w - a.w; })[0];
	}
}

function press(event) {
	const next = step(focused, event.key);
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.key === "Enter" || event.key === " ")
		zoom(focused);
	else if (next)
		focus(next);
	else if (!/^(Arrow|Home)/.test(event.key))
		return;
	event.preventDefault();
	event.stopPropagation();
	focused.g.focus();
	tipAtFocus();
}

function tipAtFocus() {
	tipShow(focused, Number(focused.rect.getAttribute("x")) + 8, top + focused.y + LEVEL + 6);
}

// --- what is around the boxes ---

const controls = (function () {
	const holder = make("foreignObject", svg, { width: 230, height: 30 });
	const field = document.createElementNS(XHTML, "input");
	field.setAttribute("type", "search");
	field.setAttribute("placeholder", "Search: regular expression");
	field.setAttribute("aria-label", "Search");
	field.setAttribute("spellcheck", "false");
	field.setAttribute("class", "field");
	holder.appendChild(field);
	function button(label, width) {
		const g = make("g", svg, { class: "button", role: "button", tabindex: 0 });
		make("rect", g, { width: width, height: 26, rx: 4 });
		make("text", g, { x: width / 2, y: 17 }, label);
		return g;
	}
	return { holder: holder, field: field, back: button("Back", 52), out: button("Zoom out", 76),
		found: make("text", svg, { class: "found" }) };
})();

const title = svg.querySelector("text.title"), notes = Array.from(svg.querySelectorAll("text.note"));
if (boxes[0].w)
	notes[notes.length - 1].textContent += " Click or Enter zooms in, Backspace goes back, Esc zooms out; /\u00a0searches.";
const texts = [title].concat(notes).map(function (text) {
	return { text: text, words: text.textContent.split(" ") };
});

// Breaks a text into lines that fit; returns where the next one goes.
function flow(item, y, room, line) {
	let span = null;
	item.text.textContent = "";
	for (const word of item.words) {
		const before = span && span.textContent;
		if (span)
			span.textContent += " " + word;
		if (span && span.getComputedTextLength() <= room)
			continue;
		if (span) {
			span.textContent = before;
			y += line;
		}
		span = make("tspan", item.text, { x: MARGIN, y: y }, word);
	}
	return y + line;
}

// The file has to guess how wide letters are.
const keys = Array.from(svg.querySelectorAll("text.key"), function (text) {
	return { text: text, swatch: text.previousElementSibling };
});

function layoutLegend(y) {
	let x = MARGIN;
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
	return y;
}

// Where there is room, search stands beside the title, else below it.
let top = 0;
function layoutHead() {
	const narrow = width < NARROW, beside = narrow ? 0 : CONTROLS;
	let y = flow(texts[0], 30, width - 2 * MARGIN - beside, 22);
	const row = narrow ? y - 10 : 14;
	const room = Math.min(230, width - 2 * MARGIN - 140), left = narrow ? MARGIN + room + 8 : width - MARGIN - 372;
	controls.holder.setAttribute("width", room);
	controls.holder.setAttribute("x", narrow ? MARGIN : width - MARGIN - 230);
	controls.holder.setAttribute("y", row);
	controls.back.setAttribute("transform", "translate(" + left + " " + (row + 1) + ")");
	controls.out.setAttribute("transform", "translate(" + (left + 56) + " " + (row + 1) + ")");
	controls.found.setAttribute("x", narrow ? MARGIN + room : width - MARGIN);
	controls.found.setAttribute("y", row + 44);
	y = narrow ? row + 60 : y - 2;
	for (const note of texts.slice(1))
		y = flow(note, y, width - 2 * MARGIN - (y < row + 50 ? beside / 2 : 0), LINE);
	top = layoutLegend(y + 8) + 16;
	plot.setAttribute("transform", "translate(0 " + top + ")");
	height = top + LEVEL * (1 + Math.max.apply(null, levels)) + MARGIN;
}
const levels = Array.from(new Set(boxes.map(function (box) { return box.level; })));

// Returns the width that the graph may have; 0 where it is not shown.
function roomOutside() {
	if (alone)
		return document.documentElement.clientWidth || window.innerWidth;
	const style = getComputedStyle(svg.parentElement);
	return svg.parentElement.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
}

let drawn = 0;
function resize() {
	const room = roomOutside();
	if (room > 0)
		width = Math.max(WIDTH_MIN, room);
	if (room > 0 && width === drawn)
		return;
	drawn = room > 0 ? width : 0;
	layoutHead();
	svg.setAttribute("viewBox", "0 0 " + width + " " + height);
	svg.setAttribute("width", width);
	svg.setAttribute("height", height);
	tipHide();
	layout();
}

boxes.forEach(function (box) {
	box.g.addEventListener("click", function () { zoom(box); });
	box.g.addEventListener("mousemove", function (event) { hover(box, event); });
	box.g.addEventListener("mouseleave", tipHide);
});
plot.addEventListener("keydown", press);
plot.addEventListener("focusout", tipHide);
plot.addEventListener("focusin", function () {
	if (focused.g.matches(":focus-visible"))
		tipAtFocus();
});
function pressable(button, action) {
	button.addEventListener("click", action);
	button.addEventListener("keydown", function (event) {
		if (event.key !== "Enter" && event.key !== " ")
			return;
		event.preventDefault();
		action();
	});
}
pressable(controls.out, function () { zoom(boxes[0]); });
pressable(controls.back, back);
controls.field.addEventListener("input", function () { find(controls.field.value); });
window.addEventListener("resize", resize);
if (alone)
	window.addEventListener("hashchange", recall);
else
	new ResizeObserver(resize).observe(svg.parentElement);
(alone ? window : svg).addEventListener("keydown", function (event) {
	const typing = document.activeElement === controls.field;
	if ((event.key === "/" && !typing) ||
	    (alone && (event.ctrlKey || event.metaKey) && event.key === "f")) {
		event.preventDefault();
		controls.field.focus();
		controls.field.select();
	} else if (event.key === "Backspace" && !typing) {
		event.preventDefault();
		back();
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
focus(view);
resize();
recall();
}

{
	const script = document.currentScript;
	const svg = script ? script.ownerSVGElement : document.documentElement;
	if (svg)
		flame(svg);
}
