// SPDX-License-Identifier: BSD-2-Clause
// Makes the tables and histograms of a page from the data in it. All that comes from the data gets onto the
// page as text, through make(); tables show their rows in slices, so that thousands of them open at once.
"use strict";
{
const SVG = "http://www.w3.org/2000/svg", FIRST = 20, STEP = 200, PLOTS = 12;
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.querySelector("main");

function put(parent, element, attributes, text) {
	for (const key in attributes)
		element.setAttribute(key, attributes[key]);
	if (text !== undefined)
		element.textContent = text;
	return parent.appendChild(element);
}

function make(parent, name, attributes, text) {
	return put(parent, document.createElement(name), attributes, text);
}

function draw(parent, name, attributes, text) {
	return put(parent, document.createElementNS(SVG, name), attributes, text);
}

// --- numbers ---

const counts = new Intl.NumberFormat("en");

function digits(value) {
	const size = Math.abs(value);
	return size >= 1000 ? counts.format(Math.round(value)) : value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0);
}

function scaled(value, units) {
	let i = 0;
	while (i < units.length - 1 && Math.abs(value) >= 999.5) {
		value /= 1000;
		i++;
	}
	return (i || !Number.isInteger(value) ? digits(value) : String(value)) + "\u00a0" + units[i];
}

function time(ns) {
	return ns ? scaled(ns, ["ns", "\u00b5s", "ms", "s"]) : "0";
}

const formats = {
	count: counts.format,
	sum: time,
	latency: time,
	load: function (value) { return time(Math.round(value * 1e9)) + "/s"; },
	bytes: function (value) { return scaled(value, ["B", "kB", "MB", "GB", "TB", "PB"]); },
	percent: function (value) { return value.toFixed(2) + "%"; },
	rate: function (value) { return value ? digits(value) : "0"; },
	// A fall to nearly nothing is not shown as one to nothing.
	change: function (value) {
		const percent = Math.round(Math.max(value * 100, -99));
		return (percent > 0 ? "+" : percent < 0 ? "\u2212" : "") + counts.format(Math.abs(percent)) + "%";
	},
	id: String,
	text: String,
};

function isText(field) {
	return field.kind === "text";
}

function titleOf(field) {
	return field.name.replace(/^([ab])_/, function (all, side) { return side.toUpperCase() + " "; })
		.replace(/(.*)_change$/, "\u00b1 $1").replace("seconds_per_s", "time").replace("_per_s", "/s").replace(/_ns$/, "").replace(/_pct$/, " %")
		.replace(/_/g, " ");
}

// --- sections ---

function section(id, title, note) {
	const element = make(main, "section", { id: id });
	make(element, "h2", {}, title);
	if (note)
		make(element, "p", { class: "remark" }, note);
	return element;
}

function button(parent, text, press) {
	const element = make(parent, "button", { type: "button" }, text);
	element.addEventListener("click", press);
	return element;
}

// --- tables ---

// The first cell is the name of the row.
function cell(parent, field, value, first) {
	const element = make(parent, first ? "th" : "td", first ? { scope: "row" } : {});
	const isKnown = value !== null && value !== "";
	if (!isText(field))
		element.className = "number";
	if (!isKnown)
		element.classList.add("unknown");
	else if (isText(field) && value.length > 32)
		element.classList.add("long");
	element.textContent = !isKnown ? "\u2013" : typeof value === "number" ? formats[field.kind](value) : value;
	if (field.name === "errors" && value > 0 || value === "failed")
		element.classList.add("bad");
	return element;
}

// The largest of a column has a bar as long as its cell.
function row(parent, fields, values, most) {
	const tr = make(parent, "tr");
	fields.forEach(function (field, i) {
		const element = cell(tr, field, values[i], i === 0);
		if (!most || !most[i])
			return;
		element.classList.add("bar");
		element.style.setProperty("--part", 100 * values[i] / most[i] + "%");
	});
	return tr;
}

const order = new Intl.Collator("en", { numeric: true });

