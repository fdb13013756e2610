"use strict";

const COLOURS = ["#2b6ea6", "#d0732a", "#2f8f6b", "#a8456b", "#7a62a8", "#9a8432", "#3d97a8", "#4a5563"];
const LAYOUT = {
  font: { family: "Inter, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif", size: 13, color: "#1f2933" },
  paper_bgcolor: "white", plot_bgcolor: "white", margin: { l: 80, r: 30, t: 30, b: 60 },
};
const CONFIG = { displayModeBar: false, responsive: true };
const AXIS = { gridcolor: "#e6e9ed", zeroline: false, automargin: true };
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
  const text = String(value);
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

function drawParallel() {
  const columns = [...new Set([chosen("number"), chosen("second")])];
  const ofField = (field, at) => {
    const values = points.map((point) => place(field, point.fields[at]));
    const ticks = field.number ? field.values : field.values.map((_, index) => index);
    const few = ticks.length <= 12;
    return { label: field.name, name: field.name, values, ...(few ? { tickvals: ticks, ticktext: field.labels } : {}) };
  };
  const ofNumber = (column) => ({
    label: title(entry(column)), name: column, values: points.map((point) => (known(point, column) ? point.numbers[column][0] : null)),
  });
  const dimensions = [...fields.map(ofField), ...columns.map(ofNumber)];
  for (const dimension of dimensions) {
    if (brushes.has(dimension.name)) dimension.constraintrange = brushes.get(dimension.name);
  }
  const colour = points.map((point) => (known(point, columns[0]) ? point.numbers[columns[0]][0] : null));
  const trace = {
    type: "parcoords", dimensions, labelangle: -12, labelfont: { size: 12 },
    line: { color: colour, colorscale: [[0, "#2b6ea6"], [0.5, "#c9c27a"], [1, "#b22820"]] },
  };
  const names = dimensions.map((dimension) => dimension.name);
  Plotly.react("parallel", [trace], { ...LAYOUT, height: 420, margin: { l: 90, r: 60, t: 90, b: 30 } }, CONFIG).then((chart) => {
    chart.removeAllListeners("plotly_restyle");
    chart.on("plotly_restyle", () => {
      chart.data[0].dimensions.forEach((dimension, index) => {
        const range = dimension.constraintrange;
        if (range && range.length) brushes.set(names[index], Array.isArray(range[0]) ? range : [range]);
        else brushes.delete(names[index]);
      });
      drawRest();
    });
  });
}

