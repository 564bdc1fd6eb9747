// Selecting rows: with the boxes, with Shift a range; by a click on the row, with Ctrl one more; by keyboard with the
// arrows, Space, Shift and Ctrl+A. What was ticked stays so in another order or filter, also where its row is not
// shown. F2 renames in the row, Delete deletes what is ticked, and without a tick the row that has the focus. The bar
// above the rows is shown by the style sheet.
import { away, setAway, takeSelected, unloaded } from "./chosen.js";
import { typing } from "./keys.js";
import { rename } from "./rename.js";
import { unreachable } from "./toast.js";

let form;
const boxes = () => [...form.querySelectorAll("td.pick input")];
const rows = () => [...form.querySelectorAll("tr[data-id]")];
const boxOf = (row) => row.querySelector("td.pick input");
let last;
/** Number of the collection of further rows that is under way; 0 for none. */
let collecting = 0;
let collections = 0;
const gaps = () => [...form.querySelectorAll("tbody[data-ids]")];

const any = () => boxes().some((box) => box.checked) || away(form).length > 0;

function refresh() {
  const all = boxes();
  const ticked = all.filter((box) => box.checked).length;
  const unseen = away(form).length;
  const count = form.querySelector("[data-count]");
  const every = ticked > 0 && ticked === all.length && unseen === unloaded(gaps()).length && form.querySelector(".pager a[rel=next]");
  const further = form.querySelector("[data-select-all]");
  if (further) further.hidden = !every || collecting > 0;
  const write = (number) => number?.toLocaleString(document.documentElement.lang);
  const say = (word, number) => count.dataset[word].replace("{0}", write(number));
  if (count?.dataset.count) {
    count.textContent = [say("count", ticked + unseen), unseen && say("away", unseen), every && say("further")].filter(Boolean).join(", ");
  }
  const head = form.querySelector("[data-all]");
  if (head) {
    const isAll = ticked > 0 && ticked === all.length && unseen >= unloaded(gaps()).length;
    head.checked = isAll;
    head.indeterminate = ticked > 0 && !isAll;
  }
}

/** Rows can be dragged by their names, where they can be moved or copied at all. */
function dragged() {
  if (form.dataset.here) for (const item of form.querySelectorAll("tr[data-id] .item")) item.draggable = true;
}

/** Rows that came into sight are ticked themselves. */
function grown() {
  dragged();
  const hidden = new Set(away(form));
  const before = hidden.size;
  for (const box of boxes()) if (hidden.delete(box.value)) box.checked = true;
  if (hidden.size < before) setAway(form, [...hidden]);
  refresh();
}

/** Rows that are unloaded stay selected. */
function unloading({ detail: body }) {
  const ids = [...body.querySelectorAll("td.pick input:checked")].map((box) => box.value);
  if (ids.length) setAway(form, [...away(form), ...ids]);
  if (last && body.contains(last)) last = undefined;
}

/** Selects all of the listing, also what is not loaded. Whatever changes the selection ends it. */
async function selectFurther() {
  const [here, own] = [form, ++collections];
  collecting = own;
  for (let next = ""; next !== null; ) {
    const address = next ? `${form.dataset.ids}&after=${encodeURIComponent(next)}` : form.dataset.ids;
    const answer = await fetch(address, { headers: { accept: "application/json" } }).catch(() => undefined);
    const page = answer?.ok && !answer.redirected && (await answer.json().catch(() => undefined));
    if (collecting !== own || here !== form) return undefined;
    if (!page) {
      collecting = 0;
      unreachable();
      return refresh();
    }
    const found = new Set(page.ids);
    const shown = boxes();
    for (const box of shown) box.checked ||= found.has(box.value);
    for (const box of shown) found.delete(box.value);
    setAway(form, [...new Set([...away(form), ...found])]);
    next = page.next;
    refresh();
  }
  collecting = 0;
  return refresh();
}

function setAll(checked) {
  collecting = 0;
  // Rows that are unloaded are part of it.
  setAway(form, checked ? [...new Set([...away(form), ...unloaded(gaps())])] : []);
  for (const box of boxes()) box.checked = checked;
  refresh();
}

function range(to, checked = true) {
  collecting = 0;
  const all = boxes();
  const from = all.includes(last) ? last : to;
  const [low, high] = [all.indexOf(from), all.indexOf(to)].sort((a, b) => a - b);
  for (const box of all.slice(low, high + 1)) box.checked = checked;
  // Rows between them that are unloaded are part of the range.
  const isBetween = (body) => [all[low], all[high]].every((box, at) => box.compareDocumentPosition(body) & (at ? Node.DOCUMENT_POSITION_PRECEDING : Node.DOCUMENT_POSITION_FOLLOWING));
  const between = new Set(unloaded(gaps().filter(isBetween)));
  if (between.size) setAway(form, [...away(form).filter((id) => !between.has(id)), ...(checked ? between : [])]);
  refresh();
}