function compare(a, b) {
	return typeof a === "string" || typeof b === "string" ? order.compare(a, b) : a - b;
}

// Unknown values come last, either way; what is equal keeps its order.
function sorted(rows, index, down) {
	return rows.slice().sort(function (a, b) {
		if (a[index] === null || b[index] === null)
			return (a[index] === null) - (b[index] === null);
		return down ? compare(b[index], a[index]) : compare(a[index], b[index]);
	});
}

// A row has all words somewhere in its names.
function matching(rows, spec, pattern) {
	const words = pattern.toLowerCase().split(/\s+/).filter(Boolean);
	const keys = spec.fields.map(function (field, i) {
		return isText(field) || field.kind === "id" ? i : -1;
	}).filter(function (i) { return i >= 0; });
	if (!words.length)
		return rows;
	return rows.filter(function (values) {
		const text = keys.map(function (i) { return values[i]; }).join("\n").toLowerCase();
		return words.every(function (word) { return text.includes(word); });
	});
}

// Sums of times and the first count get bars; of the others the largest is 0.
function largest(fields, rows) {
	const first = fields.findIndex(function (field) { return field.kind === "count"; });
	return fields.map(function (field, i) {
		if (field.kind !== "sum" && i !== first)
			return 0;
		return rows.reduce(function (most, values) { return Math.max(most, values[i]); }, 0);
	});
}

function table(spec) {
	const holder = section(spec.id, spec.title, spec.note);
	const others = spec.has_others ? spec.rows.slice(-1) : [];
	const rows = spec.has_others ? spec.rows.slice(0, -1) : spec.rows;
	const tools = make(holder, "div", { class: "tools" });
	const label = make(tools, "label", {}, "Filter");
	const input = make(label, "input", { type: "search", "aria-label": "Filter " + spec.title,
		placeholder: "words in the names", autocomplete: "off", spellcheck: "false" });
	const found = make(tools, "span", { role: "status" });
	const scroll = make(holder, "div", { class: "scroll", role: "region", tabindex: 0, "aria-label": spec.title });
	const grid = make(scroll, "table"), head = make(make(grid, "thead"), "tr"), body = make(grid, "tbody");
	const more = make(holder, "div", { class: "more" });
	let by = spec.fields.findIndex(function (field) { return field.name === spec.sorted_by; });
	let down = spec.descending, limit = FIRST;
	const most = largest(spec.fields, rows);

	const heads = spec.fields.map(function (field, i) {
		const th = make(head, "th", { scope: "col", class: isText(field) ? "" : "number" });
		button(th, titleOf(field), function () {
			down = by === i ? !down : !isText(field) && field.kind !== "id";
			by = i;
			show(sorted(rows, by, down));
		});
		return th;
	});
	if (spec.sum)
		row(make(grid, "tfoot"), spec.fields, ["sum"].concat(spec.sum.slice(1)));

	function show(all) {
		const shown = matching(all, spec, input.value), part = document.createDocumentFragment();
		shown.slice(0, limit).forEach(function (values) { row(part, spec.fields, values, most); });
		if (shown.length <= limit && !input.value)
			others.forEach(function (values) { row(part, spec.fields, values).className = "others"; });
		body.replaceChildren(part);
		heads.forEach(function (th, i) {
			th.setAttribute("aria-sort", i !== by ? "none" : down ? "descending" : "ascending");
		});
		found.textContent = (shown.length > limit ? "The first " + limit + " of " : "") +
			counts.format(shown.length) + (shown.length === 1 ? " row" : " rows");
		more.replaceChildren();
		for (const count of [STEP, Infinity]) {
			if (shown.length > limit + (count === STEP ? STEP : 0))
				button(more, count === STEP ? "Show " + STEP + " more" : "Show all", function () {
					limit += count;
					show(all);
				});
		}
		current = all;
	}
	let current = rows;
	input.addEventListener("input", function () {
		limit = FIRST;
		show(current);
	});
	// Few rows need no filter.
	tools.hidden = rows.length < 6;
	show(rows);
}

