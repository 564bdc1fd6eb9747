// A listing goes on by itself when its end comes into sight, up to so many rows; behind them, and without script, a link leads to
// the next page. Who comes back by the browser's history finds as many rows, and the place, as when they left.
import { hold } from "./columns.js";

const MOST = 1000;
const AHEAD = 800;

let body;
let growing;
let near;
const rows = () => body.querySelectorAll("tr[data-id]").length;
const next = () => document.querySelector(".pager a[rel=next]");

/** Appends the next page; tells whether it did. */
async function grow() {
  const [link, here] = [next(), body];
  const answer = await fetch(link.href, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector("[data-listing] tbody");
  // Signed out, gone or out of order: the link itself says so.
  if (!answer.ok || answer.redirected || !fresh || here !== body) return false;
  const heading = [...body.querySelectorAll("tr.group")].at(-1);
  const first = fresh.querySelector("tr");
  if (first?.matches(".group") && first.textContent === heading?.textContent) first.remove();
  for (const row of fresh.querySelectorAll("tr[data-id]")) row.tabIndex = -1;
  hold();
  body.append(...document.adoptNode(fresh).children);
  const further = page.querySelector(".pager a[rel=next]");
  if (further) link.href = further.href;
  else link.remove();
  body.closest("form").dispatchEvent(new Event("grown"));
  return true;
}

async function follow(wanted) {
  while (next() && rows() < wanted && (await grow()));
}

/** Writes down how far the listing has grown, and where the reader is. */
export function remember() {
  if (body) history.replaceState({ ...history.state, rows: rows(), top: scrollY }, "");
}

function start() {
  near?.disconnect();
  near = undefined;
  growing = undefined;
  body = document.querySelector("[data-listing] tbody");
  if (!body || !next()) return;
  const [here, pager] = [body, next().parentElement];
  near = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting || growing || here !== body || !next() || rows() >= MOST) return;
    growing = follow(rows() + 1).catch(() => {}).finally(() => {
      if (here !== body) return;
      growing = undefined;
      // Asked again, since a page that is shorter than the screen leaves the end in sight.
      near.unobserve(pager);
      if (next()) near.observe(pager);
    });
  }, { rootMargin: `${AHEAD}px` });
  const { rows: before = 0, top = 0 } = history.state ?? {};
  growing = before > rows() ? follow(Math.min(before, MOST)).then(() => scrollTo(0, top)).catch(() => {}) : undefined;
  Promise.resolve(growing).then(() => {
    if (here !== body) return;
    growing = undefined;
    near.observe(pager);
  });
}

start();
document.addEventListener("swapped", start);
addEventListener("pagehide", remember);
