// A listing goes on by itself when its end comes into sight, up to so many rows; behind them, and without script, a link leads to
// the next page. Who comes back by the browser's history finds as many rows, and the place, as when they left.
const MOST = 1000;
const AHEAD = 800;

const body = document.querySelector("[data-listing] tbody");
const rows = () => body.querySelectorAll("tr[data-id]").length;
const next = () => document.querySelector(".pager a[rel=next]");
let growing;

/** Appends the next page; tells whether it did. */
async function grow() {
  const link = next();
  const answer = await fetch(link.href, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector("[data-listing] tbody");
  // Signed out, gone or out of order: the link itself says so.
  if (!answer.ok || answer.redirected || !fresh) return false;
  const heading = [...body.querySelectorAll("tr.group")].at(-1);
  const first = fresh.querySelector("tr");
  if (first?.matches(".group") && first.textContent === heading?.textContent) first.remove();
  for (const row of fresh.querySelectorAll("tr[data-id]")) row.tabIndex = -1;
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

if (body && next()) {
  const near = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting || growing || !next() || rows() >= MOST) return;
    growing = follow(rows() + 1).catch(() => {}).finally(() => {
      growing = undefined;
      // Asked again, since a page that is shorter than the screen leaves the end in sight.
      near.unobserve(pager);
      if (next()) near.observe(pager);
    });
  }, { rootMargin: `${AHEAD}px` });
  const pager = next().parentElement;
  const { rows: before = 0, top = 0 } = history.state ?? {};
  const returned = performance.getEntriesByType("navigation")[0]?.type !== "navigate" && before > rows();
  growing = returned ? follow(Math.min(before, MOST)).then(() => scrollTo(0, top)).catch(() => {}) : undefined;
  Promise.resolve(growing).then(() => {
    growing = undefined;
    near.observe(pager);
  });
  addEventListener("pagehide", () => history.replaceState({ ...history.state, rows: rows(), top: scrollY }, ""));
}
