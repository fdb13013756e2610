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

/** Hides or shows the traces of the name on a button of a legend. */
function toggle(button) {
  const figure = document.getElementById(button.parentElement.dataset.figure);
  const off = button.classList.toggle("off");
  const places = figure.data.flatMap((trace, at) => (trace.name === button.dataset.name ? [at] : []));
  Plotly.restyle(figure, { visible: off ? "legendonly" : true }, places);
}

async function start() {
  try {
    await library();
  } catch (problem) {
    document.querySelectorAll(".figure").forEach((place) => {
      place.textContent = "This browser is too old to show the figures: it cannot decompress their library.";
    });
    return;
  }
  for (const draw of figures) fit(await draw());
  document.querySelectorAll(".keys button").forEach((button) => button.addEventListener("click", () => toggle(button)));
  addEventListener("resize", () => document.querySelectorAll(".figure").forEach(fit));
  document.body.dataset.drawn = "yes";
}

start();