// --- histograms ---

const WIDTH = 300, HEIGHT = 84, AXIS = 16;

// The decades that buckets of any plot take, two at least: so plots can be compared.
function domain(plots) {
	let low = Infinity, high = 0;
	for (const plot of plots) {
		for (const [from, to] of [].concat(plot.histogram || [], plot.a || [], plot.b || [])) {
			low = Math.min(low, from || 32);
			high = Math.max(high, to || from * 1.25);
		}
	}
	low = Math.floor(Math.log10(low));
	return { low: low, span: Math.max(2, Math.ceil(Math.log10(high)) - low) };
}

function place(ns, range) {
	return (Math.log10(Math.max(ns, 1)) - range.low) / range.span * WIDTH;
}

// Left and right edge, height as a share of the calls, and what it is called.
function bars(buckets, range) {
	const sum = buckets.reduce(function (all, bucket) { return all + bucket[2]; }, 0);
	return buckets.map(function ([from, to, count]) {
		return { x: Math.max(0, place(from || 32, range)), end: place(to || from * 1.25, range), share: count / sum,
			text: time(from) + (to ? " to " + time(to) : " or more") + ": " + counts.format(count) +
				(count === 1 ? " call" : " calls") };
	});
}

// A mark at each decade, or where there are many, at each unit.
function drawAxis(svg, range) {
	for (let decade = range.low + 1; decade < range.low + range.span; decade++) {
		const x = place(10 ** decade, range);
		if (range.span > 4 && decade % 3)
			continue;
		draw(svg, "line", { x1: x, x2: x, y1: 0, y2: HEIGHT });
		draw(svg, "text", { x: x, y: HEIGHT + AXIS - 3 }, time(10 ** decade).replace(/\.0+/, ""));
	}
	draw(svg, "line", { class: "axis", x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT });
}

function drawBars(svg, list, most, name) {
	for (const bar of list) {
		const height = Math.max(1, bar.share / most * (HEIGHT - 4));
		draw(svg, "rect", { class: name, x: bar.x.toFixed(1), y: (HEIGHT - height).toFixed(1),
			width: Math.max(1, bar.end - bar.x - 0.5).toFixed(1), height: height.toFixed(1) });
	}
}

// A line along the tops of the bars, down to the axis between bars that do not touch.
function drawLine(svg, list, most) {
	let path = "", last = -1;
	for (const bar of list) {
		const y = (HEIGHT - Math.max(1, bar.share / most * (HEIGHT - 4))).toFixed(1), x = bar.x.toFixed(1);
		if (last < 0 || bar.x > last + 0.1)
			path += (last < 0 ? "" : "V" + HEIGHT) + "M" + x + " " + HEIGHT;
		else
			path += "H" + x;
		path += "V" + y + "H" + bar.end.toFixed(1);
		last = bar.end;
	}
	draw(svg, "path", { class: "other", d: path ? path + "V" + HEIGHT : "M0 0" });
}

function quantiles(plot, side) {
	return ["p50", "p99", "max"].map(function (name) {
		const value = plot[side + name + "_ns"];
		return value === undefined || value === null ? "" : name + " " + time(value);
	}).filter(Boolean).join(", ");
}

function caption(plot) {
	if (!plot.a)
		return counts.format(plot.calls) + (plot.calls === 1 ? " call; " : " calls; ") + quantiles(plot, "");
	return plot.latency + "; " + ["a", "b"].map(function (side) {
		return side.toUpperCase() + ": " + (quantiles(plot, side + "_") || "none");
	}).join("; ");
}

