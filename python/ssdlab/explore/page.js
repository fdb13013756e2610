"use strict";

const COLOURS = LOOKS.curves;
const LAYOUT = {
  font: { family: LOOKS.font, size: LOOKS.text, color: LOOKS.ink },
  hoverlabel: { bgcolor: "white", bordercolor: LOOKS.grid },
  paper_bgcolor: "white", plot_bgcolor: "white", margin: { l: 80, r: 30, t: 30, b: 60 },
};
/** Legend below a figure, for a narrow window. */
const BELOW = { orientation: "h", x: 0, xanchor: "left", y: -0.28, yanchor: "top" };
const isNarrow = () => innerWidth < 640;
const legend = () => (isNarrow() ? BELOW : {});
const CONFIG = { displayModeBar: false, responsive: true };
const AXIS = {
  gridcolor: LOOKS.grid, linecolor: LOOKS.ink, zeroline: false, automargin: true, tickfont: { size: LOOKS.axisText, color: LOOKS.ink },
};
/** Returns the title of an axis, or of a scale of colours, as the figures of all pages have it. */
const titled = (text) => ({ text, standoff: 12, font: { size: LOOKS.axisText, color: LOOKS.ink } });
/** Most rows that the table shows. */
const ROWS = 500;

const { fields, numbers, points } = data;
/** Selected intervals of each axis of the parallel coordinates, by the name of its dimension. */
const brushes = new Map();
let sorting = null;

const element = (id) => document.getElementById(id);
const chosen = (id) => element(id).value;
const entry = (column) => numbers.find((one) => one.column === column);
const title = (one) => (one.unit ? `${one.name} (${one.unit})` : one.name);
const known = (point, column) => point.numbers[column] !== undefined;
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const isBetterWhenMore = (column) => column.startsWith("throughput.");
const shown = (value) => (typeof value === "number" ? Number(value.toPrecision(4)).toLocaleString("en") : String(value));

/** Longest label of a value. */
const LABEL = 22;

/** Returns a short label of a value: of a table its kind, of a long text its beginning. */
function shortened(value) {
  const text = typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
  const kind = /^\{ kind = "(\w+)"/.exec(text);
  if (kind) return kind[1];
  return text.length > LABEL ? `${text.slice(0, LABEL - 1)}…` : text;
}

for (const field of fields) {
  const labels = field.values.map(shortened);
  // Values that would look alike are numbered.
  field.labels = labels.map((label, index) => {
    const same = labels.filter((other) => other === label).length > 1;
    return same ? `${label} #${labels.slice(0, index + 1).filter((other) => other === label).length}` : label;
  });
}

/** Largest number of values of a field that are shown one by one, and the groups of one with more: a continuous one. */
const SINGLE = 12, GROUPS = 6;

/** Returns the groups into which a field parts the points: its values, or intervals with about as many values each. */
function groupsOf(field) {
  if (!field.number || field.values.length <= SINGLE) {
    return field.values.map((value, index) => ({ label: field.labels[index], has: (own) => own === value }));
  }
  const edge = (group) => Math.round((group * field.values.length) / GROUPS);
  return Array.from({ length: GROUPS }, (_, group) => {
    const [low, high] = [field.values[edge(group)], field.values[edge(group + 1) - 1]];
    const [from, to] = [low, high].map((value) => Number(value.toPrecision(3)));
    return { label: `${from} to ${to}`, has: (own) => low <= own && own <= high };
  });
}

for (const field of fields) field.groups = groupsOf(field);

const label = (field, value) => field.labels[field.values.indexOf(value)];

/** Returns the place of a field's value on an axis: the value of a number, or the place of a text among its values. */
function place(field, value) {
  return field.number ? value : field.values.indexOf(value);
}

function isSelected(point) {
  for (const [name, ranges] of brushes) {
    const at = fields.findIndex((field) => field.name === name);
    const value = at >= 0 ? place(fields[at], point.fields[at]) : (point.numbers[name] || [])[0];
    if (value === undefined || !ranges.some(([low, high]) => low <= value && value <= high)) return false;
  }
  return true;
}

const selection = () => points.filter(isSelected);

function options(id, values, selected) {
  element(id).replaceChildren(...values.map(([value, text]) => {
    const option = document.createElement("option");
    [option.value, option.textContent, option.selected] = [value, text, value === selected];
    return option;
  }));
}

/** Width of an axis with its lines [px], and the places of the upper and the lower end of all axes. */
const STEP = 96, TOP = 84, BOTTOM = 400, HEIGHT = 412;
/** Width of the strip on an axis that takes drags [px], and the least length of a drag: a shorter one is a click. */
const STRIP = 30, DRAG = 4;
const STOPS = LOOKS.points;

/** Returns the colour of a share, 0 to 1. */
function colour(share) {
  const at = Math.min(Math.floor(2 * share), 1);
  const part = 2 * share - at;
  return `rgb(${STOPS[at].map((from, index) => Math.round(from + part * (STOPS[at + 1][index] - from))).join(",")})`;
}

/** Returns round numbers from low to high, about as many as asked for. */
function roundTicks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high * (1 + 1e-12); at += 1) ticks.push(at * step);
  return ticks;
}

