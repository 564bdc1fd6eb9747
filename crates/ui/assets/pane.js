// Links marked `data-pane` lead to the page of what an item is and shows; here that is shown beside the listing. Escape
// leaves, and the focus goes back to where it was. Without script, or where it does not work, the page itself opens.

let pane;
let before;
let watcher;
let shown;

/** Closes it, if it is open; the focus goes back to where it was, unless it must stay. */
export function close(focuses = true) {
  if (!pane) return false;
  document.dispatchEvent(new Event("pane-closed"));
  watcher?.destroy();
  pane.remove();
  pane = undefined;
  if (focuses) before?.focus();
  return true;
}

/** Whether it shows the item of a row. */
export const shows = (row) => Boolean(pane) && shown === row.dataset.id;

/**
 * Shows where a link leads. It takes the focus, unless `stays` tells whether the person is still where they were when the
 * answer comes. The focus goes to `back` when it is closed. `rests` is set if only the pointer rests there.
 */
async function open(link, row, { stays, rests, back = row?.querySelector("td.act a") ?? link } = {}) {
  const answer = await fetch(rests ? `${link.href}&rests=yes` : link.href, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [title, part] = [page.querySelector("main h1"), page.querySelector("main > .columns")];
  const store = document.getElementById("pane");
  if (!answer.ok || answer.redirected || !title || !part || !store) {
    if (!stays) location.href = link.href;
    return;
  }
  // Somebody may have gone on, or closed it, meanwhile.
  if (stays && !stays()) return;
  pane?.remove();
  before = back;
  shown = row?.dataset.id;
  pane = store.content.firstElementChild.cloneNode(true);
  pane.setAttribute("aria-label", title.textContent);
  pane.querySelector("h2").textContent = title.textContent;
  pane.querySelector("[data-open]").href = page.querySelector("main .head a.button.main")?.href ?? link.href;
  pane.querySelector("[data-close]").addEventListener("click", () => close());
  pane.append(document.adoptNode(part));
  document.querySelector("main").after(pane);
  // Where the back key of a phone closes what lies above, it closes the pane too.
  watcher?.destroy();
  watcher = "CloseWatcher" in window ? new CloseWatcher() : undefined;
  watcher?.addEventListener("close", () => close());
  if (!stays) pane.focus();
  const pdf = pane.querySelector("[data-pdf]");
  if (pdf) (await import("./pdf.js")).show(pdf);
  const code = pane.querySelector("[data-language]");
  if (code) (await import("./code.js")).show(code);
}

/** Shows the item of a row, and leaves the focus where it is. */
export function preview(row, how) {
  const link = row.querySelector("td.act a");
  if (link) open(link, row, how).catch(() => {});
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-pane]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const row = link.closest("tr");
  link.closest("[popover]")?.hidePopover();
  open(link, row).catch(() => { location.href = link.href; });
});

// Who goes on to another row sees what that is.
document.addEventListener("focusin", (event) => {
  const row = pane && event.target.closest?.("tr[data-id]");
  const link = row?.dataset.id !== shown && row?.querySelector("td.act a");
  if (link && event.target === row) preview(row, { stays: () => pane && document.activeElement === row, back: row });
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open], [popover]:popover-open, .cell-editor")) return;
  if (close()) event.preventDefault();
});
