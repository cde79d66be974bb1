// SPDX-License-Identifier: Apache-2.0
"use strict";
const KINDS = { record: "record with a wrong checksum", range: "bytes without a record", file: "file" };
let verifying = "";

const count = (n, one, many) => `${short(n)} ${n === 1 ? one : many}`;

function corruptTable(places) {
  const head = element("thead"), names = element("tr"), body = element("tbody");
  for (const name of ["file", "what", "record", "byte", "bytes", "reason"]) {
    const cell = element("th", name);
    cell.scope = "col";
    names.append(cell);
  }
  head.append(names);
  for (const place of places) {
    const line = element("tr"), file = element("th", place.file);
    file.scope = "row";
    line.append(file, element("td", KINDS[place.what]));
    for (const number of [place.record, place.byte, place.bytes]) line.append(element("td", number === null ? "" : String(number)));
    line.append(element("td", place.reason));
    body.append(line);
  }
  byId("corrupt").replaceChildren(head, body);
}

function verdict(now) {
  if (now.state === "failed") return now.error;
  if (now.state === "running") return "Verifying …";
  if (now.state === "not begun") return "";
  const read = `${count(now.files, "file", "files")}, ${count(now.records, "intact record", "intact records")}, ${tenth(now.bytes / 1e6)} MB`;
  const corrupt = now.corrupt_records + now.unreadable_ranges;
  const broken = now.places.filter((place) => place.what === "file").length;
  const found = corrupt + broken === 0 ? "nothing is corrupt" : `${count(now.corrupt_records, "corrupt record", "corrupt records")}, ` +
    `${count(now.unreadable_ranges, "unreadable range", "unreadable ranges")}` + (broken ? `, ${count(broken, "file", "files")} not read to the end` : "");
  return `${now.state === "stopped" ? "Stopped after" : "Verified"} ${read}: ${found}.`;
}

function showVerification(now) {
  const running = now.state === "running", bar = byId("verify-bar"), places = now.places;
  byId("verify").disabled = running;
  byId("verify-stop").disabled = !running;
  bar.hidden = !running;
  if (running) bar.value = now.fraction;
  const text = verdict(now);
  if (byId("verified").textContent !== text) byId("verified").textContent = text;
  const state = now.state + places.length;
  if (state === verifying) return;
  verifying = state;
  byId("corrupt-box").hidden = !places.length;
  corruptTable(places);
}

async function showHealth() {
  const health = await ask("health");
  const labels = { skipped_records: "Records skipped", skipped_ranges: "Unreadable ranges", skipped_files: "Files given up", skipped_bytes: "Bytes skipped" };
  const total = Object.values(health.counts).reduce((a, b) => a + b, 0);
  byId("sound").textContent = health.failure || (total || health.places.length ? "Some data are corrupt." : "Nothing corrupt in what was read so far.");
  byId("counts").replaceChildren(...Object.entries(labels).map(([name, label]) => card(label, element("strong", short(health.counts[name])))));
  byId("places").replaceChildren(...health.places.map((place) => element("li", place)));
  byId("places").hidden = !health.places.length;
  showVerification(health.verification);
}

async function command(name) {
  try { await ask(name, { method: "POST" }); } catch (problem) { byId("status").textContent = problem.message; }
  await showHealth();
}

byId("verify").addEventListener("click", () => command("verify"));
byId("verify-stop").addEventListener("click", () => command("verify/stop"));
