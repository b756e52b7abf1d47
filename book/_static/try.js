// A sentence under several vocabularies, as the reader types it. `TRY` comes from vocabularies.js.

// What a Unigram vocabulary makes of a word: the pieces whose scores add up to most.
function unigram({ ranks, scores, longest, unknown }, word) {
  const letters = [...word], best = [{ score: 0 }];
  for (let end = 1; end <= letters.length; end++) {
    best[end] = { score: -Infinity };
    for (let from = Math.max(0, end - longest); from < end; from++) {
      const piece = letters.slice(from, end).join(""), known = ranks.has(piece);
      if (!known && from < end - 1) continue;
      const score = best[from].score + (known ? scores[ranks.get(piece)] : unknown);
      if (score > best[end].score) best[end] = { score, from, piece, known };
    }
  }
  const path = [];
  for (let at = letters.length; at > 0; at = best[at].from) path.unshift(best[at]);
  return path.reduce((made, { piece, known }) => {
    const last = made.at(-1);
    if (!known && last && !last.known) last.text += piece; // unknown letters in a row are one token
    else made.push({ text: piece, known });
    return made;
  }, []);
}

// What a BPE vocabulary makes of a text: the pair whose merge was learnt first is merged first; other letters are bytes.
function bpe({ ranks }, text) {
  const parts = [...text], rank = (i) => ranks.get(parts[i] + parts[i + 1]) ?? Infinity;
  for (;;) {
    let first = -1, least = Infinity;
    for (let i = 0; i < parts.length - 1; i++) if (rank(i) < least) [first, least] = [i, rank(i)];
    if (first < 0) break;
    parts.splice(first, 2, parts[first] + parts[first + 1]);
  }
  const bytes = (part) => [...new TextEncoder().encode(part)].map((byte) => ({ text: byte.toString(16), known: true }));
  return parts.flatMap((part) => (ranks.has(part) ? [{ text: part, known: true }] : bytes(part)));
}

// What a WordPiece vocabulary makes of a word: the longest piece from the left, again and again.
function wordpiece({ ranks }, word) {
  const letters = [...word], made = [];
  for (let from = 0; from < letters.length; ) {
    let end = letters.length, piece;
    do piece = (from ? "##" : "") + letters.slice(from, end).join("");
    while (!ranks.has(piece) && --end > from);
    if (end === from) return [{ text: word, known: false }];
    made.push({ text: piece, known: true });
    from = end;
  }
  return made;
}

const words = (text) => text.split(/\s+/u).filter(Boolean);
const KINDS = {
  Unigram: (v, text) => words(unmarked(text, " ").normalize("NFKC")).flatMap((word) => unigram(v, `▁${word}`)),
  BPE: (v, text) => bpe(v, words(text).join("▁")),
  WordPiece: (v, text) => words(apart(unmarked(text, ""))).flatMap((word) => wordpiece(v, word)),
};
const unmarked = (text, instead) => text.replace(/[\u200b-\u200f\ufeff]/gu, instead); // signs without width
const apart = (text) => text.replace(/[\p{P}$+<=>^`|~]|\p{Script=Han}/gu, " $& ");

// A vocabulary of the record with what dividing needs.
function prepared(vocabulary) {
  const { pieces, scores = [] } = vocabulary;
  const longest = pieces.reduce((most, piece) => Math.max(most, [...piece].length), 1);
  const unknown = scores.reduce((least, score) => Math.min(least, score), 0) - 10;
  return { ...vocabulary, ranks: new Map(pieces.map((piece, i) => [piece, i])), longest, unknown };
}

// Tokens of a text, each with whether the vocabulary has it.
const tokens = (vocabulary, text) => KINDS[vocabulary.kind](vocabulary, text);

// Whether a word begins with a token, so that it is shown behind a space.
const begins = ({ kind }, text) => (kind === "WordPiece" ? !/^(##|\p{P})/u.test(text) : text.startsWith("▁"));

addEventListener("DOMContentLoaded", () => {
  const [language, field, shown] = ["language", "text", "shown"].map((name) => document.getElementById(`try-${name}`));
  if (!shown) return;
  const common = Object.entries(TRY.vocabularies).map(([name, vocabulary]) => [name, prepared(vocabulary)]);
  const own = Object.fromEntries(Object.entries(TRY.own).map(([code, vocabulary]) => [code, prepared(vocabulary)]));
  const names = new Intl.DisplayNames(["en"], { type: "language" });
  const made = (tag, text, given = {}) => Object.assign(document.createElement(tag), { textContent: text }, given);

  function line(name, vocabulary) {
    const found = tokens(vocabulary, field.value), n = words(field.value).length;
    const told = `${name}: ${found.length} tokens, ${n ? (found.length / n).toFixed(2) : "0"} a word`;
    const boxes = made("p", "", { className: "try-tokens", lang: language.value });
    for (const { text, known } of found) {
      if (begins(vocabulary, text)) boxes.append(" ");
      const letters = text.replace(/^▁(?=.)|^##(?=.)/u, "");
      boxes.append(made("span", letters, known ? {} : { className: "unknown", title: "unknown" }));
    }
    return [made("p", told), boxes];
  }
  function show() {
    const alone = own[language.value];
    const all = alone ? [...common, [`${names.of(language.value)} alone`, alone]] : common;
    shown.replaceChildren(...all.flatMap(([name, vocabulary]) => line(name, vocabulary)));
  }
  function begin() {
    field.value = TRY.sentences[language.value];
    field.lang = language.value;
    show();
  }
  const more = Object.entries(TRY.vocabularies).map(([name, { surplus }]) => `${name} ${(100 * surplus).toFixed(1)}%`);
  document.getElementById("try-surplus").textContent = more.join(", ");
  language.append(...Object.keys(TRY.sentences).map((code) => made("option", names.of(code), { value: code })));
  language.value = "sw";
  language.addEventListener("change", begin);
  field.addEventListener("input", show);
  begin();
});