/** Returns an axis with the place of each point on it [px]; `back` gives the value at a place. */
function axisOf(name, text, values, ticks) {
  const known = values.filter((value) => value !== null);
  const [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 0];
  const isLog = low > 0 && high / low >= 16 && ticks !== null;
  const [to, from] = isLog ? [Math.log, Math.exp] : [(value) => value, (value) => value];
  const span = to(high) - to(low);
  const y = (value) => (span > 0 ? BOTTOM - ((to(value) - to(low)) / span) * (BOTTOM - TOP) : (TOP + BOTTOM) / 2);
  const back = (place) => from(to(low) + ((BOTTOM - place) / (BOTTOM - TOP)) * span);
  const listed = ticks || [...new Set([low, ...roundTicks(low, high, 6), high])].map((value) => [value, shown(value)]);
  // Both ends are labelled first: where there is no room, others are left out.
  return { name, text, values, low, high, y, back, ticks: [...listed.slice(-1), ...listed.slice(0, -1)] };
}

function axes() {
  const columns = [...new Set([chosen("number"), chosen("second")])];
  const ofField = (field, at) => {
    const values = points.map((point) => place(field, point.fields[at]));
    const ticks = field.values.map((value, index) => [place(field, value), field.labels[index]]);
    return axisOf(field.name, field.name, values, field.number && ticks.length > 12 ? null : ticks);
  };
  const ofNumber = (column) => {
    const values = points.map((point) => (known(point, column) ? point.numbers[column][0] : null));
    return axisOf(column, title(entry(column)), values, null);
  };
  return [...fields.map(ofField), ...columns.map(ofNumber)];
}

function drawLines(canvas, shownAxes, x, width) {
  const scale = window.devicePixelRatio || 1;
  [canvas.width, canvas.height] = [width * scale, HEIGHT * scale];
  [canvas.style.width, canvas.style.height] = [`${width}px`, `${HEIGHT}px`];
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const by = shownAxes[fields.length];
  const share = (index) => (by.high > by.low ? (by.values[index] - by.low) / (by.high - by.low) : 0.5);
  const line = (index) => {
    pen.beginPath();
    let isDown = false;
    shownAxes.forEach((axis, at) => {
      const value = axis.values[index];
      if (value === null) { isDown = false; return; }
      if (isDown) pen.lineTo(x(at), axis.y(value));
      else pen.moveTo(x(at), axis.y(value));
      isDown = true;
    });
    pen.stroke();
  };
  const isOn = points.map(isSelected);
  pen.lineWidth = points.length > 1000 ? 0.6 : 1.3;
  pen.strokeStyle = themed(LOOKS.unselected);
  isOn.forEach((on, index) => { if (!on) line(index); });
  isOn.forEach((on, index) => {
    if (!on) return;
    pen.strokeStyle = themed(by.values[index] === null ? LOOKS.unknown : colour(share(index)), PARTS);
    line(index);
  });
}

