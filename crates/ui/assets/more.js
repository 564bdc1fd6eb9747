// Virtual scrolling: a listing goes on by itself when its end comes into sight; without script, a link leads to the next page.
// The rows of each page are a part of the table. Parts far from the window are unloaded, with their height kept, and loaded
// again when they come near. Who comes back by the browser's history finds the place as when they left.
import { hold } from "./columns.js";

/** Pixels beyond the window within which rows are loaded. */
const AHEAD = 800;
/** Limit on the parts that are loaded. */
const MAX_LOADED = 24;
/** Limit on tiles: they flow from part to part, and none is unloaded. */
const MAX_TILES = 2000;
/** Limit on the pages that are fetched to load one part again, if rows were added in it. */
const MAX_PAGES = 10;
/** Limit on the rows that are loaded to find the place again on the way back. */
const MAX_RECALLED = 10_000;
/** Milliseconds within which the place is kept on the way back, while rows change their heights. */
const SETTLED = 1000;
/** Milliseconds after which a part that could not be loaded is tried again. */
const RETRY = 3000;

let table;
/** Parts in their order: `body` with the rows, `address` of the page, `ids` of the rows, `height` while it is unloaded. */
let parts = [];
let isGrowing = false;
let ends;
let gaps;

const form = () => table.closest("form");
const next = () => document.querySelector(".pager a[rel=next]");
const idsOf = (body) => [...body.querySelectorAll("tr[data-id]")].map((row) => row.dataset.id);
const isTiled = () => table.classList.contains("tiles");
const isLoaded = (part) => part.height === undefined;
const rows = () => parts.reduce((sum, { ids }) => sum + ids.length, 0);

async function page(address) {
  const here = table;
  const answer = await fetch(address, { headers: { accept: "text/html" } });
  const found = new DOMParser().parseFromString(await answer.text(), "text/html");
  const body = found.querySelector("[data-listing] tbody");
  // Signed out, gone or out of order: the link itself says so. Or the listing is another one by now.
  if (!answer.ok || answer.redirected || !body || here !== table) return undefined;
  for (const row of body.querySelectorAll("tr[data-id]")) row.tabIndex = -1;
  return { rows: [...document.adoptNode(body).children], next: found.querySelector(".pager a[rel=next]")?.getAttribute("href") };
}

/** Removes the heading of the first group if the rows before are of the same one. */
function joined(fresh, before) {
  const last = before && [...before.body.querySelectorAll("tr.group")].at(-1)?.textContent;
  const heading = before && (last ?? before.heading);
  return fresh[0]?.matches(".group") && fresh[0].textContent === heading ? fresh.slice(1) : fresh;
}

/** Appends the next page; returns whether it did. */
async function grow() {
  const link = next();
  const address = link.getAttribute("href");
  const found = await page(address);
  if (!found || !link.isConnected) return false;
  hold();
  const last = parts.at(-1);
  const known = new Set(parts.flatMap(({ ids }) => ids));
  // A row that somebody moves down while the listing is read is there already.
  const fresh = joined(found.rows, last).filter((row) => !known.has(row.dataset.id));
  if (isTiled()) {
    last.body.append(...fresh);
    last.ids = idsOf(last.body);
  } else {
    const body = document.createElement("tbody");
    body.append(...fresh);
    last.body.after(body);
    parts.push({ body, address, ids: idsOf(body) });
  }
  if (found.next) link.href = found.next;
  else link.remove();
  form().dispatchEvent(new Event("grown"));
  trim();
  return true;
}

/** Grows while the end is near the window. */
async function advance() {
  const here = table;
  const pager = form().querySelector(".pager");
  const isFull = () => isTiled() && rows() >= MAX_TILES;
  const isNear = () => pager.getBoundingClientRect().top < innerHeight + AHEAD;
  if (isGrowing) return;
  isGrowing = true;
  try {
    while (here === table && next() && !isFull() && isNear() && (await grow()));
  } catch {
    // The link leads on.
  }
  if (here === table) isGrowing = false;
}

/** Unloads the parts that are farthest from the window. */
function trim() {
  const loaded = parts.filter(isLoaded);
  const distance = ({ body }) => {
    const { top, bottom } = body.getBoundingClientRect();
    return Math.max(top - innerHeight, -bottom, 0);
  };
  const isInUse = ({ body }) => body.contains(document.activeElement) || body.querySelector(".cell-editor, [popover]:popover-open");
  const far = loaded.map((part) => [distance(part), part]).filter(([pixels, part]) => pixels > AHEAD && !isInUse(part));
  far.sort(([one], [other]) => other - one);
  for (const [, part] of far.slice(0, Math.max(0, loaded.length - MAX_LOADED))) unload(part);
}

