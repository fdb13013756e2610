// Draws what the command sends: parts by name, and points over time. Texts are set as texts, never as HTML.

/** Most points that are kept, as the command keeps them. */
const MOST = 1200;
/** Heights of a chart and of its axis, and widths of its labels [px]. */
const HEIGHT = 190, AXIS = 20, LABELS = 58;
const OPERATIONS = ["read", "write"];
const PERCENTILES = [["p50_ns", "p50", "--first"], ["p99_ns", "p99", "--second"], ["p99_9_ns", "p99.9", "--third"]];

const state = { points: [], head: null, status: null, now: null, wear: null, rows: null };
const at = (id) => document.getElementById(id);

// Light and dark, as on the other pages.

const isDarkSystem = matchMedia("(prefers-color-scheme: dark)");

function chosenTheme() {
  let chosen = null;
  try {
    chosen = localStorage.getItem("ssdlab-theme");
  } catch (problem) {
    // A browser may refuse to store anything.
  }
  return chosen || (isDarkSystem.matches ? "dark" : "light");
}

function showTheme(theme) {
  document.documentElement.dataset.theme = theme;
  at("theme").setAttribute("aria-pressed", String(theme === "dark"));
  drawSoon();
}

at("theme").addEventListener("click", () => {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("ssdlab-theme", theme);
  } catch (problem) {
    // The choice is lost with the page.
  }
  showTheme(theme);
});
isDarkSystem.addEventListener("change", () => showTheme(chosenTheme()));

// Numbers for people.

function significant(number, digits = 3) {
  if (number === 0) return "0";
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(number))));
  return number.toLocaleString("en", { minimumFractionDigits: Math.min(places, 9), maximumFractionDigits: Math.min(places, 9) });
}

function scaled(number, units, unit, shown = significant) {
  if (number === null || number === undefined) return "–";
  for (const [size, name] of units) if (Math.abs(number) >= size) return `${shown(number / size)} ${name}`;
  return `${shown(number)} ${unit}`.trim();
}

/** Returns a round number of an axis, without zeroes behind the point. */
const round = (number) => String(Number(number.toPrecision(3)));

const TIMES = [[864e11, "d"], [36e11, "h"], [6e10, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "us"]];
const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const time = (ns) => scaled(ns, TIMES, "ns");
const rate = (number) => scaled(number, PREFIXES, "");
/** Formats of the values of an axis, by those of its curves. */
const onAxis = new Map([[time, (ns) => scaled(ns, TIMES, "ns", round)], [rate, (number) => scaled(number, PREFIXES, "", round)]]);
const bytes = (number) => scaled(number, PREFIXES.map(([size, name]) => [size, `${name}B`]), "B");
const count = (number) => (number === null || number === undefined ? "–" : number.toLocaleString("en"));
const plain = (number) => (number === null || number === undefined ? "–" : significant(number));

function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, "0"));
  return parts[0] === "00" ? `${Number(parts[1])}:${parts[2]}` : `${Number(parts[0])}:${parts[1]}:${parts[2]}`;
}

// Elements.

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function shape(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function fillCards(place, cards) {
  place.replaceChildren(
    ...cards.map(([value, label]) => {
      const card = element("div", "", { class: "card" });
      card.append(element("b", value), element("span", label));
      return card;
    }),
  );
}

function fillTable(place, heads, rows, failed = () => false) {
  const head = element("thead"), body = element("tbody");
  const top = element("tr");
  top.append(...heads.map((text) => element("th", text, { scope: "col" })));
  head.append(top);
  for (const row of rows) {
    const line = element("tr", "", failed(row) ? { class: "failed" } : {});
    line.append(...row.map((text, index) => (index ? element("td", text) : element("th", text, { scope: "row" }))));
    body.append(line);
  }
  place.replaceChildren(head, body);
}

// Charts.

/** Returns about four round values from `low` to `high`. */
function ticks(low, high, isLog) {
  if (isLog) {
    const found = [], steps = high / low > 300 ? [1] : high / low > 30 ? [1, 3] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      found.push(...steps.map((step) => step * 10 ** power));
    }
    return found.filter((value) => value >= low && value <= high);
  }
  const rough = (high - low) / 4, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * unit).find((size) => size >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(value);
  return found;
}