function plot(parent, spec, range) {
	const figure = make(parent, "figure"), text = make(figure, "figcaption");
	make(text, "b", {}, spec.title);
	make(text, "span", {}, (spec.waiting ? " (waits for work) " : " ") + caption(spec));
	const svg = draw(figure, "svg", { class: "plot", viewBox: "0 0 " + WIDTH + " " + (HEIGHT + AXIS), role: "img",
		"aria-label": "Durations of " + spec.title + ": " + caption(spec) });
	const one = bars(spec.histogram || spec.a, range), other = bars(spec.b || [], range);
	const most = one.concat(other).reduce(function (all, bar) { return Math.max(all, bar.share); }, 0);
	drawAxis(svg, range);
	drawBars(svg, one, most, spec.a ? "one" : "count");
	if (spec.b)
		drawLine(svg, other, most);
	[[one, spec.a ? "A: " : ""], [other, "B: "]].forEach(function ([list, side], i, sides) {
		for (const bar of list) {
			const hit = draw(svg, "rect", { class: "hit", x: bar.x, width: bar.end - bar.x,
				y: i * HEIGHT / 2, height: HEIGHT / (spec.b ? 2 : 1) });
			draw(hit, "title", {}, side + bar.text);
		}
	});
}

function histograms(plots) {
	if (!plots.length)
		return;
	const compared = Boolean(plots[0].a);
	const holder = section("durations", "Durations", compared ?
		"How the calls of each side are spread over durations, what changed most first." :
		"How calls are spread over durations, on a logarithmic axis; the most time first.");
	const tools = make(holder, "div", { class: "tools" });
	if (compared) {
		["A", "B"].forEach(function (side) {
			const legend = make(tools, "span", { class: "legend" });
			make(legend, "i", { class: side === "B" ? "other" : "" });
			make(legend, "span", {}, side + ": " + data[side.toLowerCase()].label);
		});
	} else {
		tools.remove();
	}
	const grid = make(holder, "div", { class: "plots" });
	// Calls that wait take so much longer that they have an axis of their own.
	const ranges = [false, true].map(function (waiting) {
		return domain(plots.filter(function (spec) { return spec.waiting === waiting; }));
	});
	const add = function (spec) { plot(grid, spec, ranges[Number(spec.waiting)]); };
	plots.slice(0, PLOTS).forEach(add);
	if (plots.length <= PLOTS)
		return;
	const more = make(holder, "div", { class: "more" });
	button(more, "Show all " + plots.length, function () {
		plots.slice(PLOTS).forEach(add);
		more.remove();
	});
}

// --- flame graphs ---

// A graph is laid out when it is first seen: before, nothing of it can be measured.
function flames(holder) {
	const figures = Array.from(holder.querySelectorAll("figure"));
	const tools = make(holder, "div", { class: "tools", role: "group", "aria-label": "Width of the boxes" });
	const buttons = figures.map(function (figure) {
		return button(tools, "by " + figure.dataset.weight, function () { show(figure); });
	});
	figures[0].before(tools);

	function show(chosen) {
		figures.forEach(function (figure, i) {
			figure.hidden = figure !== chosen;
			buttons[i].setAttribute("aria-pressed", figure === chosen);
		});
		if (chosen.dataset.done)
			window.dispatchEvent(new Event("resize"));
		else
			flame(chosen.querySelector("svg"));
		chosen.dataset.done = "yes";
	}
	show(figures[0]);
}

// --- the page ---

document.getElementById("static").remove();
data.tables.forEach(table);
histograms(data.histograms);
if (!main.querySelector("section"))
	make(main, "p", {}, "No call was counted.");
["heat", "steps", "calls", "waiting", "durations", "slowest", "slowest-waiting", "errors", "stacks"].concat(
	Array.from(main.children, function (child) { return child.id; })
).forEach(function (id, i, ids) {
	if (id && ids.indexOf(id) === i && document.getElementById(id))
		main.append(document.getElementById(id));
});
const nav = document.createElement("nav");
nav.setAttribute("aria-label", "Contents");
for (const part of main.querySelectorAll("section"))
	make(nav, "a", { href: "#" + part.id }, part.querySelector("h2").textContent);
if (nav.firstChild)
	main.before(nav);
if (document.getElementById("stacks"))
	flames(document.getElementById("stacks"));
}
