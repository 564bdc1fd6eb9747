// Links marked `data-pane` lead to the page of what an item is and shows; here that is shown beside the listing. Escape
// leaves, and the focus goes back to where it was. Without script, or where it does not work, the page itself opens.

let pane;
let before;
let watcher;
let shown;
let isHovered = false;

/**
 * Closes it. Returns false if it was not open.
 *
 * @param {object} [options]
 * @param {boolean} [options.restoreFocus] False to leave the focus where it is. Otherwise it goes back to where it was.
 */
export function close({ restoreFocus = true } = {}) {
  if (!pane) return false;
  document.dispatchEvent(new Event("pane-closed"));
  watcher?.destroy();
  pane.remove();
  pane = undefined;
  mark();
  if (restoreFocus) before?.focus();
  return true;
}

/** Whether it shows a preview that a resting pointer opened. */
export const isHoverPreview = () => Boolean(pane) && isHovered;

/** Notes which row it shows. */
function mark(row) {
  document.querySelector("tr[data-shown]")?.removeAttribute("data-shown");
  row?.setAttribute("data-shown", "");
}

/** Moves the focus into it. It is a lasting one from then on. */
export function enter() {
  isHovered = false;
  pane?.classList.remove("over");
  pane?.focus();
}

/** Whether it shows the item of a row. */
export const shows = (row) => Boolean(pane) && shown === row.dataset.id;

/**
 * Shows the page to which a link leads.
 *
 * @param {HTMLAnchorElement} link
 * @param {HTMLElement} [row] The row of the item.
 * @param {object} [options]
 * @param {() => boolean} [options.isStillWanted] Asked when the answer comes. If it returns false, nothing is shown. With
 *   this option, the pane does not take the focus.
 * @param {boolean} [options.hover] True for a preview under a resting pointer. It shows no content if reads are recorded.
 * @param {HTMLElement|null} [options.returnFocusTo] Gets the focus when the pane is closed.
 */
async function open(link, row, { isStillWanted, hover = false, returnFocusTo = row?.querySelector("td.act a") ?? link } = {}) {
  const address = new URL(link.href);
  if (hover) address.searchParams.set("hover", "yes");
  const answer = await fetch(address, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [title, part] = [page.querySelector("main h1"), page.querySelector("main > .columns")];
  const store = document.getElementById("pane");
  if (!answer.ok || answer.redirected || !title || !part || !store) {
    if (!isStillWanted) location.href = link.href;
    return;
  }
  // Somebody may have gone on, or closed it, meanwhile.
  if (isStillWanted && !isStillWanted()) return;
  pane?.remove();
  before = returnFocusTo;
  isHovered = hover;
  shown = row?.dataset.id;
  pane = store.content.firstElementChild.cloneNode(true);
  // Rows must not move under a resting pointer.
  pane.classList.toggle("over", hover);
  mark(row);
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
  if (!isStillWanted) pane.focus();
  const pdf = pane.querySelector("[data-pdf]");
  if (pdf) (await import("./pdf.js")).show(pdf);
  if (pane.querySelector("[data-zoom]")) await import("./picture.js");
  const code = pane.querySelector("[data-language]");
  if (code) (await import("./code.js")).show(code);
}

/** Shows the item of a row, with the options of `open`. With `isStillWanted`, the focus stays where it is. */
export function preview(row, options) {
  const link = row.querySelector("td.act a");
  if (link) open(link, row, options).catch(() => {});
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-pane]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const row = link.closest("tr");
  link.closest("[popover]")?.hidePopover();
  open(link, row).catch(() => { location.href = link.href; });
});

// Moving to another row updates the pane. If a resting pointer opened it, this records no read either.
document.addEventListener("focusin", (event) => {
  const row = pane && event.target.closest?.("tr[data-id]");
  const link = row?.dataset.id !== shown && row?.querySelector("td.act a");
  if (!link || event.target !== row) return;
  const isStillWanted = () => pane && document.activeElement === row;
  preview(row, { isStillWanted, hover: isHovered, returnFocusTo: row });
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open], [popover]:popover-open, .cell-editor")) return;
  if (close()) event.preventDefault();
});
