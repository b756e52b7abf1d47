// What scrolls sideways can be reached and scrolled with the keyboard, for as long as it is wider than its place.
const watched = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth && getComputedStyle(target).overflowX !== "visible";
    const told = { tabindex: "0", role: "group", "aria-label": "wide, scrolls sideways" };
    for (const name in told) scrolls ? target.setAttribute(name, told[name]) : target.removeAttribute(name);
  }
});
addEventListener("DOMContentLoaded", () => {
  const places = ".pst-scrollable-table-container, .cell_output, .cell_output > .output, div.math";
  for (const place of document.querySelectorAll(places)) watched.observe(place);
});

// Paper is light.
const page = document.documentElement;
addEventListener("beforeprint", () => { page.dataset.shown = page.dataset.theme; page.dataset.theme = "light"; });
addEventListener("afterprint", () => { page.dataset.theme = page.dataset.shown; });