/** Returns the frame of a chart, with its scales: of the times of the points, and of values from `low` to `high`. */
function frame(place, low, high, isLog, format, about) {
  const width = Math.max(220, place.clientWidth), points = state.points;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, role: "img", "aria-label": about });
  const from = points[0].at, to = Math.max(points[points.length - 1].at, from + 1);
  const x = (seconds) => LABELS + ((seconds - from) / (to - from)) * (width - LABELS - 8);
  const scale = isLog ? Math.log : (value) => value;
  const y = (value) => 8 + (1 - (scale(value) - scale(low)) / (scale(high) - scale(low))) * (HEIGHT - AXIS - 8);
  for (const value of ticks(low, high, isLog)) {
    svg.append(shape("line", { x1: LABELS, x2: width - 8, y1: y(value), y2: y(value), class: "grid" }));
    svg.append(shape("text", { x: LABELS - 6, y: y(value) + 4, "text-anchor": "end" }, (onAxis.get(format) || round)(value)));
  }
  for (const value of ticks(from, to, false)) {
    const isLast = x(value) > width - 24;
    svg.append(shape("text", { x: isLast ? width - 2 : x(value), y: HEIGHT - 5, "text-anchor": isLast ? "end" : "middle" }, clock(value)));
  }
  for (const point of points.filter((one) => one.lost_power)) {
    svg.append(shape("line", { x1: x(point.at), x2: x(point.at), y1: 8, y2: HEIGHT - AXIS, class: "mark" }));
  }
  return { svg, x, y };
}

function legend(entries) {
  const made = element("div", "", { class: "legend" });
  for (const [name, colour, value] of entries) {
    const entry = element("span", `${name} `);
    entry.style.setProperty("--swatch", colour);
    if (value) entry.append(element("small", value));
    made.append(entry);
  }
  return made;
}

function nothing(place, text) {
  place.replaceChildren(element("p", text, { class: "caption" }));
  delete place.dataset.curves;
}

/** Draws curves over time: each has a name, a colour and a function that returns its value at a point, or null. */
function lines(place, curves, format, { isLog = false, none = "nothing was measured yet" } = {}) {
  const values = curves.flatMap((curve) => state.points.map(curve.value)).filter((value) => value !== null && value !== undefined);
  if (!values.length || Math.max(...values) <= 0) return nothing(place, none);
  const most = Math.max(...values), least = Math.min(...values);
  const low = isLog ? Math.max(least, 1) * 0.8 : 0, high = isLog ? Math.max(most, 1) * 1.25 : most * 1.08;
  const said = curves.map((curve) => `${curve.name} ${format(lastOf(curve.value))}`).join(", ");
  const { svg, x, y } = frame(place, low, high, isLog, format, said);
  for (const curve of curves) {
    let path = "", isOpen = false;
    for (const point of state.points) {
      const value = curve.value(point);
      if (value === null || value === undefined) { isOpen = false; continue; }
      path += `${isOpen ? "L" : "M"}${x(point.at).toFixed(1)} ${y(Math.max(value, low)).toFixed(1)}`;
      // A point without neighbours is a dot.
      if (!isOpen) path += "h0.01";
      isOpen = true;
    }
    const look = { d: path, fill: "none", stroke: curve.colour, "stroke-width": 1.8, "stroke-linecap": "round", "stroke-linejoin": "round" };
    if (path) svg.append(shape("path", look));
  }
  place.replaceChildren(svg, legend(curves.map((curve) => [curve.name, curve.colour, format(lastOf(curve.value))])));
  place.dataset.curves = String(svg.querySelectorAll("path").length);
}

/** Returns the latest value that is known. */
function lastOf(value) {
  for (let index = state.points.length - 1; index >= 0; index -= 1) {
    const found = value(state.points[index]);
    if (found !== null && found !== undefined) return found;
  }
  return null;
}