function svg(kind, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

/** Returns the marks of an axis: its title, line, ticks and selected intervals. */
function axisMarks(axis, at, x) {
  const isColour = at === fields.length;
  const marks = [
    svg("text", { x: x - 14, y: TOP - 18, transform: `rotate(-14 ${x - 14} ${TOP - 18})`, class: "title" }, axis.text),
    svg("line", { x1: x, x2: x, y1: TOP, y2: BOTTOM, stroke: isColour ? "url(#scale)" : "currentColor", "stroke-width": isColour ? 5 : 1.2 }),
  ];
  const labelled = [];
  for (const [value, text] of axis.ticks) {
    const y = axis.y(value);
    marks.push(svg("line", { x1: x - 4, x2: x, y1: y, y2: y, stroke: "currentColor" }));
    if (labelled.some((other) => Math.abs(other - y) < 13)) continue;
    labelled.push(y);
    marks.push(svg("text", { x: x + 6, y: y + 4, class: "tick" }, text));
  }
  for (const [low, high] of brushes.get(axis.name) || []) {
    const [up, down] = [axis.y(high), axis.y(low)].map((y) => Math.max(TOP - 6, Math.min(BOTTOM + 6, y)));
    marks.push(svg("rect", { x: x - 5, y: up, width: 10, height: Math.max(down - up, 3), class: "brush" }));
  }
  return marks;
}

/** Returns the strip on an axis that takes drags, which select, clicks, which drop a selection, and keys; and its cursor. */
function axisStrip(axis, x) {
  const strip = svg("rect", { x: x - STRIP / 2, y: TOP - 8, width: STRIP, height: BOTTOM - TOP + 16, class: "strip" });
  const at = (event) => event.clientY - strip.ownerSVGElement.getBoundingClientRect().top;
  const cursor = offerKeys(strip, axis);
  strip.onpointerdown = (event) => {
    const begin = at(event);
    strip.setPointerCapture(event.pointerId);
    const mark = svg("rect", { x: x - 5, y: begin, width: 10, height: 0, class: "brush" });
    strip.before(mark);
    strip.onpointermove = (moved) => {
      mark.setAttribute("y", Math.min(begin, at(moved)));
      mark.setAttribute("height", Math.abs(at(moved) - begin));
    };
    strip.onpointercancel = drawParallel;
    strip.onpointerup = (ended) => {
      brush(axis, begin, at(ended));
      drawParallel();
      drawRest();
    };
  };
  return [strip, svg("circle", { cx: x, cy: axis.y(cursor), r: 5, class: "cursor" })];
}

/** Place of the keyboard on each axis, by its name: the number of a value, and where a selection by Shift began. */
const places = new Map();

/** Lets the arrow keys move along the values of an axis, and select with Shift; returns the value that they are at. */
function offerKeys(strip, axis) {
  const values = [...new Set(axis.values.filter((value) => value !== null))].sort((one, other) => one - other);
  const place = places.get(axis.name) || { at: 0, from: null, before: [] };
  place.at = Math.max(0, Math.min(place.at, values.length - 1));
  places.set(axis.name, place);
  const named = (value) => (axis.ticks.find(([at]) => at === value) || [value, shown(value)])[1];
  const selected = (brushes.get(axis.name) || []).map((ends) => ends.map(named).join(" to "));
  const given = {
    tabindex: 0, role: "slider", "aria-orientation": "vertical", "aria-label": axis.text, "data-axis": axis.name,
    "aria-valuemin": 0, "aria-valuemax": Math.max(values.length - 1, 1), "aria-valuenow": place.at,
    "aria-valuetext": `${named(values[place.at])}; selected: ${selected.join(", ") || "all"}`,
  };
  for (const [name, value] of Object.entries(given)) strip.setAttribute(name, value);
  const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, Home: -values.length, End: values.length };
  strip.onkeydown = (event) => {
    const drops = event.key === "Delete" || event.key === "Backspace";
    if (!drops && !(event.key in steps)) return;
    event.preventDefault();
    const from = place.at;
    if (drops) brushes.delete(axis.name);
    else place.at = Math.max(0, Math.min(place.at + steps[event.key], values.length - 1));
    if (drops || !event.shiftKey) place.from = null;
    else {
      if (place.from === null) [place.from, place.before] = [from, brushes.get(axis.name) || []];
      const ends = [values[place.from], values[place.at]].sort((one, other) => one - other);
      brushes.set(axis.name, [...place.before, ends]);
    }
    drawParallel();
    if (drops || event.shiftKey) drawRest();
    [...element("parallel").querySelectorAll(".strip")].find((one) => one.dataset.axis === axis.name).focus();
  };
  return values.length ? values[place.at] : 0;
}

