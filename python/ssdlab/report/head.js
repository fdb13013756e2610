// Runs before the page is shown: the list of its figures, and whether it is light or dark.

const figures = [];
const isDarkSystem = matchMedia("(prefers-color-scheme: dark)");

/** Returns the theme that the reader has chosen on a page of this folder; without one, that of the system. */
function chosenTheme() {
  let chosen = null;
  try {
    chosen = localStorage.getItem("ssdlab-theme");
  } catch (problem) {
    // A browser may refuse to store anything for a page in a file.
  }
  return chosen || (isDarkSystem.matches ? "dark" : "light");
}

document.documentElement.dataset.theme = chosenTheme();