/** Draws the causes of an operation as areas on each other. */
function areas(place, operation) {
  const points = state.points, causes = state.head.causes.filter((one) => points.some((point) => point[operation].causes[one.name]));
  const sums = points.map((point) => Object.values(point[operation].causes).reduce((sum, ns) => sum + ns, 0));
  if (!causes.length) return nothing(place, `no ${operation} was measured yet`);
  const said = `mean latency of ${operation}s by cause: ${time(sums[sums.length - 1])}`;
  const { svg, x, y } = frame(place, 0, Math.max(...sums) * 1.05, false, time, said);
  const below = points.map(() => 0);
  for (const cause of causes) {
    const upper = points.map((point, index) => below[index] + (point[operation].causes[cause.name] || 0));
    const ends = (index, height) => `${x(points[index].at).toFixed(1)} ${y(height).toFixed(1)}`;
    const there = upper.map((height, index) => `${index === 0 ? "M" : "L"}${ends(index, height)}`).join("");
    const back = [...below.keys()].reverse().map((index) => `L${ends(index, below[index])}`).join("");
    const area = shape("path", { d: `${there}${back}Z`, fill: cause.colour, stroke: cause.colour, "stroke-width": points.length > 1 ? 0.3 : 3 });
    area.append(shape("title", {}, cause.words));
    svg.append(area);
    upper.forEach((height, index) => { below[index] = height; });
  }
  const last = [...points].reverse().find((point) => point[operation].count > 0) || points[points.length - 1];
  place.replaceChildren(svg, legend(causes.map((one) => [one.words, one.colour, time(last[operation].causes[one.name] || 0)])));
  place.dataset.curves = String(causes.length);
}

/** Returns the colour of a share on the scale of maps. */
function heat(share) {
  const scale = LOOKS.busy, index = Math.max(1, scale.findIndex(([end]) => share <= end));
  const [[low, from], [high, to]] = [scale[index - 1], scale[index]];
  const part = high > low ? (share - low) / (high - low) : 0;
  const parts = (text) => [1, 3, 5].map((place) => parseInt(text.slice(place, place + 2), 16));
  return parts(from).map((value, channel) => Math.round(value + part * (parts(to)[channel] - value)));
}

