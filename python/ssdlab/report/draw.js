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

/** Lets the library draw figures in the colours of the page. */
function followTheme() {
  for (const way of ["newPlot", "react"]) {
    const draw = Plotly[way];
    Plotly[way] = (place, data, layout, config) => {
      sources.set(typeof place === "string" ? place : place.id, { data, layout, config });
      return draw(place, recoloured(data, "", PARTS), recoloured(layout), config);
    };
  }
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
  const off = button.classList.toggle("off");
  const places = figure.data.flatMap((trace, at) => (trace.name === button.dataset.name ? [at] : []));
  Plotly.restyle(figure, { visible: off ? "legendonly" : true }, places);
}

async function start() {
  offerThemes();
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
