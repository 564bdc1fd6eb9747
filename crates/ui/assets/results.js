// The page of results: the results follow what is typed, arrow keys move through them, and a preview opens beside them.
import { showCounts } from "./counts.js";
import { typing } from "./keys.js";
import { close, enter, isHoverPreview, preview, shows } from "./pane.js";
import { forget, clear, recent, remember } from "./recent.js";
import { unreachable } from "./toast.js";

/** Milliseconds without typing after which the results follow. */
const WAIT = 200;
/** Milliseconds after which the page says that it is searching. */
const LONG = 1000;
/** Milliseconds for which the pointer rests on a result before its preview opens. */
const REST = 500;

const results = () => document.getElementById("results");
const fields = () => [...document.querySelectorAll("form.search[role=search] input[name=q]")];
const rows = () => [...results().querySelectorAll("[data-results] tr[data-id]")];
// Only where the preview has a place beside the results.
const hovers = matchMedia("(hover: hover) and (pointer: fine) and (min-width: 80rem)");
// Where filters stand above the results, they are folded.
const stacks = matchMedia("(max-width: 60rem)");
let asking;
let waiting;
let resting;
let pointed;
let dismissed;
let unfolded;

// Announces new results to screen readers.
const announcer = document.createElement("p");
announcer.className = "unseen";
announcer.setAttribute("role", "status");

/** The address of the results for a text, in the present order. */
function addressOf(text) {
  const asked = new URLSearchParams(location.search);
  const wanted = new URLSearchParams();
  if (text) wanted.set("q", text);
  if (text && asked.has("sort")) wanted.set("sort", asked.get("sort"));
  return wanted.size ? `/search?${wanted}` : "/search";
}

function adopt(page, fresh, address) {
  const held = results().contains(document.activeElement);
  results().replaceWith(document.adoptNode(fresh));
  history.replaceState(history.state, "", address);
  document.title = page.title;
  if (held) fields().find((field) => field.checkVisibility())?.focus();
  if (!rows().some(shows)) close({ restoreFocus: false });
  prepare();
  showCounts(results());
  const count = results().querySelector(".row.between > p")?.textContent ?? "";
  const nothing = results().querySelector(".empty h2")?.textContent;
  announcer.textContent = nothing ?? `${results().querySelector("h1").textContent}. ${count}`;
}

/** Shows the results for a text here. What was asked before is given up. */
async function follow(text) {
  clearTimeout(waiting);
  asking?.abort();
  const address = addressOf(text);
  if (address === location.pathname + location.search) return finish();
  const mine = (asking = new AbortController());
  const busy = setTimeout(() => {
    results().setAttribute("aria-busy", "true");
    announcer.textContent = results().querySelector("h1").dataset.searching;
  }, LONG);
  try {
    const answer = await fetch(address, { headers: { accept: "text/html" }, signal: mine.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("results");
    if (mine.signal.aborted) return undefined;
    // Signed out, or out of order: the page itself says so.
    if (!answer.ok || answer.redirected || !fresh) return location.assign(address);
    return adopt(page, fresh, address);
  } catch {
    return mine.signal.aborted ? undefined : unreachable();
  } finally {
    clearTimeout(busy);
    if (asking === mine) finish();
  }
}

const finish = () => results().removeAttribute("aria-busy");

function typed(event) {
  const text = event.target.value;
  for (const other of fields()) if (other !== event.target) other.value = text;
  clearTimeout(waiting);
  if (!event.isComposing) waiting = setTimeout(() => follow(text.trim()), WAIT);
}

function focusRow(row) {
  if (!row) return;
  for (const other of rows()) other.tabIndex = other === row ? 0 : -1;
  row.focus();
}

function togglePreview(row) {
  if (shows(row)) close();
  else preview(row, { isStillWanted: () => document.activeElement === row, returnFocusTo: row });
}

function opened() {
  remember(new URLSearchParams(location.search).get("q") ?? "");
}

function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.isComposing) return;
  if (document.querySelector("dialog[open], [popover]:popover-open") || event.target.closest?.(".pane")) return;
  const all = rows();
  if (!all.length) return;
  const isField = fields().includes(event.target);
  const row = event.target.closest?.("[data-results] tr[data-id]");
  const own = event.target === row;
  if (typing(event.target) && !(isField && event.key === "ArrowDown")) return;
  // On links and buttons, arrows scroll and Space presses.
  if (!own && !isField && event.target !== document.body && !["j", "k"].includes(event.key)) return;
  const at = all.indexOf(row);
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (step && at < 0) focusRow(all.find((one) => one.tabIndex === 0 && !isField) ?? all[0]);
  else if (event.key === "ArrowUp" && at === 0) fields().find((field) => field.checkVisibility())?.focus();
  else if (step) focusRow(all[Math.max(0, Math.min(all.length - 1, at + step))]);
  else if (own && event.key === "Home") focusRow(all[0]);
  else if (own && event.key === "End") focusRow(all.at(-1));
  else if (own && event.key === "Enter") row.querySelector(".item a").click();
  else if (own && event.key === " ") togglePreview(row);
  else if (own && ["Tab", "ArrowRight"].includes(event.key) && shows(row)) enter();
  else return;
  event.preventDefault();
}