function drawWear() {
  const wear = state.wear;
  at("wear-section").hidden = !wear;
  if (!wear) return;
  const rows = wear.rows.length, columns = wear.rows[0].length, canvas = at("wear");
  [canvas.width, canvas.height] = [columns, rows];
  canvas.style.height = `${Math.min(512, Math.max(8 * rows, 48))}px`;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  const cells = wear.rows.flat(), least = Math.min(...cells), span = Math.max(...cells) - least || 1;
  cells.forEach((value, index) => image.data.set([...heat((value - least) / span), 255], 4 * index));
  context.putImageData(image, 0, 0);
  const row = wear.dies_per_row > 1 ? `${wear.dies_per_row} neighbouring dies` : "a die";
  const cell = wear.blocks_per_column > 1 ? `the mean of ${wear.blocks_per_column} neighbouring blocks` : "a block";
  at("wear-caption").textContent = `Erases of the blocks since the drive was new. A row is ${row}, a cell ${cell}.`;
  const said = `${count(wear.dies)} dies, ${count(wear.blocks_per_die)} blocks each: ${count(wear.min)} to ${count(wear.max)} erases, mean ${plain(wear.mean)}`;
  canvas.setAttribute("aria-label", said);
  canvas.dataset.cells = String(cells.length);
  canvas.onmousemove = (event) => {
    const box = canvas.getBoundingClientRect(), inside = (share, size) => Math.min(size - 1, Math.max(0, Math.floor(share * size)));
    const y = inside((event.clientY - box.top) / box.height, rows), x = inside((event.clientX - box.left) / box.width, columns);
    canvas.title = `die ${y * wear.dies_per_row}, block ${x * wear.blocks_per_column}: ${wear.rows[y][x]} erases`;
  };
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${LOOKS.busy.map(([share, colour]) => `${colour} ${100 * share}%`).join(", ")})`;
  at("wear-scale").replaceChildren(element("span", plain(least)), bar, element("span", `${plain(least + span)} erases · ${said}`));
}

// The parts of the page.

function drawDrive() {
  const now = state.now, points = state.points;
  const latest = (name) => lastOf((point) => point[name]);
  const cards = [
    [rate(latest("per_second")), "commands/s of real time"],
    [rate(latest("per_simulated_second")), "commands/s of simulated time"],
    ["–", "simulated time"], ["–", "commands"], ["–", "read"], ["–", "written"], ["–", "write amplification so far"], ["–", "erases"],
  ];
  if (now) {
    const all = Object.values(now.commands).reduce((sum, number) => sum + number, 0);
    const values = [time(now.simulated_ns), all < 1e6 ? count(all) : rate(all), bytes(now.bytes.read), bytes(now.bytes.write), plain(now.write_amplification), count(now.erases)];
    values.forEach((value, index) => { cards[2 + index][0] = value; });
    if (now.free_blocks !== null) cards.push([count(now.free_blocks), "free blocks"]);
    if (now.server) cards.push([count(now.server.connections), "clients so far"], [count(now.server.power_losses), "losses of power"]);
  }
  fillCards(at("cards"), cards);
  drawTable(now, points);
  const single = (name, title, format) => lines(at(name), [{ name: title, colour: "var(--first)", value: (point) => point[name] }], format);
  if (!points.length) return;
  single("per_second", "commands/s", rate);
  single("per_simulated_second", "commands/s", rate);
  single("write_amplification", "write amplification", plain);
  for (const operation of OPERATIONS) {
    const curves = PERCENTILES.map(([key, name, colour]) => ({ name, colour: `var(${colour})`, value: (point) => point[operation][key] }));
    lines(at(`latency-${operation}`), curves, time, { isLog: true, none: `too few ${operation}s were measured yet` });
    areas(at(`causes-${operation}`), operation);
  }
}

function drawTable(now, points) {
  const last = points[points.length - 1];
  const rows = OPERATIONS.flatMap((operation) => [
    [`${operation}s, the last`, last ? count(last[operation].count) : "–", ...PERCENTILES.map(([key]) => time(last ? last[operation][key] : null))],
    [`${operation}s, all`, now ? count(now.commands[operation]) : "–", ...PERCENTILES.map(([key]) => time(now ? now.latency[operation][key] : null))],
  ]);
  fillTable(at("percentiles"), ["window", "commands", ...PERCENTILES.map(([, name]) => name)], rows);
}

function drawRows() {
  const rows = state.rows;
  if (!rows) return;
  fillCards(at("row-cards"), rows.cards);
  at("progress").value = rows.share;
  fillTable(at("last-rows"), rows.columns, rows.rows, (row) => row.includes("failed"));
  if (rows.number && state.points.length) {
    const curve = { name: rows.number, colour: "var(--first)", value: (point) => point.best };
    lines(at("best"), [curve], rows.number.endsWith("_ns") ? time : rate);
  }
}

function drawStatus() {
  const { kind, text } = state.lost || state.status || { kind: "wait", text: "waiting for the first figures" };
  if (at("status").dataset.kind !== kind) at("status").dataset.kind = kind;
  // A reader of the screen hears what changes alone.
  if (at("status").textContent !== text) at("status").textContent = text;
}

let isDue = false, drawings = 0;

function drawSoon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => { isDue = false; draw(); });
}

function draw() {
  drawStatus();
  if (!state.head) return;
  const { title, subtitle, kind } = state.head;
  if (at("title").textContent !== title) [at("title").textContent, document.title] = [title, `${title} · ssdlab live`];
  at("subtitle").textContent = subtitle;
  at("drive").hidden = kind !== "drive";
  at("rows").hidden = kind !== "rows";
  if (kind === "drive") drawDrive(); else drawRows();
  drawings += 1;
  document.body.dataset.drawn = String(drawings);
}

addEventListener("resize", drawSoon);

const source = new EventSource("events");
source.onmessage = (event) => {
  const { points, whole, diagram, ...parts } = JSON.parse(event.data);
  state.lost = null;
  if (whole) state.points = [];
  state.points.push(...points);
  state.points.splice(0, Math.max(0, state.points.length - MOST));
  Object.assign(state, parts);
  // The drawing comes from the command, which has escaped the names in it.
  if (diagram) at("diagram").innerHTML = diagram;
  if ("wear" in parts) drawWear();
  drawSoon();
};
source.onerror = () => {
  if (state.status && state.status.kind === "over") {
    source.close();
    return;
  }
  state.lost = { kind: "lost", text: "the command does not answer; the page tries again" };
  drawSoon();
};
showTheme(chosenTheme());
