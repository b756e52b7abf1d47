// node axe.js CHROMIUM PAGE ...: what axe finds on each page, and pages that are wider than the window.
const { existsSync } = require("fs");
const { pathToFileURL } = require("url");
const { chromium } = require("playwright-core");

const QUIET = ["quic", "background-networking", "component-update", "sync"].map((what) => `--disable-${what}`);
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];

async function faults(page) {
  await page.addScriptTag({ path: require.resolve("axe-core/axe.min.js") });
  const found = (await page.evaluate((tags) => axe.run(document, { runOnly: tags }), TAGS)).violations;
  const told = found.map(({ id, nodes }) => `${id}, ${nodes.length} times, first ${nodes[0].target.join(" ")}`);
  const wide = await page.evaluate(() => document.scrollingElement.scrollWidth > innerWidth);
  return wide ? [...told, "the page scrolls sideways"] : told;
}

(async () => {
  const [executablePath, ...files] = process.argv.slice(2);
  const options = { executablePath, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", ...QUIET] };
  const browser = await chromium.launch(options);
  const there = files.filter(existsSync);
  for (const file of files) if (!there.includes(file)) console.log(`${file}: not built`);
  let count = 0;
  for (const file of there) {
    const begun = Date.now();
    const before = count;
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1400, 390]) {
        const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
        page.on("pageerror", (error) => console.log(`${file}: ${error}`));
        await page.goto(pathToFileURL(file).href);
        await page.waitForTimeout(1500); // formulas are set, scrolling places are marked
        const told = await faults(page);
        for (const fault of told) console.log(`${file}, ${colorScheme}, ${width} px: ${fault}`);
        count += told.length;
        await page.close();
      }
    }
    console.log(`${file}: ${count - before} faults, ${Math.round((Date.now() - begun) / 1000)} s`);
  }
  await browser.close();
  console.log(`${count} faults on ${there.length} pages`);
  process.exit(count || !there.length ? 1 : 0);
})();
