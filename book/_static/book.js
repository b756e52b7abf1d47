// What scrolls sideways can be reached and scrolled with the keyboard, for as long as it is wider than its place.
const watched = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth && getComputedStyle(target).overflowX !== "visible";
    const told = { tabindex: "0", role: "group", "aria-label": "wide, scrolls sideways" };
    for (const name in told) scrolls ? target.setAttribute(name, told[name]) : target.removeAttribute(name);
  }
});
addEventListener("DOMContentLoaded", () => {
  for (const text of document.querySelectorAll(".cell_output pre, .highlight-text pre")) text.classList.toggle("grid", /[│┃]/.test(text.textContent));
  // no command breaks within --option
  for (const command of document.querySelectorAll(".highlight-bash pre"))
    command.innerHTML = command.innerHTML.replace(/(^|[\s>])(--?[a-z][\w-]*)/gm, '$1<span class="option">$2</span>');
  const places = ".pst-scrollable-table-container, .cell_output, .cell_output > .output, pre.grid, div.math";
  for (const place of document.querySelectorAll(places)) watched.observe(place);
});

// The letters of a figure as narrow as this can be read in a narrow window.
addEventListener("load", () => {
  for (const figure of document.querySelectorAll(".cell_output img")) figure.classList.toggle("one-panel", figure.naturalWidth < 620);
});

// Paper is light.
const page = document.documentElement;
addEventListener("beforeprint", () => { page.dataset.shown = page.dataset.theme; page.dataset.theme = "light"; });
addEventListener("afterprint", () => { page.dataset.theme = page.dataset.shown; });
