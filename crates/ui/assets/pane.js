// Links marked `data-pane` lead to the page of what an item is and shows; here that is shown beside the listing. Escape
// leaves, and the focus goes back to where it was. Without script, or where it does not work, the page itself opens.

let pane;
let before;
let watcher;
let shown;

function close() {
  if (!pane) return false;
  watcher?.destroy();
  pane.remove();
  pane = undefined;
  before?.focus();
  return true;
}

async function open(link, row, follows) {
  const answer = await fetch(link.href, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [title, part] = [page.querySelector("main h1"), page.querySelector("main > .columns")];
  const store = document.getElementById("pane");
  if (!answer.ok || answer.redirected || !title || !part || !store) {
    if (!follows) location.href = link.href;
    return;
  }
  // Somebody may have gone on, or closed it, meanwhile.
  if (follows && (!pane || document.activeElement !== row)) return;
  pane?.remove();
  before = row?.querySelector("td.act a") ?? link;
  shown = row?.dataset.id;
  pane = store.content.firstElementChild.cloneNode(true);
  pane.setAttribute("aria-label", title.textContent);
  pane.querySelector("h2").textContent = title.textContent;
  pane.querySelector("[data-open]").href = page.querySelector("main .head a.button.main")?.href ?? link.href;
  pane.querySelector("[data-close]").addEventListener("click", close);
  pane.append(document.adoptNode(part));
  document.querySelector("main").after(pane);
  // Where the back key of a phone closes what lies above, it closes the pane too.
  watcher?.destroy();
  watcher = "CloseWatcher" in window ? new CloseWatcher() : undefined;
  watcher?.addEventListener("close", close);
  if (!follows) pane.focus();
  const pdf = pane.querySelector("[data-pdf]");
  if (pdf) (await import("./pdf.js")).show(pdf);
  const code = pane.querySelector("[data-language]");
  if (code) (await import("./code.js")).show(code);
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
  if (link && event.target === row) open(link, row, true).catch(() => {});
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open], [popover]:popover-open, .cell-editor")) return;
  if (close()) event.preventDefault();
});
