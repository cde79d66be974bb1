// SPDX-License-Identifier: Apache-2.0
"use strict";
let shown = null, asked = 0;

function media(cell, batch, row, name) {
  const place = new URLSearchParams({ batch, index: row.index, name });
  const label = `${name} of row ${row.row}`;
  const drawn = cell.kind === "image" || cell.kind === "heat";
  const out = element("div", undefined, drawn ? "drawn" : "");
  if (drawn) {
    const image = element("img");
    image.alt = cell.kind === "heat" ? `Heat map of ${label}, ${cell.shape.join(" × ")}` : `Image ${label}`;
    image.loading = "lazy";
    image.className = cell.kind;
    image.addEventListener("error", () => image.replaceWith(element("span", "cannot be decoded", "unit")));
    image.src = "image?" + place;
    out.append(image);
  } else if (cell.kind === "audio") {
    const player = element("audio");
    player.controls = true;
    player.preload = "none";
    player.setAttribute("aria-label", `Sound ${label}`);
    player.src = "sound?" + place;
    ask("outline?" + place).then((shape) => out.prepend(waveform(shape, `Waveform of ${label}`)),
      () => out.replaceChildren(element("span", "cannot be decoded", "unit")));
    out.append(player);
  }
  out.append(element("span", cell.shape.length ? cell.shape.join(" × ") : cell.text, "unit"));
  return out;
}

function textCell(cell, batch, row, name) {
  const out = element("div"), text = element("span", cell.words || cell.text, "few");
  out.title = cell.words ? `${cell.words}: ${cell.text}` : cell.text;
  out.append(text);
  if (cell.more) {
    const more = element("button", "show more");
    more.setAttribute("aria-label", `Show more of ${name} of row ${row.row}`);
    more.addEventListener("click", async () => {
      const longer = await ask("text?" + new URLSearchParams({ batch, index: row.index, name }));
      text.textContent = longer.text;
      text.className = "";
      more.replaceWith(element("span", longer.more ? ` … (${short(longer.size)} bytes)` : "", "unit"));
    });
    out.append(" … ", more);
  }
  return out;
}

function table(answer) {
  const head = element("thead"), names = element("tr"), body = element("tbody");
  names.append(element("th", "row"));
  for (const column of answer.columns) {
    const cell = element("th", column.name);
    const shape = column.shape.map((n) => n < 0 ? "?" : n).join(" × ");
    cell.append(element("span", column.dtype + (shape ? ` [${shape}]` : ""), "unit"));
    names.append(cell);
  }
  names.append(element("th", "origin"));
  for (const each of names.children) each.scope = "col";
  head.append(names);
  for (const row of answer.rows) {
    const line = element("tr"), number = element("th", String(row.row));
    number.scope = "row";
    line.append(number);
    row.cells.forEach((cell, i) => {
      const box = element("td"), plain = cell.kind === "text" || cell.kind === "numbers";
      box.append((plain ? textCell : media)(cell, answer.batch, row, answer.columns[i].name));
      line.append(box);
    });
    line.append(element("td", row.origin, "origin"));
    body.append(line);
  }
  byId("rows").replaceChildren(head, body);
}

async function showRows(row) {
  const mine = ++asked;
  for (;;) {
    let answer;
    try { answer = await ask("rows?row=" + Math.max(0, row)); } catch (problem) { byId("where").textContent = problem.message; return; }
    if (mine !== asked) return;
    if (answer.rows) {
      shown = answer;
      table(answer);
      byId("row").value = answer.rows[0].row;
      byId("where").textContent = `batch ${answer.batch}, ${answer.size} rows (${answer.valid} of records), epoch ${answer.epoch}`;
      return showFeatures();  // of the rows on the way, too
    }
    byId("where").textContent = answer.failure || (answer.ended ? `the run ends with row ${answer.row - 1}` : `reading: at row ${answer.row} …`);
    if (answer.failure || answer.ended) return;
    await new Promise((go) => setTimeout(go, 100));
  }
}

async function showFeatures() {
  let found;
  try { found = await ask("features"); } catch (problem) { byId("status").textContent = problem.message; return; }
  byId("features").replaceChildren(...found.map((f) => {
    const parts = [element("p", `${f.rows} rows, ${f.missing} without a value` + (f.not_finite ? `, ${f.not_finite} numbers not finite` : ""))];
    const unit = f.binary ? " bytes" : "";
    if (f.bars) parts.push(bars(f.bars, `Histogram of ${f.binary ? `the sizes of ${f.name}` : f.name} from ${short(f.low)} to ${short(f.high)}${unit}`),
      element("p", `${short(f.low)} to ${short(f.high)}${unit}, mean ${short(f.mean)}`));
    if (f.binary) parts.push(element("p", `binary, ${f.distinct} distinct`));
    if (f.top) parts.push(bars(f.top.map((t) => t[1]), `Most frequent values of ${f.name}`),
      element("p", `${f.distinct} distinct: ` + f.top.map((t) => `${t[0] || "(empty)"} ${t[1]}`).join(", ")));
    return card(f.name, ...parts);
  }));
}