function clicked(event) {
  const box = event.target.closest(".pick input");
  if (box) {
    collecting = 0;
    if (box.hasAttribute("data-all")) setAll(box.checked);
    else if (event.shiftKey && last) range(box, box.checked);
    else last = box;
    return refresh();
  }
  const row = event.target.closest("tr[data-id]");
  if (!row || event.target.closest("a, button, input, select, textarea, label, .menu, .cell-editor, td.cell:has([data-cell])") || String(getSelection())) return undefined;
  const own = boxOf(row);
  collecting = 0;
  // Without a row to begin with, a range is one row.
  if (event.shiftKey) range(own);
  else if (event.ctrlKey || event.metaKey) own.checked = !own.checked;
  else {
    const only = !own.checked;
    setAll(false);
    own.checked = only;
  }
  if (!event.shiftKey) last = own;
  row.focus({ preventScroll: true });
  return refresh();
}

/** With Shift, a click marks rows and no text. */
function pointed(event) {
  if (event.shiftKey && event.target.closest("tr[data-id]") && !event.target.closest("a, input, select, textarea, .cell-editor")) event.preventDefault();
}

/** A double click opens what a row stands for. */
function opened(event) {
  const row = event.target.closest("tr[data-id]");
  if (!row || event.target.closest("a, button, input, select, textarea, label, .menu, .cell-editor, td.cell:has([data-cell])")) return;
  getSelection().removeAllRanges();
  row.querySelector(".item a")?.click();
}

function step(row, event) {
  const all = rows();
  const at = all.indexOf(row);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
  const next = all[Math.max(0, Math.min(all.length - 1, to))];
  if (event.shiftKey) {
    last ??= boxOf(row);
    range(boxOf(next));
  }
  for (const other of all) other.tabIndex = other === next ? 0 : -1;
  next.focus();
}

/** Deletes what is ticked, and without a tick this row. */
function remove(row) {
  if (!any()) boxOf(row).checked = true;
  refresh();
  form.querySelector(".selection [data-delete]")?.click();
}

function pressed(event) {
  const row = event.target.closest?.("tr[data-id]");
  if (!row || event.target.closest("input:not([type=checkbox]), textarea, select, .menu")) return;
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
  const own = event.target === row;
  if (plain && ["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) step(row, event);
  else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "a") setAll(true);
  else if (own && plain && event.key === " ") {
    collecting = 0;
    last = boxOf(row);
    last.checked = !last.checked;
    refresh();
  } else if (own && plain && event.key === "Enter") row.querySelector(".item a").click();
  else if (plain && event.key === "F2") rename(row);
  else if (plain && event.key === "Delete" && (own || any())) remove(row);
  else if (own && event.key === "Escape" && any()) setAll(false);
  else return;
  event.preventDefault();
}

// From anywhere on the page the arrows lead into the listing, Ctrl+A takes all of it, and Delete deletes what is
// ticked.
document.addEventListener("keydown", (event) => {
  const first = form?.querySelector("[data-listing] tr[tabindex='0']");
  if (!first || event.defaultPrevented || event.altKey || document.querySelector("dialog[open], [popover]:popover-open")) return;
  const control = event.ctrlKey || event.metaKey;
  if (event.key === "Delete" && !control && any() && !typing(event.target)) {
    event.preventDefault();
    remove(first);
  }
  if (event.key === "Escape" && any() && !typing(event.target)) {
    event.preventDefault();
    setAll(false);
  }
  if (event.target !== document.body) return;
  const all = control && event.key.toLowerCase() === "a";
  if (!all && event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  first.focus();
  if (all) setAll(true);
});

function start() {
  form = document.querySelector("form:has(td.pick, input[data-away])");
  last = undefined;
  collecting = 0;
  if (!form) return;
  const kept = takeSelected();
  if (kept.length) setAway(form, kept);
  for (const head of form.querySelectorAll("[data-all]")) head.hidden = false;
  if (form.querySelector("[data-listing]")) {
    rows().forEach((row, i) => { row.tabIndex = i === 0 ? 0 : -1; });
    form.addEventListener("keydown", pressed);
    form.addEventListener("dblclick", opened);
    form.addEventListener("mousedown", pointed);
    dragged();
  }
  form.addEventListener("click", clicked);
  form.addEventListener("grown", grown);
  form.addEventListener("unloading", unloading);
  form.querySelector("[data-select-all]")?.addEventListener("click", () => { selectFurther(); });
  // A page that comes back from the browser's history keeps its ticks.
  refresh();
}

start();
document.addEventListener("swapped", start);