/** Adds the interval of a drag to the selection of an axis; a click drops the interval below it, or else all of them. */
function brush(axis, begin, end) {
  const before = brushes.get(axis.name) || [];
  const values = [axis.back(begin), axis.back(end)].sort((one, other) => one - other);
  const rest = before.filter(([low, high]) => values[0] < low || values[0] > high);
  const isClick = Math.abs(end - begin) < DRAG;
  const after = isClick ? (rest.length < before.length ? rest : []) : [...before, values];
  if (after.length) brushes.set(axis.name, after);
  else brushes.delete(axis.name);
}

/** Draws the points as parallel coordinates: the lines on a canvas, as they may be many, and the axes above them. */
function drawParallel() {
  const shownAxes = axes();
  const frame = element("parallel");
  const width = Math.max(frame.clientWidth, STEP * shownAxes.length + 110);
  const gap = (width - 200) / Math.max(shownAxes.length - 1, 1);
  const x = (at) => 24 + at * gap;
  const canvas = document.createElement("canvas");
  canvas.setAttribute("aria-hidden", "true");
  const over = svg("svg", { width, height: HEIGHT, role: "group", "aria-label": "Axes of the points" });
  const scale = svg("linearGradient", { id: "scale", gradientUnits: "userSpaceOnUse", x1: 0, x2: 0, y1: BOTTOM, y2: TOP });
  scale.append(...[0, 0.5, 1].map((share) => svg("stop", { offset: share, "stop-color": themed(colour(share), PARTS) })));
  over.append(scale);
  shownAxes.forEach((axis, at) => over.append(...axisMarks(axis, at, x(at)), ...axisStrip(axis, x(at))));
  const whole = document.createElement("div");
  [whole.className, whole.style.width, whole.style.height] = ["parallel", `${width}px`, `${HEIGHT}px`];
  whole.append(canvas, over);
  frame.replaceChildren(whole);
  drawLines(canvas, shownAxes, x, width);
}

/** Says why there is no figure. */
function drawNothing(id, text) {
  const note = { text, showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 };
  Plotly.react(id, [], { ...LAYOUT, height: 120, annotations: [note], xaxis: { visible: false }, yaxis: { visible: false } }, CONFIG);
}

