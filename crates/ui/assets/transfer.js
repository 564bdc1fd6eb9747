// Rows that are moved and copied by hand: dragged onto folders, breadcrumbs and the side bar, with Ctrl copied; or cut, copied and
// pasted by the keyboard.
import { areMany, sendAll } from "./batches.js";
import { chosen } from "./chosen.js";
import { carry } from "./dialog.js";
import { typing } from "./keys.js";
import { tell } from "./toast.js";

const KIND = "application/x-strongroom-items";
const STORE = "strongroom-cut";
let dragged;
let over;

/** The form of the listing; an empty folder has one, too. */
const form = () => document.querySelector("form.drop-target");
const rowOf = (event) => event.target.closest?.("[data-listing] tr[data-id]");
const fill = (word, number) => form().dataset[word].replace("{0}", number.toLocaleString(document.documentElement.lang));

const ticked = () => chosen(form());

function send(fields) {
  const token = form().querySelector("[name=form_token]").value;
  const ids = fields.ids.split(",");
  if (areMany(ids)) {
    return sendAll("/place", { ...fields, form_token: token }, ids);
  }
  return carry("/place", { form_token: token, next: location.pathname + location.search, ...fields });
}

/** Where the rows go that are dropped here. */
function goal(event) {
  const row = rowOf(event);
  if (row) return row.dataset.kind === "folder" && !dragged.includes(row.dataset.id) ? { element: row, at: row.dataset.id } : undefined;
  const link = event.target.closest?.(".crumbs a, .sidebar .nav a");
  const path = link && new URL(link.href).pathname;
  if (!path?.startsWith("/browse") || path === location.pathname) return undefined;
  return { element: link, to: path };
}

function mark(element) {
  if (over === element) return;
  over?.classList.remove("drop-here");
  over = element;
  over?.classList.add("drop-here");
}

document.addEventListener("dragstart", (event) => {
  const row = rowOf(event);
  if (!row || !form()?.dataset.here) return;
  // Text that is being edited is not dragged with its row.
  if (row.querySelector(".cell-editor")) {
    event.preventDefault();
    return;
  }
  const all = ticked();
  dragged = all.includes(row.dataset.id) ? all : [row.dataset.id];
  event.dataTransfer.setData(KIND, dragged.join());
  event.dataTransfer.effectAllowed = "copyMove";
  const picture = document.createElement("span");
  picture.className = "dragged";
  picture.textContent = dragged.length > 1 ? fill("count", dragged.length) : row.querySelector(".item a").textContent;
  document.body.append(picture);
  event.dataTransfer.setDragImage(picture, -12, -12);
  setTimeout(() => picture.remove());
});

document.addEventListener("dragover", (event) => {
  if (!dragged) return;
  const found = goal(event);
  mark(found?.element);
  if (!found) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = event.ctrlKey ? "copy" : "move";
});

document.addEventListener("drop", (event) => {
  const found = dragged && goal(event);
  if (!found) return;
  event.preventDefault();
  const { element, ...place } = found;
  send({ action: event.ctrlKey ? "copy" : "move", ids: dragged.join(), ...place });
});

document.addEventListener("dragend", () => {
  dragged = undefined;
  mark();
});

function cut(action) {
  const row = document.activeElement?.closest?.("[data-listing] tr[data-id]");
  const ids = ticked();
  if (!ids.length && row) ids.push(row.dataset.id);
  if (!ids.length) return false;
  sessionStorage.setItem(STORE, JSON.stringify({ action, ids }));
  tell(fill(action === "move" ? "cut" : "copied", ids.length));
  return true;
}

function paste() {
  const stored = JSON.parse(sessionStorage.getItem(STORE) ?? "null");
  if (!stored || !form().dataset.here) return false;
  send({ action: stored.action, ids: stored.ids.join(), at: form().dataset.here }).then((done) => {
    // What was cut is pasted once.
    if (done && stored.action === "move") sessionStorage.removeItem(STORE);
  });
  return true;
}

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.defaultPrevented || !form()?.dataset.here) return;
  if (typing(event.target) || document.querySelector("dialog[open], [popover]:popover-open") || String(getSelection())) return;
  const act = { x: () => cut("move"), c: () => cut("copy"), v: paste }[event.key.toLowerCase()];
  if (act?.()) event.preventDefault();
});
