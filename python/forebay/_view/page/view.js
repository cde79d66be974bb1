// SPDX-License-Identifier: Apache-2.0
"use strict";
const tabs = [...document.querySelectorAll("[role=tab]")];
const pages = { data: showFeatures, plan: async () => { await showPlan(); await showStats(); }, health: showHealth };
let page = "data";

async function refresh() {
  try {
    await (page === "plan" ? showStats() : page === "health" ? showHealth() : Promise.resolve());
    byId("status").textContent = "";
  } catch (problem) {
    byId("status").textContent = problem instanceof TypeError ? "The program has ended." : problem.message;
  }
}

function open(tab, focus) {
  page = tab.getAttribute("aria-controls");
  for (const each of tabs) {
    const chosen = each === tab;
    each.setAttribute("aria-selected", chosen);
    each.tabIndex = chosen ? 0 : -1;
    byId(each.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (focus) tab.focus();
  location.replace("#" + page);
  pages[page]().catch((problem) => { byId("status").textContent = problem.message; });
}

tabs.forEach((tab, i) => {
  tab.addEventListener("click", () => open(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) open(tabs[(i + step + tabs.length) % tabs.length], true);
  });
});
byId("jump").addEventListener("submit", (event) => { event.preventDefault(); showRows(Number(byId("row").value)); });
byId("on").addEventListener("click", () => shown && showRows(shown.rows[shown.rows.length - 1].row + 1));
byId("back").addEventListener("click", () => shown && showRows(shown.rows[0].row - 32));
setInterval(() => { if (!document.hidden) refresh(); }, 1000);
showRows(0).then(() => open(byId("tab-" + (location.hash.slice(1) in pages ? location.hash.slice(1) : "data"))));