function moved(event) {
  clearTimeout(resting);
  const row = event.pointerType === "mouse" && event.target.closest?.("[data-results] tr[data-id]");
  if (row !== pointed) dismissed = undefined;
  pointed = row;
  if (isHoverPreview() && !event.target.closest?.("[data-results], .pane")) {
    resting = setTimeout(() => close({ restoreFocus: false }), REST);
    return;
  }
  if (!row || !hovers.matches || event.buttons || row === dismissed || shows(row)) return;
  resting = setTimeout(() => {
    const isStillWanted = () => pointed === row && row.isConnected;
    if (!String(getSelection())) preview(row, { isStillWanted, hover: true, returnFocusTo: null });
  }, REST);
}

/** A search that was kept, as a link and a button that removes it. */
function recentRow(text) {
  const part = document.createElement("li");
  const link = Object.assign(document.createElement("a"), { href: `/search?q=${encodeURIComponent(text)}`, textContent: text, dir: "auto" });
  const store = document.getElementById("suggestions");
  const button = Object.assign(document.createElement("button"), { type: "button", className: "button quiet icon-only" });
  button.append(store.content.querySelector("[data-icon=x] svg").cloneNode(true));
  button.append(Object.assign(document.createElement("span"), { className: "unseen", textContent: `${store.dataset.remove}: ${text}` }));
  button.addEventListener("click", () => {
    const next = part.nextElementSibling ?? part.previousElementSibling;
    forget(text);
    part.remove();
    next?.querySelector("button").focus();
    if (!next) showRecent();
  });
  part.append(store.content.querySelector("[data-icon=clock] svg").cloneNode(true), link, button);
  return part;
}

function showRecent() {
  const part = results().querySelector("[data-recent]");
  if (!part) return;
  const searches = recent();
  part.hidden = !searches.length;
  part.querySelector("ul").replaceChildren(...searches.map(recentRow));
}

function prepare() {
  const filters = results().querySelector(".narrowings > details");
  if (filters) {
    filters.open = unfolded ?? !stacks.matches;
    filters.querySelector("summary").addEventListener("click", () => { unfolded = !filters.open; });
  }
  // The first of the results that were added by "Show more".
  const added = results().querySelector("[data-results] tr:target");
  rows().forEach((row, at) => { row.tabIndex = at === 0 ? 0 : -1; });
  focusRow(added);
  for (const link of results().querySelectorAll("[data-results] .item a")) link.addEventListener("click", opened);
  results().querySelector("[data-clear]")?.addEventListener("click", () => {
    clear();
    showRecent();
  });
  showRecent();
}

/** Puts the caret behind the filter of a place, if the box contains nothing else, so that words can follow. */
function continuePlace() {
  const field = fields().find((one) => one.checkVisibility());
  if (!field || !/^in:("[^"]*"|\S+)$/.test(field.value)) return;
  field.value += " ";
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
}

if (results()) {
  document.body.append(announcer);
  prepare();
  for (const field of fields()) {
    field.addEventListener("input", typed);
    field.addEventListener("compositionend", typed);
    field.form.addEventListener("submit", (event) => {
      event.preventDefault();
      follow(field.value.trim());
    });
  }
  document.addEventListener("keydown", pressed);
  document.addEventListener("pointermove", moved);
  document.addEventListener("pane-closed", () => { dismissed = pointed; });
  continuePlace();
}