function drawEffects(selected, column) {
  const effects = fields.map((field, at) => {
    const means = (group) => selected.filter((point) => group.has(point.fields[at])).map((point) => point.numbers[column][0]);
    const filled = field.groups.map((group) => ({ label: group.label, means: means(group) })).filter((one) => one.means.length);
    const levels = filled.map((one) => mean(one.means));
    return { field, filled, levels, range: levels.length ? Math.max(...levels) - Math.min(...levels) : 0 };
  }).filter((effect) => effect.filled.length > 1 && !effect.field.outcome).sort((one, other) => other.range - one.range).slice(0, 8);
  if (!effects.length) { drawNothing("effects", "needs a field with several values"); return; }
  const layout = { ...LAYOUT, showlegend: false };
  const width = element("effects").clientWidth - 110;
  const last = effects.map((effect) => effect.field.name.split(".").pop());
  // A panel is as wide as its title.
  const each = Math.max(1, Math.min(effects.length, Math.floor(width / Math.max(130, ...last.map((name) => 8 * name.length)))));
  const isShort = effects.some((effect) => 8 * effect.field.name.length > width / each);
  const rows = Math.ceil(effects.length / each);
  layout.height = 290 * rows;
  const traces = effects.map((effect, index) => {
    const [row, column_] = [Math.floor(index / each), index % each];
    const [x, y] = ["x", "y"].map((axis, at) => axis + ([index, row][at] ? [index, row][at] + 1 : ""));
    const [left, top] = [column_ / each, 1 - row / rows];
    layout[x.replace("x", "xaxis")] = {
      ...AXIS, type: "category", anchor: y, domain: [left, left + 0.88 / each], title: titled(isShort ? last[index] : effect.field.name),
    };
    layout[y.replace("y", "yaxis")] = {
      ...AXIS, anchor: `x${row ? row * each + 1 : ""}`, domain: [top - (rows > 1 ? 0.72 : 1) / rows, top], ...(row ? { matches: "y" } : {}), title: titled(title(entry(column))),
    };
    const lows = effect.filled.map((one, at) => effect.levels[at] - Math.min(...one.means));
    const highs = effect.filled.map((one, at) => Math.max(...one.means) - effect.levels[at]);
    return {
      x: effect.filled.map((one) => one.label), y: effect.levels, xaxis: x, yaxis: y, mode: "lines+markers",
      line: { color: COLOURS[0] }, error_y: { type: "data", symmetric: false, array: highs, arrayminus: lows, color: LOOKS.pale, thickness: LOOKS.error },
    };
  });
  Plotly.react("effects", traces, layout, CONFIG);
}

/** Returns the mean of a number over points, with the interval of a single one. */
function merged(group, column) {
  const found = group.map((point) => point.numbers[column]);
  const [level, low, high] = found[0];
  return found.length === 1 ? { level, low, high } : { level: mean(found.map((one) => one[0])), low: null, high: null };
}

function drawCurves(selected, column) {
  const at = fields.findIndex((field) => field.name === chosen("along"));
  const by = fields.findIndex((field) => field.name === chosen("lines"));
  const along = fields[at];
  if (!along) { drawNothing("curves", "needs a field"); return; }
  const lines = by >= 0 && by !== at ? fields[by].groups : [null];
  const traces = lines.map((line, index) => {
    const own = along.values
      .map((value) => ({ value, group: selected.filter((point) => point.fields[at] === value && (line === null || line.has(point.fields[by]))) }))
      .filter((one) => one.group.length)
      .map((one) => ({ value: one.value, ...merged(one.group, column) }));
    const has = own.some((one) => one.low !== null);
    return {
      x: own.map((one) => (along.number ? one.value : label(along, one.value))), y: own.map((one) => one.level), mode: "lines+markers",
      name: line === null ? "" : `${fields[by].name} ${line.label}`, showlegend: line !== null, line: { color: COLOURS[index % COLOURS.length] },
      error_y: has ? { type: "data", symmetric: false, thickness: LOOKS.error, array: own.map((one) => (one.high === null ? 0 : one.high - one.level)), arrayminus: own.map((one) => (one.low === null ? 0 : one.level - one.low)) } : undefined,
    };
  });
  const positive = along.number && along.values.every((value) => value > 0);
  const wide = positive && along.values[along.values.length - 1] / along.values[0] >= 16;
  const axis = { ...AXIS, title: titled(along.name), type: along.number ? (wide ? "log" : "linear") : "category" };
  // Values that were drawn have many digits, and lie close to each other.
  const isListed = along.number && along.values.length <= 12 && along.values.every((value) => String(value).length <= 6);
  if (isListed) Object.assign(axis, { tickvals: along.values, ticktext: along.values.map(String) });
  Plotly.react("curves", traces, { ...LAYOUT, height: 400, legend: legend(), xaxis: axis, yaxis: { ...AXIS, title: titled(title(entry(column))) } }, CONFIG);
}

