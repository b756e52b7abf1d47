// What the page of `vocab-lit demo` asks the two models, and shows of their answers.

const SIDES = ["before", "after"];
const [field, state] = [byId("text"), byId("state")];
let lastAsked = 0;

async function ask(what, side, more = {}) {
  const body = JSON.stringify({ side, text: field.value, ...more });
  const response = await fetch(`/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function tokenRow({ tokens, unknown, per_word: perWord }) {
  const direction = directionOf(field.value), texts = withLetters(tokens.map((token) => token.text));
  const boxes = tokens.map(({ initial, unknown: isUnknown }, n) => {
    const name = `token tint-${n % 4}${initial ? " initial" : ""}${isUnknown ? " unknown" : ""}`;
    return make("span", { className: name }, word(texts[n]));
  });
  const told = `${tokens.length} tokens, ${perWord.toFixed(2)} a word${unknown ? `, ${unknown} of them unknown` : ""}`;
  return [make("p", { className: "quiet" }, told), make("p", { dir: direction }, ...boxes)];
}

function written({ written: text, tokens, seconds }) {
  const speed = `${tokens} tokens in ${seconds.toFixed(1)} s, the most probable one at each step`;
  return [make("p", { className: "answer", dir: directionOf(field.value) }, field.value, make("b", {}, text)),
    make("p", { className: "quiet" }, speed)];
}

function guessed(gaps) {
  return gaps.map((guesses, n) => {
    const items = guesses.map(({ text, probability }) =>
      make("li", {}, word(text), probability === null ? " not a number" : ` ${(100 * probability).toFixed(1)}%`));
    return make("div", {}, make("h3", {}, gaps.length > 1 ? `Gap ${n + 1}` : "The gap"), make("ol", {}, ...items));
  });
}

function answered({ bits_per_byte: bits, ...answer }) {
  const parts = "written" in answer ? written(answer) : guessed(answer.gaps ?? []);
  if (bits !== undefined) parts.push(make("p", { className: "quiet" }, `The text itself: ${bits === null ? "no number of" : bits.toFixed(2)} bits per byte`));
  return parts;
}

function place(side, kind, parts) {
  byId(side).querySelector(`.${kind}`).replaceChildren(...parts);
}

async function showTokens() {
  const asked = ++lastAsked;
  try {
    const found = await Promise.all(SIDES.map((side) => ask("tokens", side)));
    if (asked === lastAsked) SIDES.forEach((side, n) => place(side, "row", tokenRow(found[n])));
  } catch (error) {
    state.value = error.message;
  }
}

async function askBoth(event) {
  event.preventDefault();
  const n = Number(byId("tokens").value);
  byId("send").disabled = true;
  state.value = "computing …";
  SIDES.forEach((side) => place(side, "told", []));
  try {
    await Promise.all(SIDES.map(async (side) => place(side, "told", answered(await ask("answer", side, { n })))));
    state.value = "";
  } catch (error) {
    state.value = error.message;
  }
  byId("send").disabled = false;
}

let typed;
for (const side of SIDES) byId(side).append(make("div", { className: "row" }), make("div", { className: "told" }));
field.addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(showTokens, 150); });
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("ask").requestSubmit();
});
byId("ask").addEventListener("submit", askBoth);
showTokens();
