// Draws the figures of a page with the library that it holds, and fits them to the width of the window.

/** Width of a figure [px] below which its panels stand one below the other. */
const NARROW = 640;

/** Decompresses the library of the page and runs it. */
async function library() {
  const packed = Uint8Array.from(atob(document.getElementById("library").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

/** Arranges the panels of a figure for its width, if that has changed from wide to narrow or back. */
function fit(figure) {
  const shapes = figure && figure.layout && figure.layout.meta;
  if (!shapes) return;
  const shape = figure.clientWidth < NARROW ? "narrow" : "wide";
  if (figure.dataset.shape === shape) return;
  if (!figure.dataset.shape && shape === "wide") { figure.dataset.shape = shape; return; }
  figure.dataset.shape = shape;
  figure.style.minHeight = `${shapes[shape].height}px`;
  Plotly.relayout(figure, shapes[shape]);
}

/** Colour behind the figures of a dark page, as `--card` of the style sheet, and its lightness in HSL. */
const DARK = [23, 29, 36], DARK_LIGHTNESS = 0.116;
/** Least contrast of the parts of a figure, and of its texts, with what is behind them (WCAG 2.2, level AA). */
const PARTS = 3, TEXTS = 4.5;

const isDark = () => document.documentElement.dataset.theme === "dark";

/** Returns red, green, blue and opacity of a colour; nothing for a text that is not a colour. */
function parsed(text) {
  if (text === "white") return [255, 255, 255, 1];
  if (/^#[0-9a-f]{6}$/i.test(text)) return [...[1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)), 1];
  const found = /^rgba?\(([\d., ]+)\)$/.exec(text);
  return found ? [...found[1].split(",").map(Number), 1].slice(0, 4) : null;
}

/** Returns the relative luminance of a colour. */
function luminance(colour) {
  const [red, green, blue] = colour.map((part) => (part <= 10.3 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const contrast = (colour) => (luminance(colour) + 0.05) / (luminance(DARK) + 0.05);

/** Returns a colour with another lightness. */
function lightened(colour, lightness) {
  const [most, least] = [Math.max(...colour), Math.min(...colour)];
  const before = (most + least) / 510;
  const room = (value) => Math.min(value, 1 - value);
  const scale = room(before) > 0 ? room(lightness) / room(before) : 0;
  return colour.map((part) => Math.max(0, Math.min(255, 255 * lightness + (part - 255 * before) * scale)));
}

/** Returns a colour of a light figure as a dark page has it: light becomes dark, the hue stays, with the contrast needed. */
function themed(text, least = 0) {
  const found = isDark() ? parsed(text) : null;
  if (!found) return text;
  const colour = found.slice(0, 3);
  const lightness = (Math.max(...colour) + Math.min(...colour)) / 510;
  const isBackground = lightness > 0.94;
  let at = 1 - lightness * (1 - DARK_LIGHTNESS);
  let made = lightness === 1 ? DARK : lightened(colour, at);
  while (!isBackground && contrast(made) < least && at < 1) made = lightened(colour, (at += 0.02));
  return `rgba(${made.map(Math.round).join(",")},${found[3]})`;
}

/** Returns traces or a layout with their colours as the page has them. A scale of colours is no part by itself. */
function recoloured(value, key = "", least = 0) {
  if (!isDark()) return value;
  if (typeof value === "string") return themed(value, least);
  if (Array.isArray(value)) return value.map((item) => recoloured(item, key, key === "colorscale" ? 0 : least));
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  const inside = (name) => (/font$/i.test(name) ? TEXTS : name === "colorscale" ? 0 : least);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, recoloured(item, name, inside(name))]));
}

/** What each figure was drawn from, in the colours of a light page, by its place. */
const sources = new Map();

/** Lets the library draw figures in the colours of the page, with a text alternative. */
function followTheme() {
  for (const way of ["newPlot", "react"]) {
    const draw = Plotly[way];
    Plotly[way] = async (place, data, layout, config) => {
      sources.set(typeof place === "string" ? place : place.id, { data, layout, config });
      const figure = await draw(place, recoloured(data, "", PARTS), recoloured(layout), config);
      explain(figure);
      return figure;
    };
  }
}

/** Returns a text of a figure in one line, without its tags. */
const plain = (text) => String(text || "").replace(/<br ?\/?>/g, "; ").replace(/<[^>]*>/g, "");

/** Returns the heading that stands above a part of the page. */
function headingOf(part) {
  const inside = part.closest("details");
  const heading = inside ? inside.querySelector("summary") : (part.closest("section") || document).querySelector("h3, h2, h1");
  return heading ? heading.textContent : document.title;
}

/** Gives a figure its text alternative: what it shows, and below it its numbers as a table. */
function explain(figure) {
  const layout = figure._fullLayout;
  const titles = (which) => {
    const axes = Object.keys(layout).filter((name) => name.startsWith(`${which}axis`) && layout[name].visible !== false);
    return [...new Set(axes.map((name) => plain(layout[name].title.text)).filter(Boolean))].join(", ");
  };
  const names = [...new Set(figure._fullData.filter((trace) => trace.showlegend !== false).map((trace) => trace.name))];
  const notes = figure.data.length ? [] : (layout.annotations || []).map((note) => plain(note.text));
  const across = titles("x"), up = titles("y");
  const shows = [[up, across].filter(Boolean).join(" over "), names.filter(Boolean).join(", "), ...notes];
  const text = [`Figure: ${headingOf(figure)}`, ...shows.filter(Boolean)].join(". ");
  // Of a figure with buttons the drawings alone are hidden.
  const hasButtons = figure.querySelector(".modebar") !== null && figure._context.displayModeBar !== false;
  figure.setAttribute("role", hasButtons ? "group" : "img");
  figure.setAttribute("aria-label", text);
  figure.querySelectorAll(".main-svg").forEach((part) => part.setAttribute("aria-hidden", "true"));
  offerNumbers(figure);
}

/** Most rows in the table of a figure. */
const NUMBERS = 400;

/** Puts the numbers of a figure below it, as a table that is made when it is opened. */
function offerNumbers(figure) {
  let numbers = figure.nextElementSibling;
  if (!numbers || !numbers.matches(".numbers")) {
    numbers = document.createElement("details");
    numbers.className = "numbers";
    const [summary, frame] = [document.createElement("summary"), document.createElement("div")];
    summary.textContent = "Numbers of the figure";
    summary.setAttribute("aria-label", `Numbers of the figure: ${headingOf(figure)}`);
    frame.className = "scroll";
    numbers.append(summary, frame);
    figure.after(numbers);
    numbers.addEventListener("toggle", () => { if (numbers.open) frame.replaceChildren(tabulated(figure)); });
    watch(frame);
  }
  numbers.hidden = !figure.data.length;
  if (numbers.open) numbers.lastElementChild.replaceChildren(tabulated(figure));
}

/** Returns the numbers of a figure as the pointer would show them, evenly chosen where there are many. */
function tabulated(figure) {
  const rows = figure._fullData.filter((trace) => trace.visible === true && trace.hoverinfo !== "skip").flatMap(marksOf);
  const step = Math.ceil(rows.length / NUMBERS);
  const table = document.createElement("table");
  if (step > 1) table.createCaption().textContent = `One in ${step} of ${rows.length} points`;
  for (const [name, text] of rows.filter((row, at) => at % step === 0)) {
    const row = table.insertRow();
    const head = document.createElement("th");
    [head.scope, head.textContent] = ["row", name];
    row.append(head);
    row.insertCell().textContent = text;
  }
  return table;
}

/** Returns each mark of a trace: its name, and what the pointer shows. */
function marksOf(trace) {
  const name = plain(trace.name);
  if (trace.type === "heatmap") {
    return Array.from(trace.z).flatMap((row, down) => Array.from(row, (z, across) =>
      [name, said(trace, { x: trace.x ? trace.x[across] : across, y: trace.y ? trace.y[down] : down, z })]));
  }
  const at = (values, index) => (typeof values === "object" && values ? values[index] : values);
  return Array.from(trace.x || trace.y || [], (value, index) => {
    const mark = Object.fromEntries(["x", "y", "customdata", "text"].map((part) => [part, at(trace[part], index)]));
    return [name, said({ ...trace, hovertemplate: at(trace.hovertemplate, index) }, mark)];
  });
}

/** Returns what the pointer shows at a mark. */
function said(trace, mark) {
  const template = trace.hovertemplate || (mark.z === undefined ? "%{x}: %{y}" : "%{x}, %{y}: %{z}");
  const filled = template.replace(/<extra>.*?<\/extra>/g, "").replace(/%\{(\w+)(?:\[(\d+)\])?(?::([^}]*))?\}/g, (_, part, index, form) => {
    const value = index === undefined ? mark[part] : (mark[part] || [])[index];
    return value === undefined || value === null ? "–" : typeof value === "number" ? inForm(value, form || "") : value;
  });
  return plain(filled);
}

/** Returns a number in a form of the templates of the figures: `.2f`, `.4g`, `.2e`, `,`, `.0%`. */
function inForm(value, form) {
  const [, comma, digits, kind] = /^(,?)(?:\.(\d+))?([fge%]?)$/.exec(form) || [];
  if (kind === "%") return `${(100 * value).toFixed(digits)}%`;
  if (kind === "e") return value.toExponential(digits);
  if (kind === "f" || comma) {
    const fixed = digits === undefined ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits };
    return value.toLocaleString("en", { ...fixed, useGrouping: Boolean(comma) });
  }
  return String(Number(value.toPrecision(digits || 6)));
}

/** Frames that scroll by themselves take the focus, so that the arrow keys scroll them; others do not. */
const scrolling = new ResizeObserver((changed) => {
  for (const frame of new Set(changed.map((one) => one.target.closest(".scroll, pre")))) {
    if (!frame) continue;
    const scrolls = frame.scrollWidth > frame.clientWidth || frame.scrollHeight > frame.clientHeight;
    const given = scrolls ? { tabindex: "0", role: "group", "aria-label": headingOf(frame) } : {};
    for (const name of ["tabindex", "role", "aria-label"]) {
      if (given[name]) frame.setAttribute(name, given[name]);
      else frame.removeAttribute(name);
    }
  }
});

/** Follows the size of a frame and of what is in it. */
function watch(frame) {
  scrolling.observe(frame);
  const inside = () => [...frame.children].forEach((part) => scrolling.observe(part));
  inside();
  new MutationObserver(inside).observe(frame, { childList: true });
}

/** Shows the meaning of a name while the pointer, or the focus, is on it. Escape hides it. */
function offerMeanings() {
  const box = document.createElement("div");
  [box.id, box.hidden] = ["meaning", true];
  box.setAttribute("role", "tooltip");
  document.body.append(box);
  let shown = null;
  const hide = () => {
    if (shown) shown.removeAttribute("aria-describedby");
    [shown, box.hidden] = [null, true];
  };
  const show = (name) => {
    hide();
    [shown, box.textContent, box.hidden] = [name, name.dataset.meaning, false];
    name.setAttribute("aria-describedby", "meaning");
    const [beside, own] = [name.getBoundingClientRect(), box.getBoundingClientRect()];
    const below = beside.bottom + 6;
    box.style.left = `${Math.max(8, Math.min(beside.left, innerWidth - own.width - 8))}px`;
    box.style.top = `${below + own.height < innerHeight ? below : Math.max(8, beside.top - own.height - 6)}px`;
  };
  for (const name of document.querySelectorAll("body [title]")) {
    name.dataset.meaning = name.title;
    name.removeAttribute("title");
    name.classList.add("term");
    if (!name.matches("button, a")) name.tabIndex = 0;
    name.addEventListener("focus", () => { if (name.matches(":focus-visible")) show(name); });
    name.addEventListener("blur", hide);
    name.addEventListener("pointerenter", () => show(name));
  }
  // The text may be reached with the pointer; beyond it and its name it goes.
  addEventListener("pointermove", (event) => {
    const over = event.target.closest ? event.target.closest(".term, #meaning") : null;
    if (shown && over !== shown && over !== box && document.activeElement !== shown) hide();
  });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", () => { if (shown && document.activeElement !== shown) hide(); }, { passive: true });
}

/** Colours the swatches of the legends as the traces that they stand for. */
function colourSwatches() {
  for (const part of document.querySelectorAll(".keys svg *")) {
    for (const name of ["fill", "stroke"]) {
      const first = part.dataset[name] || part.getAttribute(name);
      if (!first) continue;
      part.dataset[name] = first;
      part.setAttribute(name, themed(first, PARTS));
    }
  }
}

/** Shows the page light or dark. */
function show(theme) {
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  if (button) button.setAttribute("aria-pressed", String(theme === "dark"));
  colourSwatches();
  for (const [place, { data, layout, config }] of sources) {
    const figure = document.getElementById(place);
    const hidden = figure.data.map((trace) => trace.visible);
    Plotly.react(figure, data.map((trace, at) => ({ ...trace, visible: hidden[at] })), layout, config);
    // The layout is that of a wide window again.
    delete figure.dataset.shape;
    fit(figure);
  }
  dispatchEvent(new Event("theme"));
}

/** Connects the button and the system with the theme. On paper the page is light. */
function offerThemes() {
  const button = document.getElementById("theme");
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("ssdlab-theme", theme);
    } catch (problem) {
      // The choice is lost with the page.
    }
    show(theme);
  });
  isDarkSystem.addEventListener("change", () => show(chosenTheme()));
  addEventListener("beforeprint", () => show("light"));
  addEventListener("afterprint", () => show(chosenTheme()));
  button.setAttribute("aria-pressed", String(isDark()));
  colourSwatches();
}

/** Hides or shows the traces of the name on a button of a legend. */
function toggle(button) {
  const figure = document.getElementById(button.parentElement.dataset.figure);
  const off = button.getAttribute("aria-pressed") === "true";
  button.setAttribute("aria-pressed", String(!off));
  const places = figure.data.flatMap((trace, at) => (trace.name === button.dataset.name ? [at] : []));
  Plotly.restyle(figure, { visible: off ? "legendonly" : true }, places).then(() => explain(figure));
}

async function start() {
  offerThemes();
  offerMeanings();
  document.querySelectorAll(".scroll, pre").forEach(watch);
  try {
    await library();
  } catch (problem) {
    document.querySelectorAll(".figure").forEach((place) => {
      place.textContent = "This browser is too old to show the figures: it cannot decompress their library.";
    });
    return;
  }
  followTheme();
  for (const draw of figures) fit(await draw());
  document.querySelectorAll(".keys button").forEach((button) => button.addEventListener("click", () => toggle(button)));
  addEventListener("resize", () => document.querySelectorAll(".figure").forEach(fit));
  document.body.dataset.drawn = "yes";
}

start();