function drawHeat(selected, column) {
  const [x, y] = [chosen("across"), chosen("down")].map((name) => fields.findIndex((field) => field.name === name));
  if (x < 0 || y < 0 || x === y) {
    drawNothing("heat", "needs two fields");
    return;
  }
  const z = fields[y].groups.map((down) => fields[x].groups.map((across) => {
    const own = selected.filter((point) => across.has(point.fields[x]) && down.has(point.fields[y]));
    return own.length ? mean(own.map((point) => point.numbers[column][0])) : null;
  }));
  const few = z.length * (z[0] || []).length <= 150;
  const trace = {
    type: "heatmap", x: fields[x].groups.map((one) => one.label), y: fields[y].groups.map((one) => one.label), z, colorscale: LOOKS.map,
    xgap: 2, ygap: 2, text: few ? z.map((row) => row.map((value) => (value === null ? "" : shown(value)))) : undefined, texttemplate: few ? "%{text}" : undefined,
    // Beside the map there is no room for the scale on a narrow window.
    colorbar: {
      title: { ...titled(title(entry(column))), side: isNarrow() ? "top" : "right" }, thickness: 12,
      ...(isNarrow() ? { orientation: "h", y: 1, yanchor: "bottom", nticks: 5 } : {}),
    },
  };
  const layout = { ...LAYOUT, height: (isNarrow() ? 240 : 160) + 34 * Math.min(z.length, 20), xaxis: { ...AXIS, type: "category", title: titled(fields[x].name) }, yaxis: { ...AXIS, type: "category", title: titled(fields[y].name) } };
  // Anew each time: an update leaves parts of a scale that lay beside the map and now lies above it.
  Plotly.newPlot("heat", [trace], layout, CONFIG);
}

/** Returns the points that none other beats in both numbers, by the first. */
function front(marks) {
  const sorted = [...marks].sort((one, other) => one.good[0] - other.good[0] || one.good[1] - other.good[1]);
  let best = Infinity;
  return sorted.filter((mark) => {
    const is = mark.good[1] < best;
    best = Math.min(best, mark.good[1]);
    return is;
  });
}

function describe(point) {
  return fields.map((field, at) => `${field.name}: ${point.fields[at]}`).join("<br>");
}

function drawFront(selected, column, second) {
  const marks = selected.filter((point) => known(point, second)).map((point) => {
    const values = [column, second].map((one) => point.numbers[one][0]);
    return { point, values, good: values.map((value, at) => (isBetterWhenMore([column, second][at]) ? -value : value)) };
  });
  const best = front(marks).sort((one, other) => one.values[0] - other.values[0]);
  const traces = [
    { x: marks.map((mark) => mark.values[0]), y: marks.map((mark) => mark.values[1]), mode: "markers", name: "points", text: marks.map((mark) => describe(mark.point)), hovertemplate: "%{text}<extra></extra>", marker: { color: LOOKS.unknown, size: LOOKS.mark } },
    { x: best.map((mark) => mark.values[0]), y: best.map((mark) => mark.values[1]), mode: "lines+markers", name: "not beaten", text: best.map((mark) => describe(mark.point)), hovertemplate: "%{text}<extra></extra>", line: { color: COLOURS[1], shape: "linear" }, marker: { color: COLOURS[1], size: LOOKS.markAlone } },
  ];
  Plotly.react("front", traces, { ...LAYOUT, height: 420, legend: legend(), xaxis: { ...AXIS, title: titled(title(entry(column))) }, yaxis: { ...AXIS, title: titled(title(entry(second))) } }, CONFIG);
}

