// SPDX-License-Identifier: Apache-2.0
// Elements and pictures. Text of the data is only ever set as text, never as markup.
"use strict";
const byId = (id) => document.getElementById(id);

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function svg(name, values, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function picture(width, height, label) {
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

function bars(counts, label) {
  const out = picture(220, 48, label), top = Math.max(1, ...counts), wide = 220 / counts.length;
  counts.forEach((n, i) => out.append(svg("rect", {
    class: "bar", x: i * wide, width: Math.max(1, wide - 1), y: 48 - 48 * n / top, height: 48 * n / top })));
  return out;
}

function waveform(shape, label) {
  const out = picture(240, 48, label);
  const top = Math.max(1e-9, ...shape.high.map((v) => Math.abs(v || 0)), ...shape.low.map((v) => Math.abs(v || 0)));
  const wide = 240 / shape.low.length;
  shape.low.forEach((low, i) => {
    if (low === null) return;
    const y = 24 - 23 * shape.high[i] / top;
    out.append(svg("rect", { class: "bar", x: i * wide, width: Math.max(0.6, wide), y,
      height: Math.max(0.6, 23 * (shape.high[i] - low) / top) }));
  });
  return out;
}

function card(title, ...rest) {
  const out = element("div", undefined, "card");
  out.append(element("h3", title), ...rest);
  return out;
}

const short = (n) => Math.abs(n) >= 1e15 || (n && Math.abs(n) < 1e-4) ? n.toExponential(2) : n.toLocaleString("en", { maximumSignificantDigits: 5 });

async function ask(question, options) {
  const answer = await fetch(question, options), value = await answer.json();
  if (!answer.ok) throw new Error(value.error || answer.statusText);
  return value;
}
