// Selecting rows: with the boxes, with Shift a range; by a click on the row, with Ctrl one more; by keyboard with the
// arrows, Space, Shift and Ctrl+A. What was ticked stays so in another order or filter, also where its row is not
// shown. F2 renames in the row, Delete deletes what is ticked, and without a tick the row that has the focus. The bar
// above the rows is shown by the style sheet.
import { typing } from "./keys.js";
import { rename } from "./rename.js";

let form;
const boxes = () => [...form.querySelectorAll("td.pick input")];
const rows = () => [...form.querySelectorAll("tr[data-id]")];
const away = () => [...form.querySelectorAll("input[data-away]")];
const boxOf = (row) => row.querySelector("td.pick input");
let last;

const any = () => boxes().some((box) => box.checked) || away().length > 0;

function refresh() {
  const all = boxes();
  const ticked = all.filter((box) => box.checked).length;
  const unseen = away().length;
  const count = form.querySelector("[data-count]");
  const every = ticked > 0 && ticked === all.length && form.querySelector(".pager a[rel=next]");
  const write = (number) => number?.toLocaleString(document.documentElement.lang);
  const say = (word, number) => count.dataset[word].replace("{0}", write(number));
  if (count?.dataset.count) {
    count.textContent = [say("count", ticked + unseen), unseen && say("away", unseen), every && say("further")].filter(Boolean).join(", ");
  }
  const head = form.querySelector("[data-all]");
  if (head) {
    head.checked = ticked > 0 && ticked === all.length;
    head.indeterminate = ticked > 0 && ticked < all.length;
  }
}

/** Rows can be dragged by their names, where they can be moved or copied at all. */
function dragged() {
  if (form.dataset.here) for (const item of form.querySelectorAll("tr[data-id] .item")) item.draggable = true;
}

/** Rows that came into sight are ticked themselves. */
function grown() {
  dragged();
  const hidden = new Map(away().map((input) => [input.value, input]));
  for (const box of boxes()) {
    const input = hidden.get(box.value);
    if (!input) continue;
    box.checked = true;
    input.remove();
  }
  refresh();
}

function setAll(checked) {
  if (!checked) for (const input of away()) input.remove();
  for (const box of boxes()) box.checked = checked;
  refresh();
}

function range(to, checked = true) {
  const all = boxes();
  const [low, high] = [Math.max(0, all.indexOf(last)), all.indexOf(to)].sort((a, b) => a - b);
  for (const box of all.slice(low, high + 1)) box.checked = checked;
  refresh();
}

function clicked(event) {
  const box = event.target.closest(".pick input");
  if (box) {
    if (box.hasAttribute("data-all")) setAll(box.checked);
    else if (event.shiftKey && last) range(box, box.checked);
    else last = box;
    return refresh();
  }
  const row = event.target.closest("tr[data-id]");
  if (!row || event.target.closest("a, button, input, select, textarea, label, .menu, .cell-editor, td.cell:has([data-cell])") || String(getSelection())) return undefined;
  const own = boxOf(row);
  if (event.shiftKey && last) range(own);
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
  if (!form) return;
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
  // A page that comes back from the browser's history keeps its ticks.
  refresh();
}

start();
document.addEventListener("swapped", start);
