// SPDX-License-Identifier: Apache-2.0
"use strict";
const WORK = { scan: "Read", order: "Decide the order", decode: "Decode and make batches", give: "Give to the program" };
const POLL_MEMORY = 5;   // seconds that a rate looks back
let polls = [], figures = {}, stepTimes = [];

function stageBox(stage) {
  const out = element("li", undefined, "stage"), time = element("span", "", "time");
  const what = element("span", stage.text, "what");
  if (stage.about) what.append(element("span", stage.about, "unit"));
  out.append(element("span", stage.stage, "kind"), what, time);
  if (stage.step !== null) stepTimes[stage.step] = time;
  return out;
}

function groupBox(work, stages, branch = null) {
  const out = element("li", undefined, "group"), list = element("ul"), numbers = element("div", undefined, "figures");
  list.append(...stages.map(stageBox));
  out.append(element("h3", (branch === null ? "" : `Branch ${branch}: `) + WORK[work]), list, numbers);
  figures[branch === null ? work : `${work} ${branch}`] = numbers;
  return out;
}

function drawGroups(groups) {
  figures = {};
  stepTimes = [];
  const boxes = groups.map((group) => groupBox(group.work, group.stages, group.branch));
  boxes.push(groupBox("give", [{ stage: "next", text: "the loop of the program", about: "", step: null }]));
  byId("stages").replaceChildren(...boxes);
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
  drawGroups(plan.groups);
  drawShuffle(plan.shuffle);
  byId("whose").textContent = plan.live ? "" : "The numbers are those of the loader that reads the rows of this page.";
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

const percent = (value) => `${Math.round(100 * value)} %`;
const mebibytes = (bytes) => tenth(bytes / 1048576) + " MiB";
const tenth = (n) => n.toLocaleString("en", { maximumFractionDigits: n < 10 ? 1 : 0 });
const whole = (n) => n.toLocaleString("en", { maximumFractionDigits: 0 });

/// The poll before `now` that rates count from: some seconds ago, or zero at the start of a run.
function earlier(now) {
  if (polls.length && polls[polls.length - 1].seconds > now.seconds) polls = [];
  while (polls.length > 1 && now.seconds - polls[1].seconds > POLL_MEMORY) polls.shift();
  const old = polls.find((poll) => poll.seconds < now.seconds);
  polls.push(now);
  return old || Object.fromEntries(Object.keys(now).map((name) => [name, 0]));
}

function queueLine(name, [held, capacity]) {
  const text = `${name}: ${whole(held)} of ${whole(capacity)}`, out = element("div", undefined, "queue");
  out.append(element("span", text), bar(held / Math.max(1, capacity), `Fill of ${text}`));
  return out;
}

function groupFigures(now, old) {
  const spent = Math.max(1e-9, now.seconds - old.seconds);
  const rate = (name) => whole((now[name] - old[name]) / spent);
  const time = (work) => `${percent((now[work + "_seconds"] - old[work + "_seconds"]) / (spent * now.threads))} of the workers' time`;
  const waited = Math.min(1, (now.consumer_wait_seconds - old.consumer_wait_seconds) / spent);
  const megabytes = tenth((now.bytes_read - old.bytes_read) / spent / 1e6);
  return {
    scan: [`${rate("records")} records/s`, `${megabytes} MB/s`, time("scan"), mebibytes(now.scan_memory)],
    order: [`${rate("ordered_rows")} rows/s`, time("order"), mebibytes(now.order_memory)],
    decode: [`${rate("decoded_rows")} rows/s`, time("decode"), mebibytes(now.decode_memory)],
    give: [`${rate("rows")} rows/s`, `${rate("batches")} batches/s`, `it waited ${percent(waited)} of the time`] };
}

function branchFigures(now, old) {
  const spent = Math.max(1e-9, now.seconds - old.seconds), out = {};
  now.branches.forEach((branch, i) => {
    const rate = (name) => (branch[name] - (old.branches ? old.branches[i][name] : 0)) / spent;
    out[`scan ${i}`] = [`${whole(rate("records"))} records/s`, `${tenth(rate("bytes_read") / 1e6)} MB/s`];
    out[`order ${i}`] = [];
    out[`decode ${i}`] = [`${whole(rate("rows"))} rows/s`];
  });
  return out;
}

/// The group of stages that a queue belongs to.
function groupOfQueue(name) {
  const branch = /^branch (\d+): /.exec(name);
  if (branch) return (name.endsWith(" of files") ? "scan " : "order ") + branch[1];
  if (name === "prefetch" || name.startsWith("map ")) return "give";
  return /^(feed|rows of|blocks of) | of files/.test(name) ? "scan" : "order";
}

function showFigures(now, old) {
  for (const [work, texts] of Object.entries({ ...groupFigures(now, old), ...branchFigures(now, old) })) {
    if (!figures[work]) continue;
    figures[work].replaceChildren(...texts.map((text, i) => element("span", text, i ? "unit" : "rate")));
  }
  for (const [name, fill] of Object.entries(now.queues)) {
    const group = figures[groupOfQueue(name)] || figures.order;
    if (group) group.append(queueLine(name, fill));
  }
  const decode = now.decode_seconds;
  now.steps.forEach(([, seconds], i) => {
    if (stepTimes[i]) stepTimes[i].textContent = decode ? `${percent(seconds / decode)} of the decoding time` : "";
  });
}

async function showStats() {
  const now = await ask("stats");
  if (!now) return;
  const old = earlier(now);
  byId("verdict").textContent = now.batches ? now.bottleneck : "No batch of this run was taken yet.";
  showFigures(now, old);
  const worked = now.scan_seconds + now.order_seconds + now.decode_seconds + now.idle_seconds;
  const idle = worked ? now.idle_seconds / worked : 0;
  const card_of = (name, text) => card(name, element("strong", text));
  byId("numbers").replaceChildren(
    card_of("Batches so far", whole(now.batches)), card_of("Rows so far", whole(now.rows)), card_of("Seconds", short(Math.round(now.seconds))),
    share("Memory", now.memory_used / now.memory_limit, `${tenth(now.memory_used / 1048576)} of ${mebibytes(now.memory_limit)}`),
    share("Idle, share of the workers", idle, percent(idle)));
}
