// What the pages of a model share. Nothing is loaded from anywhere.
"use strict";

const byId = (id) => document.getElementById(id);

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element && !name.includes("-")) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const word = (text) => make("bdi", {}, text);

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

function directionOf(text) {
  const letter = text.match(/\p{L}/u);
  return letter && RIGHT_TO_LEFT.test(letter[0]) ? "rtl" : "ltr";
}

// The tokens of a line, with letters in place of bytes: one that has a part of a letter shows all of it and "…".
function withLetters(texts) {
  const told = texts.map(() => ""), bytes = [], owners = [], whole = new TextDecoder("utf-8", { fatal: true });
  texts.forEach((text, n) => {
    for (const part of text.match(/<0x[0-9A-F]{2}>|./gsu) ?? []) {
      const these = part.length === 6 ? [parseInt(part.slice(3, 5), 16)] : new TextEncoder().encode(part);
      for (const byte of these) { bytes.push(byte); owners.push(n); }
    }
  });
  for (let at = 0; at < bytes.length; ) {
    const [length, letter] = letterAt(bytes, at, whole);
    const of = [...new Set(owners.slice(at, at + length))];
    of.forEach((n, i) => { told[n] += `${i ? "…" : ""}${letter}${i < of.length - 1 ? "…" : ""}`; });
    at += length;
  }
  return told;
}

function letterAt(bytes, at, whole) { // how many bytes it has, and the letter; a byte's number where it is of none
  for (let length = 1; length <= 4; length += 1) {
    try { return [length, whole.decode(new Uint8Array(bytes.slice(at, at + length)))]; } catch { /* one byte more */ }
  }
  return [1, `<0x${bytes[at].toString(16).toUpperCase().padStart(2, "0")}>`];
}
