// SPDX-License-Identifier: Apache-2.0
"use strict";
let before = null;

function drawStages(stages) {
  const high = 52, out = picture(900, stages.length * high, "The stages of the plan, from top to bottom");
  stages.forEach((stage, i) => {
    const y = i * high, group = svg("g", {});
    group.append(svg("title", {}, stage.text + (stage.about ? "\n" + stage.about : "")));
    if (i) group.append(svg("line", { class: "arrow", x1: 450, x2: 450, y1: y - 12, y2: y }));
    group.append(svg("rect", { class: "box", x: 1, y, width: 898, height: 40, rx: 8 }),
      svg("text", { class: "quiet", x: 16, y: y + 25 }, stage.stage),
      svg("text", { x: 110, y: y + 25 }, stage.text.length > 105 ? stage.text.slice(0, 104) + "…" : stage.text));
    out.append(group);
  });
  byId("stages").replaceChildren(out);
}

function drawShuffle(shuffle) {
  if (!shuffle.points.length) return byId("shuffle").replaceChildren(element("p", "Too few rows were read so far.", "unit"));
  const out = picture(340, 340, "Place in the stream against place in the files. " + shuffle.sentence);
  out.append(svg("rect", { class: "box", x: 20, y: 0, width: 319, height: 319 }));
  for (const [x, y] of shuffle.points) out.append(svg("circle", { class: "dot", cx: 20 + 319 * x, cy: 319 - 319 * y, r: 1.8 }));
  out.append(svg("text", { class: "quiet", x: 120, y: 336 }, "place in the stream"),
    svg("text", { class: "quiet", transform: "translate(12 210) rotate(-90)" }, "place in the files"));
  byId("shuffle").replaceChildren(element("p", shuffle.sentence), out);
}

async function showPlan() {
  const plan = await ask("plan");
  drawStages(plan.stages);
  drawShuffle(plan.shuffle);
}

function share(label, value, text) {
  return card(label, element("strong", text), bar(value, `${label}: ${text}`));
}

function bar(value, label) {
  const out = picture(220, 8, label);
  out.append(svg("rect", { class: "box", width: 220, height: 8, rx: 4 }),
    svg("rect", { class: "bar", width: 220 * Math.min(1, Math.max(0, value)), height: 8, rx: 4 }));
  return out;
}

async function showStats() {
  const now = await ask("stats");
  if (!now) return;
  byId("verdict").textContent = now.bottleneck;
  const old = before && before.seconds < now.seconds ? before : { seconds: 0, rows: 0, bytes_read: 0, batches: 0, records: 0 };
  const rate = (name) => (now[name] - old[name]) / Math.max(1e-9, now.seconds - old.seconds);
  const worked = now.scan_seconds + now.order_seconds + now.decode_seconds + now.idle_seconds;
  const part = (name) => worked ? now[name] / worked : 0;
  const percent = (value) => `${Math.round(100 * value)} %`;
  const card_of = (name, text) => card(name, element("strong", text));
  byId("numbers").replaceChildren(
    card_of("Rows a second", short(Math.round(rate("rows")))), card_of("Read", short(rate("bytes_read") / 1e6) + " MB/s"),
    card_of("Batches so far", short(now.batches)), share("Queue fill", now.ready_fill, percent(now.ready_fill)),
    share("Memory", now.memory_used / now.memory_limit, `${short(now.memory_used / 1048576)} of ${short(now.memory_limit / 1048576)} MiB`),
    ...[["scan", "Scanning"], ["order", "Deciding the order"], ["decode", "Decoding"], ["idle", "Idle"]].map(
      ([name, label]) => share(`${label}, share of workers`, part(name + "_seconds"), percent(part(name + "_seconds")))));
  before = now;
}

async function showHealth() {
  const health = await ask("health");
  const labels = { skipped_records: "Records skipped", skipped_ranges: "Unreadable ranges", skipped_files: "Files given up", skipped_bytes: "Bytes skipped" };
  const total = Object.values(health.counts).reduce((a, b) => a + b, 0);
  byId("sound").textContent = health.failure || (total || health.places.length ? "Some data are corrupt." : "Nothing corrupt in what was read so far.");
  byId("counts").replaceChildren(...Object.entries(labels).map(([name, label]) => card(label, element("strong", short(health.counts[name])))));
  byId("places").replaceChildren(...health.places.map((place) => element("li", place)));
}