/** Takes the rows of a part away and keeps their height, and their identifiers for those who select. */
function unload(part) {
  form().dispatchEvent(new CustomEvent("unloading", { detail: part.body }));
  part.heading = [...part.body.querySelectorAll("tr.group")].at(-1)?.textContent ?? part.heading;
  part.height = part.body.getBoundingClientRect().height;
  part.body.dataset.ids = part.ids.join();
  const row = document.createElement("tr");
  row.className = "gap";
  row.setAttribute("aria-hidden", "true");
  const cell = document.createElement("td");
  cell.colSpan = table.querySelectorAll("col").length;
  cell.style.height = `${part.height}px`;
  row.append(cell);
  part.body.replaceChildren(row);
  gaps.observe(part.body);
}

/**
 * Fetches the rows of a part: from where it begins to where the next part begins. Rows may have been added, deleted or moved
 * meanwhile. One that another part has is shown there. Where all further rows belong to later parts, this one ends.
 */
async function fetched(part) {
  const at = parts.indexOf(part);
  const others = new Set(parts.flatMap((one) => (one === part ? [] : one.ids)));
  const later = new Set(parts.slice(at + 1).flatMap(({ ids }) => ids));
  const all = [];
  let address = part.address;
  for (let count = 0; address && count < MAX_PAGES; count += 1) {
    const found = await page(address);
    if (!found) return undefined;
    const end = found.rows.findLastIndex((row) => row.dataset.id && !later.has(row.dataset.id)) + 1;
    all.push(...found.rows.slice(0, end).filter((row) => !others.has(row.dataset.id)));
    const isOver = end < found.rows.length || found.rows.at(-1)?.dataset.id === part.ids.at(-1);
    if (isOver || at === parts.length - 1) break;
    address = found.next;
  }
  return joined(all, parts[at - 1]);
}

async function load(part) {
  if (isLoaded(part) || part.isLoading) return;
  part.isLoading = true;
  const fresh = await fetched(part).catch(() => undefined);
  part.isLoading = false;
  if (!part.body.isConnected) return;
  gaps.unobserve(part.body);
  if (!fresh) {
    // Observed again, it is loaded if it is still near.
    setTimeout(() => part.body.isConnected && gaps.observe(part.body), RETRY);
    return;
  }
  hold();
  part.body.replaceChildren(...fresh);
  delete part.body.dataset.ids;
  part.height = undefined;
  part.ids = idsOf(part.body);
  form().dispatchEvent(new Event("grown"));
  trim();
}

/** Writes down how far the listing has grown, and where the reader is. */
export function remember() {
  if (!table || parts.length === 0) return;
  // The browser would scroll to a place that is not there yet.
  history.scrollRestoration = parts.length > 1 ? "manual" : "auto";
  const seen = [...table.querySelectorAll("tr[data-id]")].find((row) => row.getBoundingClientRect().bottom > 0);
  history.replaceState({ ...history.state, rows: rows(), row: seen?.dataset.id, top: seen?.getBoundingClientRect().top }, "");
}

/** Grows until the row is there that was at the top of the window, from pages as they are now. */
async function recall({ rows: count = 0, row: id, top = 0 }) {
  if (!id) return;
  const here = table;
  const place = () => table.querySelector(`tr[data-id="${CSS.escape(id)}"]`);
  const holder = () => parts.find(({ ids }) => ids.includes(id));
  const most = Math.min(count, MAX_RECALLED);
  isGrowing = true;
  try {
    while (here === table && next() && !holder() && rows() < most && (await grow()));
  } catch {
    // As far as it came.
  }
  if (here !== table) return;
  isGrowing = false;
  const part = holder();
  // Parts far from the top of the page may have been unloaded on the way.
  if (part && !isLoaded(part)) {
    part.body.scrollIntoView();
    await load(part);
  }
  if (here !== table) return;
  const settle = () => scrollBy(0, (place()?.getBoundingClientRect().top ?? top) - top);
  settle();
  // Rows get other heights once their times are written as people read them. Whoever moves on is left alone.
  const watch = new ResizeObserver(settle);
  watch.observe(table);
  const stop = () => watch.disconnect();
  for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(kind, stop, { once: true, passive: true });
  setTimeout(stop, SETTLED);
}

function start() {
  ends?.disconnect();
  gaps?.disconnect();
  isGrowing = false;
  table = document.querySelector("table[data-listing]");
  parts = [];
  const pager = next()?.parentElement;
  if (!table || !pager) return;
  const here = table;
  const body = table.tBodies[0];
  parts = [{ body, address: location.pathname + location.search, ids: idsOf(body) }];
  gaps = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      const part = parts.find((one) => one.body === target);
      if (isIntersecting && part) load(part);
    }
  }, { rootMargin: `${AHEAD}px` });
  ends = new IntersectionObserver(() => { if (here === table) advance(); }, { rootMargin: `${AHEAD}px` });
  recall(history.state ?? {}).then(() => { if (here === table) ends.observe(pager); });
}

start();
document.addEventListener("swapped", start);
addEventListener("pagehide", remember);
