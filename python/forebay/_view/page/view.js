// SPDX-License-Identifier: Apache-2.0
"use strict";
const tabs = [...document.querySelectorAll("[role=tab]")];
const pages = { data: async () => {}, plan: async () => { await showPlan(); await showStats(); }, health: showHealth };
let page = "data";

async function refresh() {
  try {
    await (page === "plan" ? showStats() : page === "health" ? showHealth() : Promise.resolve());
    byId("status").textContent = "";
  } catch (problem) {
    byId("status").textContent = problem instanceof TypeError ? "The program has ended." : problem.message;
  }
}

function open(tab, focus, listed = true) {
  const before = page;
  page = tab.getAttribute("aria-controls");
  for (const each of tabs) {
    const chosen = each === tab;
    each.setAttribute("aria-selected", chosen);
    each.tabIndex = chosen ? 0 : -1;
    byId(each.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (focus) tab.focus();
  // A jump to a fragment would take the focus away. Another page is an entry of the history, so that Back leads to the one before.
  if (listed) history[page === before ? "replaceState" : "pushState"](null, "", "#/" + page);
  pages[page]().catch((problem) => { byId("status").textContent = problem.message; });
}

tabs.forEach((tab, i) => {
  tab.addEventListener("click", () => open(tab));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    open(tabs[(to + tabs.length) % tabs.length], true);
  });
});
byId("jump").addEventListener("submit", (event) => { event.preventDefault(); showRows(Number(byId("row").value)); });
byId("on").addEventListener("click", () => shown && showRows(shown.rows[shown.rows.length - 1].row + 1));
byId("back").addEventListener("click", () => shown && showRows(shown.rows[0].row - 32));
setInterval(() => { if (!document.hidden) refresh(); }, 1000);
const asked_for = () => byId("tab-" + (location.hash.slice(2) in pages ? location.hash.slice(2) : "data"));
window.addEventListener("popstate", () => open(asked_for(), false, false));  // Back, and another address
showRows(0).then(() => { page = asked_for().getAttribute("aria-controls"); open(asked_for()); });
