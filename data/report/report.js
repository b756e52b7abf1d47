// What the report does with the data that stands in it.

const data = JSON.parse(document.getElementById("data").textContent);
const ORIGINS = [
  { name: "copied", style: "copied", mark: "■" },
  { name: "mixed", style: "mixed", mark: "◆" },
  { name: "randomly initialised", style: "random", mark: "○" },
];
const POSITIONS = ["word-initial", "word-internal", "bytes", "special", "unused"];
const WORD_INITIAL = 0;
const count = new Intl.NumberFormat("en").format;

/* Elements */

function makeSvg(tag, properties, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

// words in which a command stands between backticks
const prose = (text) => text.split("`").map((part, n) => (n % 2 ? make("code", {}, part) : part));

/* Columns: numbers of one size each, in base 64 */

function readBytes(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

const readShorts = (text) => new Uint16Array(readBytes(text).buffer);

function readIds(text) { // three bytes each
  const bytes = readBytes(text);
  const ids = new Uint32Array(bytes.length / 3);
  for (let i = 0; i < ids.length; i += 1) ids[i] = bytes[3 * i] | (bytes[3 * i + 1] << 8) | (bytes[3 * i + 2] << 16);
  return ids;
}

function halfToNumber(half) { // IEEE 754, 16 bits
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : (sign * 2 ** -14 * fraction) / 1024;
}

const tokens = {
  texts: data.tokens.texts.split("\n"),
  origin: readBytes(data.tokens.origin),
  step: readBytes(data.tokens.step),
  script: readBytes(data.tokens.script),
  position: readBytes(data.tokens.position),
  group: readShorts(data.tokens.group),
  terms: readBytes(data.tokens.terms),
  sources: readShorts(data.tokens.sources),
};
const source = {
  texts: data.source.texts.split("\n"),
  ids: readIds(data.source.ids),
  position: readBytes(data.source.position),
};
const pairs = { source: readIds(data.pairs.source), weight: readShorts(data.pairs.weight) };
const scriptCodes = Object.keys(data.scripts);
const size = tokens.texts.length;
const firstPair = new Uint32Array(size + 1);
for (let i = 0; i < size; i += 1) firstPair[i + 1] = firstPair[i] + tokens.terms[i];

/* What is known of a token */

function pieceOf(id) {
  if (id in data.tokens.pieces) return data.tokens.pieces[id];
  const position = tokens.position[id];
  const [initial, internal] = data.tokens.marks;
  if (position > 1) return tokens.texts[id];
  return (position === WORD_INITIAL ? initial : internal) + tokens.texts[id];
}

function termsOf(id) { // the sources that the page has, the largest weight first
  const found = [];
  for (let at = firstPair[id]; at < firstPair[id + 1]; at += 1) {
    const index = pairs.source[at];
    found.push({ text: marked(source, index), id: source.ids[index], weight: halfToNumber(pairs.weight[at]) });
  }
  return found;
}

// text as it is shown: a word-initial token begins with the mark of a space
const marked = (from, i) => (from.position[i] === WORD_INITIAL ? "▁" : "") + from.texts[i];
const written = (weight) => Number(weight.toPrecision(3)).toString();
const scriptOf = (id) => scriptCodes[tokens.script[id]];
const leftOut = (id) => tokens.sources[id] - tokens.terms[id];

function madeOf(id, most) {
  const group = tokens.group[id];
  if (group) return [data.groups[group - 1]];
  const terms = termsOf(id);
  const shown = terms.slice(0, most).map((term) => `${written(term.weight)} ${term.text}`);
  const rest = terms.length - shown.length + leftOut(id);
  return rest ? [...shown, `${count(rest)} more`] : shown;
}

const describe = (id) =>
  `${marked(tokens, id)}: ${ORIGINS[tokens.origin[id]].name} (${data.steps[tokens.step[id]]}), ${madeOf(id, 4).join(" + ")}`;

/* A tip beside what is pointed at */

function showTip(id, x, y) {
  const tip = byId("tip");
  const origin = ORIGINS[tokens.origin[id]];
  const terms = make("div", {}, ...madeOf(id, 5).map((term) => make("div", { className: "tip-row" }, word(term))));
  const about = `${origin.mark} ${origin.name} (${data.steps[tokens.step[id]]})`;
  tip.replaceChildren(make("strong", {}, word(marked(tokens, id))), make("div", { className: "quiet" }, about), terms);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 4))}px`;
  tip.style.top = `${y + 16 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 16}px`;
}

const hideTip = () => { byId("tip").hidden = true; };

function showTipAt(element, id) {
  const box = element.getBoundingClientRect();
  showTip(id, box.left, box.bottom - 8);
}

document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

/* Lines before and after */

function targetToken(id, first, text) {
  const origin = ORIGINS[tokens.origin[id]];
  const initial = tokens.position[id] === WORD_INITIAL ? " initial" : "";
  const button = make("button", { type: "button", className: `token ${origin.style}${initial}` }, word(text));
  button.tabIndex = first ? 0 : -1;
  button.dataset.id = id;
  button.append(make("span", { className: "hidden" }, `, ${origin.name}`));
  return button;
}

function sourceToken(index, text) {
  const unknown = source.ids[index] === data.source.unknown;
  const initial = source.position[index] === WORD_INITIAL ? " initial" : "";
  return make("span", { className: `token${unknown ? " unknown" : initial}` }, word(text));
}

function lineRow(name, children, direction) {
  const title = make("div", { className: "quiet" }, `${name}: ${count(children.length)} tokens`);
  const row = make("p", { dir: direction, className: name, role: "group" }, ...children);
  row.setAttribute("aria-label", `${name} tokens`);
  return make("div", {}, title, row);
}

function showLine(line) {
  const direction = directionOf(line.text);
  const box = make("div", { className: "line" }, make("p", { dir: direction }, line.text));
  const textsOf = (from, ids) => withLetters(ids.map((id) => marked(from, id)));
  if (line.source) {
    const texts = textsOf(source, line.source);
    box.append(lineRow("source", line.source.map((index, n) => sourceToken(index, texts[n])), direction));
  }
  const texts = textsOf(tokens, line.target);
  box.append(lineRow("target", line.target.map((id, n) => targetToken(id, n === 0, texts[n])), direction));
  return box;
}

function walkTokens(event) {
  const here = event.target.closest("button.token");
  const steps = { ArrowRight: 1, ArrowLeft: -1 };
  if (!here || !(event.key in steps)) return;
  const forward = here.closest("[dir]").dir === "rtl" ? -steps[event.key] : steps[event.key];
  const next = forward > 0 ? here.nextElementSibling : here.previousElementSibling;
  if (!next) return;
  event.preventDefault();
  here.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function showLines() {
  const list = byId("line-list");
  list.append(...data.lines.map(showLine));
  list.addEventListener("keydown", walkTokens);
  const tipOf = (event) => {
    const button = event.target.closest("button.token");
    if (button) showTipAt(button, Number(button.dataset.id));
  };
  list.addEventListener("mouseover", tipOf);
  list.addEventListener("focusin", tipOf);
  list.addEventListener("mouseout", hideTip);
  list.addEventListener("focusout", hideTip);
  list.addEventListener("click", (event) => {
    const button = event.target.closest("button.token");
    if (button) findInTable(Number(button.dataset.id));
  });
}

function showLegends() {
  const counts = [0, 0, 0];
  for (const origin of tokens.origin) counts[origin] += 1;
  for (const legend of document.querySelectorAll(".origins")) {
    const inMap = legend.closest("#map");
    ORIGINS.forEach((origin, n) => {
      const mark = inMap ? `${origin.mark} ` : "";
      const box = make("span", { className: `token ${origin.style}` }, `${mark}${origin.name}`);
      legend.append(make("span", {}, box, ` ${count(counts[n])} embeddings`));
    });
  }
}

/* All tokens: only the rows that are seen are in the document */

const ROW = 32; // pixels, as in the style sheet
const SPARE = 6; // rows above and below those that are seen
const COLUMNS = [
  { title: "id", width: "5rem", key: (id) => id },
  { title: "token", width: "21%", key: (id) => tokens.texts[id] },
  { title: "position", width: "8.6rem", key: (id) => tokens.position[id] },
  { title: "script", width: "4.5rem", key: (id) => scriptOf(id) },
  { title: "origin", width: "12.5rem", key: (id) => tokens.origin[id] },
  { title: "sources", width: "auto", key: (id) => tokens.sources[id] },
];
const table = { order: Uint32Array.from(tokens.texts.keys()), column: 0, up: true, chosen: -1 };
let lowered = null; // the texts in lower case, made when they are first searched

function cellsOf(id, row) {
  const origin = ORIGINS[tokens.origin[id]];
  const name = make("button", { type: "button", className: `token ${origin.style}`, tabIndex: -1 }, word(marked(tokens, id)));
  name.dataset.row = row;
  const made = madeOf(id, 3).join(" + ");
  const cells = [id, name, POSITIONS[tokens.position[id]], scriptOf(id), `${origin.mark} ${origin.name}`, word(made)];
  return cells.map((cell, n) => make("td", n ? {} : { className: "number" }, cell));
}

function rowOf(row) {
  const id = table.order[row];
  const element = make("tr", { "aria-rowindex": row + 2 }, ...cellsOf(id, row));
  element.dataset.id = id;
  if (id === table.chosen) element.className = "chosen";
  return element;
}

const spaceOf = (rows) => {
  const cell = make("td", { colSpan: COLUMNS.length });
  cell.style.height = `${rows * ROW}px`;
  return make("tr", { className: "space", "aria-hidden": "true" }, cell);
};

function showRows() {
  const scroll = byId("scroll");
  const body = byId("table").tBodies[0];
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset.row : null;
  const from = Math.max(0, Math.floor(scroll.scrollTop / ROW) - SPARE);
  const to = Math.min(table.order.length, from + Math.ceil(scroll.clientHeight / ROW) + 2 * SPARE);
  const rows = [];
  for (let row = from; row < to; row += 1) rows.push(rowOf(row));
  body.replaceChildren(spaceOf(from), ...rows, spaceOf(table.order.length - to));
  const first = body.querySelector(`button[data-row="${Math.min(to - 1, Math.ceil(scroll.scrollTop / ROW))}"]`);
  if (first) first.tabIndex = 0;
  if (focused === null) return;
  const again = body.querySelector(`button[data-row="${focused}"]`);
  (again || scroll).focus({ preventScroll: true });
}

function compareBy(key) {
  return (a, b) => {
    const [one, other] = [key(a), key(b)];
    if (one === other) return a - b;
    return (one < other ? -1 : 1) * (table.up ? 1 : -1);
  };
}

function matches(needle, origin, script) {
  const isId = /^\d+$/.test(needle);
  if (needle && !lowered) lowered = tokens.texts.map((text) => text.toLowerCase());
  const bare = needle.replace(/^[▁Ġ]|^##/u, "").toLowerCase();
  return (id) =>
    (origin === "" || tokens.origin[id] === Number(origin)) &&
    (script === "" || tokens.script[id] === Number(script)) &&
    (!needle || (isId && id === Number(needle)) || lowered[id].includes(bare) || pieceOf(id).includes(needle));
}

function orderRows() {
  const wanted = matches(byId("search").value.trim(), byId("origin").value, byId("script").value);
  const found = [];
  for (let id = 0; id < size; id += 1) if (wanted(id)) found.push(id);
  const order = Uint32Array.from(found);
  table.order = table.column || !table.up ? order.sort(compareBy(COLUMNS[table.column].key)) : order;
  byId("table").setAttribute("aria-rowcount", order.length + 1);
  byId("found").textContent = `${count(order.length)} of ${count(size)} tokens`;
  byId("scroll").scrollTop = 0;
  showRows();
}

function showHeads() {
  const heads = COLUMNS.map((column, n) => {
    const sorted = n === table.column;
    const arrow = sorted ? (table.up ? " ▲" : " ▼") : "";
    const button = make("button", { type: "button" }, column.title, make("span", { "aria-hidden": "true" }, arrow));
    button.addEventListener("click", () => {
      table.up = sorted ? !table.up : true;
      table.column = n;
      showHeads();
      orderRows();
      byId("table").tHead.querySelectorAll("button")[n].focus();
    });
    const head = make("th", { scope: "col", "aria-sort": sorted ? (table.up ? "ascending" : "descending") : "none" }, button);
    head.style.width = column.width;
    return head;
  });
  byId("table").tHead.rows[0].replaceChildren(...heads);
}

function goToRow(row) {
  if (row < 0 || row >= table.order.length) return;
  const scroll = byId("scroll");
  const head = byId("table").tHead.offsetHeight;
  const top = row * ROW;
  if (top < scroll.scrollTop) scroll.scrollTop = top;
  if (top + ROW + head > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + ROW + head - scroll.clientHeight;
  showRows();
  byId("table").tBodies[0].querySelector(`button[data-row="${row}"]`).focus({ preventScroll: true });
}

function weightRow(term, largest) {
  const bar = make("span", { className: "bar weight" });
  bar.style.width = `${(100 * Math.abs(term.weight)) / largest}%`;
  return make("tr", {}, make("td", {}, word(term.text), bar), make("td", { className: "number" }, String(term.id)), make("td", { className: "number" }, written(term.weight)));
}

function sourceTable(id) {
  if (tokens.group[id]) return make("p", {}, madeOf(id)[0]);
  const terms = termsOf(id);
  const largest = Math.max(...terms.map((term) => Math.abs(term.weight)));
  const heads = ["source token", "id", "weight"].map((title, n) => make("th", { scope: "col", className: n ? "number" : "" }, title));
  const body = make("tbody", {}, ...terms.map((term) => weightRow(term, largest)));
  const found = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body);
  return leftOut(id) ? make("div", {}, found, make("p", { className: "quiet" }, `and ${count(leftOut(id))} more with smaller weights`)) : found;
}

function choose(id) {
  table.chosen = id;
  const origin = ORIGINS[tokens.origin[id]];
  const facts = [
    ["as the tokenizer writes it", word(pieceOf(id))],
    ["id", String(id)],
    ["position, script", `${POSITIONS[tokens.position[id]]}, ${data.scripts[scriptOf(id)]}`],
    ["origin", `${origin.mark} ${origin.name}, by ${data.steps[tokens.step[id]]}`],
  ];
  const list = make("dl", { className: "facts" }, ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  const name = make("h3", {}, make("span", { className: `token ${origin.style}` }, word(marked(tokens, id))));
  byId("details").replaceChildren(name, list, sourceTable(id));
  showRows();
  drawMap();
}

function findInTable(id) {
  for (const filter of ["search", "origin", "script"]) byId(filter).value = "";
  orderRows();
  choose(id);
  byId("tokens").scrollIntoView();
  goToRow(table.order.indexOf(id));
}

function rowKeys(event) {
  const row = Number(event.target.dataset.row);
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (Number.isNaN(row) || !(event.key in steps)) return;
  event.preventDefault();
  goToRow(row + steps[event.key]);
}

function showTable() {
  const selects = [["origin", ORIGINS.map((origin) => origin.name)], ["script", Object.values(data.scripts)]];
  for (const [id, names] of selects) {
    byId(id).append(...names.map((name, n) => make("option", { value: n }, name)));
    byId(id).addEventListener("change", orderRows);
  }
  let waiting = 0;
  byId("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(orderRows, 120); // milliseconds without a key
  });
  byId("filters").addEventListener("submit", (event) => { event.preventDefault(); orderRows(); });
  byId("scroll").addEventListener("scroll", () => requestAnimationFrame(showRows));
  const body = byId("table").tBodies[0];
  body.addEventListener("keydown", rowKeys);
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-id]");
    if (row) choose(Number(row.dataset.id));
  });
  showHeads();
  orderRows();
}

/* The map */

const MARGIN = 14; // pixels
const NEAR = 14; // pixels within which a token is meant
let mapAt = -1; // which of the map's tokens is pointed at

const isDrawn = () => Boolean(data.map);

function placeOf(n) {
  const { clientWidth, clientHeight } = byId("canvas");
  return [MARGIN + data.map.x[n] * (clientWidth - 2 * MARGIN), MARGIN + (1 - data.map.y[n]) * (clientHeight - 2 * MARGIN)];
}

function drawMark(draw, origin, x, y, radius) {
  draw.beginPath();
  if (origin === 0) draw.rect(x - radius * 0.8, y - radius * 0.8, radius * 1.6, radius * 1.6);
  else if (origin === 1) {
    draw.moveTo(x, y - radius * 1.2);
    draw.lineTo(x + radius * 1.2, y);
    draw.lineTo(x, y + radius * 1.2);
    draw.lineTo(x - radius * 1.2, y);
    draw.closePath();
  } else draw.arc(x, y, radius, 0, 2 * Math.PI);
  if (origin === 2) draw.stroke();
  else draw.fill();
}

function drawMap() {
  if (!isDrawn()) return;
  const canvas = byId("canvas");
  const scale = devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * scale;
  canvas.height = canvas.clientHeight * scale;
  const draw = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  draw.scale(scale, scale);
  data.map.ids.forEach((id, n) => {
    const origin = tokens.origin[id];
    draw.fillStyle = draw.strokeStyle = style.getPropertyValue(`--${ORIGINS[origin].style}`);
    draw.globalAlpha = 0.6;
    drawMark(draw, origin, ...placeOf(n), 3);
  });
  draw.globalAlpha = 1;
  draw.strokeStyle = style.getPropertyValue("--ink");
  draw.lineWidth = 2;
  for (const n of [mapAt, data.map.ids.indexOf(table.chosen)]) {
    if (n < 0) continue;
    draw.beginPath();
    draw.arc(...placeOf(n), 8, 0, 2 * Math.PI);
    draw.stroke();
  }
}

function nearest(x, y) {
  let [best, closest] = [-1, NEAR * NEAR];
  data.map.ids.forEach((_, n) => {
    const [left, top] = placeOf(n);
    const distance = (left - x) ** 2 + (top - y) ** 2;
    if (distance < closest) [best, closest] = [n, distance];
  });
  return best;
}

function pointAt(n, quiet = false) {
  if (n === mapAt) return;
  mapAt = n;
  drawMap();
  if (n < 0) return hideTip();
  const box = byId("canvas").getBoundingClientRect();
  const [x, y] = placeOf(n);
  showTip(data.map.ids[n], box.left + x, box.top + y);
  if (!quiet) byId("map-at").textContent = describe(data.map.ids[n]);
  return undefined;
}

function showMap() {
  const canvas = byId("canvas");
  const shares = data.map.variance.map((share) => `${Math.round(100 * share)}%`);
  byId("map-about").textContent =
    `${count(data.map.ids.length)} of ${count(size)} input embeddings, as the folder has them, on their first two principal ` +
    `components, which have ${shares.join(" and ")} of the variance.`;
  const order = [...data.map.ids.keys()].sort((a, b) => data.map.x[a] - data.map.x[b]);
  canvas.addEventListener("mousemove", (event) => pointAt(nearest(event.offsetX, event.offsetY), true));
  canvas.addEventListener("mouseleave", () => pointAt(-1));
  canvas.addEventListener("blur", () => pointAt(-1));
  canvas.addEventListener("click", () => { if (mapAt >= 0) findInTable(data.map.ids[mapAt]); });
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    if (event.key === "Enter" && mapAt >= 0) findInTable(data.map.ids[mapAt]);
    if (!(event.key in steps)) return;
    event.preventDefault();
    const at = order.indexOf(mapAt) + steps[event.key];
    pointAt(order[Math.max(0, Math.min(order.length - 1, at))]);
  });
  new ResizeObserver(drawMap).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMap);
}

/* Counts, curves and tables */

function countCell(n, total, style) {
  const bar = make("span", { className: `bar ${style}` });
  bar.style.width = `${(100 * n) / total}%`;
  return make("td", {}, `${count(n)} (${((100 * n) / total).toFixed(1)}%)`, bar);
}

function tableOf(heads, body) {
  const inside = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body));
  return make("div", { className: "wide", tabIndex: 0, role: "group", "aria-label": "Table" }, inside);
}

function countTable(title, rows) {
  const names = ["source", "target"].filter((name) => rows[0][name] !== null);
  const totals = names.map((name) => rows.reduce((sum, row) => sum + row[name], 0));
  const heads = [title, ...names].map((name) => make("th", { scope: "col" }, name));
  const body = rows.map((row) =>
    make("tr", {}, make("th", { scope: "row" }, row.name), ...names.map((name, n) => countCell(row[name], totals[n], name === "target" ? "after" : ""))),
  );
  return tableOf(heads, body);
}

const shown = (value) => {
  if (typeof value !== "number") return String(value ?? "");
  return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(5)));
};

function plainTable(rows) {
  const names = Object.keys(rows[0]);
  const isNumber = (name) => rows.every((row) => typeof row[name] === "number");
  const heads = names.map((name) => make("th", { scope: "col", className: isNumber(name) ? "number" : "" }, name.replaceAll("_", " ")));
  const cell = (row, name) => {
    const made = make("td", { className: isNumber(name) ? "number" : "", dir: "auto" }, shown(row[name]));
    made.dataset.name = name.replaceAll("_", " "); // which narrow windows show before it
    return made;
  };
  const body = rows.map((row) => make("tr", {}, ...names.map((name) => cell(row, name))));
  const made = tableOf(heads, body);
  made.classList.add("plain");
  return made;
}

function showTables() {
  for (const { id, title, about, rows } of data.tables) {
    const heading = make("h2", { id: `${id}-title` }, title);
    const section = make("section", { id, "aria-labelledby": `${id}-title` }, heading, make("p", {}, ...prose(about)));
    if (rows.length) section.append(plainTable(rows));
    byId("tables").append(section);
  }
}

const PLOT = { width: 760, height: 320, left: 60, right: 20, top: 16, bottom: 44 };

function ticks(low, high) {
  const rough = (high - low || 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Number(at.toPrecision(6)));
  return found;
}

function axes(plot, across, up, xs, ys) {
  for (const tick of ticks(...xs)) {
    plot.append(makeSvg("text", { x: across(tick), y: PLOT.height - PLOT.bottom + 18, "text-anchor": "middle" }, count(tick)));
  }
  for (const tick of ticks(...ys)) {
    plot.append(makeSvg("line", { class: "axis", x1: PLOT.left, x2: PLOT.width - PLOT.right, y1: up(tick), y2: up(tick) }));
    plot.append(makeSvg("text", { x: PLOT.left - 8, y: up(tick) + 4, "text-anchor": "end" }, String(tick)));
  }
  plot.append(makeSvg("text", { x: (PLOT.left + PLOT.width - PLOT.right) / 2, y: PLOT.height - 6, "text-anchor": "middle" }, "step"));
  plot.append(makeSvg("text", { x: 4, y: 12 }, "nats"));
}

function bounds(values) {
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
}

function showCurves() {
  const curves = Object.entries(data.losses);
  const points = curves.flatMap(([, curve]) => curve);
  const [xs, ys] = [bounds(points.map(([step]) => step)), bounds(points.map(([, loss]) => loss))];
  const [wide, high] = [PLOT.width - PLOT.left - PLOT.right, PLOT.height - PLOT.top - PLOT.bottom];
  const across = (step) => PLOT.left + (wide * (step - xs[0])) / (xs[1] - xs[0] || 1);
  const up = (loss) => PLOT.top + high * (1 - (loss - ys[0]) / (ys[1] - ys[0] || 1));
  const names = curves.map(([name]) => name).join(", ");
  const plot = makeSvg("svg", { viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: "img", "aria-label": `Losses by step: ${names}` });
  axes(plot, across, up, xs, ys);
  const legend = make("div", { className: "legend" });
  curves.forEach(([name, curve], n) => {
    const line = curve.map(([step, loss]) => `${across(step).toFixed(1)},${up(loss).toFixed(1)}`).join(" ");
    plot.append(makeSvg("polyline", { class: `curve curve-${n}`, points: line }));
    const sample = makeSvg("svg", { width: 40, height: 12, style: "display:inline;width:40px", "aria-hidden": "true" });
    sample.append(makeSvg("line", { class: `curve curve-${n}`, x1: 0, x2: 40, y1: 6, y2: 6 }));
    const [, last] = curve[curve.length - 1];
    legend.append(make("span", {}, sample, ` ${name}: ${shown(curve[0][1])} at first, ${shown(last)} at last`));
  });
  const numbers = curves.flatMap(([name, curve]) => curve.map(([step, loss]) => ({ loss: name, step, nats: loss })));
  byId("curves").append(legend, plot, make("details", {}, make("summary", {}, "The numbers"), plainTable(numbers)));
}

/* The page */

function showFacts() {
  byId("made").append(...prose(data.made));
  byId("version").textContent = data.version;
  const facts = Object.entries(data.facts).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, word(shown(value)))));
  byId("facts").append(...facts);
  byId("note-list").append(...data.notes.map((note) => make("li", {}, ...prose(note))));
  byId("commands").textContent = data.commands.join("\n");
}

const SECTIONS = [ // an element, whether there is data for it, what shows it
  ["lines", data.lines.length, showLines],
  ["notes", data.notes.length, () => {}],
  ["tokens", true, showTable],
  ["map", isDrawn(), showMap],
  ["vocabularies", true, () => byId("counts").append(countTable("script", data.counts.scripts), countTable("position", data.counts.positions))],
  ["training", Object.keys(data.losses).length, showCurves],
];

showFacts();
for (const [id, wanted, show] of SECTIONS) {
  if (wanted) show();
  else byId(id).remove();
}
showTables();
showLegends();
for (const heading of document.querySelectorAll("section > h2")) {
  byId("contents").append(make("li", {}, make("a", { href: `#${heading.parentElement.id}` }, heading.textContent)));
}