function drawTable(selected, column, second) {
  const columns = [...new Set([column, second])];
  const heads = [...fields.map((field) => field.name), ...columns.map((one) => title(entry(one))), "seeds"];
  const cells = (point) => [...point.fields, ...columns.map((one) => (point.numbers[one] || [null])[0]), point.numbers[column][3]];
  const rows = selected.map((point) => ({ point, cells: cells(point) }));
  const order = sorting || { at: fields.length, up: !isBetterWhenMore(column) };
  rows.sort((one, other) => {
    const [a, b] = [one.cells[order.at], other.cells[order.at]];
    const less = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return order.up ? less : -less;
  });
  const head = document.createElement("tr");
  heads.forEach((text, at) => {
    const [cell, button] = [document.createElement("th"), document.createElement("button")];
    [cell.scope, button.type] = ["col", "button"];
    button.textContent = at === order.at ? `${text} ${order.up ? "▲" : "▼"}` : text;
    if (at === order.at) cell.setAttribute("aria-sort", order.up ? "ascending" : "descending");
    button.onclick = () => {
      sorting = { at, up: !(order.at === at && order.up) };
      drawRest();
      element("table").querySelectorAll("thead button")[at].focus();
    };
    cell.append(button);
    head.append(cell);
  });
  const body = rows.slice(0, ROWS).map(({ point, cells: values }) => {
    const line = document.createElement("tr");
    values.forEach((value, at) => {
      const cell = document.createElement(at ? "td" : "th");
      if (!at) cell.scope = "row";
      cell.textContent = value === null || value === undefined ? "–" : shown(value);
      const number = point.numbers[columns[at - fields.length]];
      if (number && number[1] !== null) {
        const small = document.createElement("small");
        small.textContent = `± ${shown((number[2] - number[1]) / 2)}`;
        cell.append(small);
      }
      line.append(cell);
    });
    return line;
  });
  const [top, rest] = [document.createElement("thead"), document.createElement("tbody")];
  top.append(head);
  rest.append(...body);
  element("table").replaceChildren(top, rest);
}

function drawRest() {
  const [column, second] = [chosen("number"), chosen("second")];
  const selected = selection().filter((point) => known(point, column));
  element("selected").textContent = `${selected.length} of ${points.length} points`;
  drawEffects(selected, column);
  drawCurves(selected, column);
  drawHeat(selected, column);
  drawFront(selected, column, second);
  drawTable(selected, column, second);
}

function draw() {
  sorting = null;
  drawParallel();
  drawRest();
}

/** Fills the menus and draws the page, once its library is there. */
function begin() {
  if (!numbers.length || !points.length) {
    element("parallel").textContent = "no run has succeeded";
    return;
  }
  const offered = numbers.map((one) => [one.column, title(one)]);
  const has = (column, other) => (entry(column) ? column : other);
  const [first, second] = data.chosen || [];
  options("number", offered, has(first, has("latency.all.p99_ns", offered[0][0])));
  options("second", offered, has(second, has("throughput.iops", offered[offered.length - 1][0])));
  const names = fields.map((field) => [field.name, field.name]);
  const byRange = [...fields].sort((one, other) => Number(other.number) - Number(one.number) || other.values.length - one.values.length);
  options("along", names, byRange.length ? byRange[0].name : "");
  options("lines", [["", "none"], ...names], byRange.length > 1 ? byRange[1].name : "");
  options("across", names, fields.length ? fields[0].name : "");
  options("down", names, fields.length > 1 ? fields[1].name : "");
  for (const id of ["number", "second"]) element(id).onchange = draw;
  for (const id of ["along", "lines", "across", "down"]) element(id).onchange = drawRest;
  draw();
  addEventListener("theme", drawParallel);
  let width = innerWidth;
  addEventListener("resize", () => {
    // A telephone that hides its address bar resizes the window in height alone.
    if (innerWidth === width) return;
    width = innerWidth;
    drawParallel();
    drawRest();
  });
}

figures.push(begin);