function drawEffects(selected, column) {
  const effects = fields.map((field, at) => {
    const values = field.values.map((value) => selected.filter((point) => point.fields[at] === value).map((point) => point.numbers[column][0]));
    const filled = field.values.map((value, index) => ({ value, means: values[index] })).filter((one) => one.means.length);
    const levels = filled.map((one) => mean(one.means));
    return { field, filled, levels, range: levels.length ? Math.max(...levels) - Math.min(...levels) : 0 };
  }).filter((effect) => effect.filled.length > 1).sort((one, other) => other.range - one.range).slice(0, 8);
  const layout = { ...LAYOUT, height: 320, grid: { rows: 1, columns: Math.max(effects.length, 1), pattern: "coupled" }, showlegend: false };
  layout.yaxis = { ...AXIS, title: { text: title(entry(column)) } };
  const traces = effects.map((effect, index) => {
    const axis = index ? `x${index + 1}` : "x";
    layout[`xaxis${index ? index + 1 : ""}`] = { ...AXIS, type: "category", title: { text: effects.length > 4 ? effect.field.name.split(".").pop() : effect.field.name } };
    const lows = effect.filled.map((one, at) => effect.levels[at] - Math.min(...one.means));
    const highs = effect.filled.map((one, at) => Math.max(...one.means) - effect.levels[at]);
    return {
      x: effect.filled.map((one) => label(effect.field, one.value)), y: effect.levels, xaxis: axis, yaxis: "y", mode: "lines+markers",
      line: { color: COLOURS[0] }, error_y: { type: "data", symmetric: false, array: highs, arrayminus: lows, color: "#b8c0c9", thickness: 1.2 },
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
  if (!along) { Plotly.react("curves", [], { ...LAYOUT, height: 200 }, CONFIG); return; }
  const lines = by >= 0 && by !== at ? fields[by].values : [null];
  const traces = lines.map((line, index) => {
    const own = along.values
      .map((value) => ({ value, group: selected.filter((point) => point.fields[at] === value && (line === null || point.fields[by] === line)) }))
      .filter((one) => one.group.length)
      .map((one) => ({ value: one.value, ...merged(one.group, column) }));
    const has = own.some((one) => one.low !== null);
    return {
      x: own.map((one) => (along.number ? one.value : label(along, one.value))), y: own.map((one) => one.level), mode: "lines+markers",
      name: line === null ? "" : `${fields[by].name} ${label(fields[by], line)}`, showlegend: line !== null, line: { color: COLOURS[index % COLOURS.length] },
      error_y: has ? { type: "data", symmetric: false, thickness: 1.2, array: own.map((one) => (one.high === null ? 0 : one.high - one.level)), arrayminus: own.map((one) => (one.low === null ? 0 : one.level - one.low)) } : undefined,
    };
  });
  const positive = along.number && along.values.every((value) => value > 0);
  const wide = positive && along.values[along.values.length - 1] / along.values[0] >= 16;
  const axis = { ...AXIS, title: { text: along.name }, type: along.number ? (wide ? "log" : "linear") : "category" };
  if (along.number && along.values.length <= 12) Object.assign(axis, { tickvals: along.values, ticktext: along.values.map(String) });
  Plotly.react("curves", traces, { ...LAYOUT, height: 400, xaxis: axis, yaxis: { ...AXIS, title: { text: title(entry(column)) } } }, CONFIG);
}

function drawHeat(selected, column) {
  const [x, y] = [chosen("across"), chosen("down")].map((name) => fields.findIndex((field) => field.name === name));
  if (x < 0 || y < 0 || x === y) {
    Plotly.react("heat", [], { ...LAYOUT, height: 120, annotations: [{ text: "needs two fields", showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 }], xaxis: { visible: false }, yaxis: { visible: false } }, CONFIG);
    return;
  }
  const z = fields[y].values.map((down) => fields[x].values.map((across) => {
    const own = selected.filter((point) => point.fields[x] === across && point.fields[y] === down);
    return own.length ? mean(own.map((point) => point.numbers[column][0])) : null;
  }));
  const few = z.length * (z[0] || []).length <= 150;
  const trace = {
    type: "heatmap", x: fields[x].labels, y: fields[y].labels, z, colorscale: [[0, "#f3f6f9"], [0.5, "#e9b872"], [1, "#b22820"]],
    xgap: 2, ygap: 2, text: few ? z.map((row) => row.map((value) => (value === null ? "" : shown(value)))) : undefined, texttemplate: few ? "%{text}" : undefined,
    colorbar: { title: { text: title(entry(column)) }, thickness: 12 },
  };
  const layout = { ...LAYOUT, height: 160 + 34 * Math.min(z.length, 20), xaxis: { ...AXIS, type: "category", title: { text: fields[x].name } }, yaxis: { ...AXIS, type: "category", title: { text: fields[y].name } } };
  Plotly.react("heat", [trace], layout, CONFIG);
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
    { x: marks.map((mark) => mark.values[0]), y: marks.map((mark) => mark.values[1]), mode: "markers", name: "points", text: marks.map((mark) => describe(mark.point)), hovertemplate: "%{text}<extra></extra>", marker: { color: "#9fb3c8", size: 7 } },
    { x: best.map((mark) => mark.values[0]), y: best.map((mark) => mark.values[1]), mode: "lines+markers", name: "not beaten", text: best.map((mark) => describe(mark.point)), hovertemplate: "%{text}<extra></extra>", line: { color: COLOURS[1], shape: "linear" }, marker: { color: COLOURS[1], size: 9 } },
  ];
  Plotly.react("front", traces, { ...LAYOUT, height: 420, xaxis: { ...AXIS, title: { text: title(entry(column)) } }, yaxis: { ...AXIS, title: { text: title(entry(second)) } } }, CONFIG);
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
    const cell = document.createElement("th");
    cell.textContent = at === order.at ? `${text} ${order.up ? "▲" : "▼"}` : text;
    cell.onclick = () => { sorting = { at, up: !(order.at === at && order.up) }; drawRest(); };
    head.append(cell);
  });
  const body = rows.slice(0, ROWS).map(({ point, cells: values }) => {
    const line = document.createElement("tr");
    values.forEach((value, at) => {
      const cell = document.createElement("td");
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
  element("table").replaceChildren(head, ...body);
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

if (numbers.length && points.length) {
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
} else {
  element("parallel").textContent = "no run has succeeded";
}
