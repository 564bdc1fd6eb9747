// Links and forms marked `data-swap` show the same listing in another order, view or filter: the content of that page takes the
// place of this one's, without the load of a whole document. Whoever needs to know that the content is new listens for `swapped`.
// Back and forward show what was there, with as many rows as then. Nothing that was typed or ticked is lost by it.
import { chosen, setAway } from "./chosen.js";
import { remember } from "./more.js";
import { unreachable } from "./toast.js";

const place = () => location.pathname + location.search;
const filterOf = (main) => main.querySelector(".quick input[type=search]");
let shown = place();
let asking;

// Tells readers of the screen what came.
const teller = document.createElement("p");
teller.className = "unseen";
teller.setAttribute("role", "status");
document.body.append(teller);

/** How to find what has the focus in the new content. */
function held(main) {
  const at = document.activeElement;
  if (!main.contains(at)) return () => undefined;
  const column = at.closest("th");
  const index = column && [...column.parentElement.children].indexOf(column);
  if (column) return (fresh) => fresh.querySelectorAll("thead th")[index]?.querySelector("a.sort") ?? filterOf(fresh);
  if (at.closest(".tabs")) return (fresh) => fresh.querySelector(".tabs [aria-current]");
  if (at.closest(".chips")) return (fresh) => fresh.querySelector(".chip") ?? filterOf(fresh);
  return filterOf;
}

/** What a person did to the content, done again to the new one. `sent` is the filter that the new one answers. */
function keep(main, fresh, sent) {
  const [before, after] = [filterOf(main), filterOf(fresh)];
  if (before && after && before.value !== (sent ?? before.defaultValue)) after.value = before.value;
  const ticked = new Set(chosen(main));
  for (const box of fresh.querySelectorAll("td.pick input")) box.checked = ticked.delete(box.value);
  // What is not shown here stays selected all the same.
  const form = fresh.querySelector("form:has(.selection)");
  if (form) setAway(form, [...ticked]);
  const find = held(main);
  const caret = document.activeElement?.selectionEnd;
  return () => {
    const field = find(fresh);
    field?.focus();
    if (field?.type === "search") field.setSelectionRange(caret ?? 0, caret ?? 0);
  };
}

/** Shows the page at an address here; the browser loads it as usual when it is no listing. */
async function show(address, { also, sent } = {}) {
  asking?.abort();
  const mine = (asking = new AbortController());
  const main = document.querySelector("main");
  // Only when it takes long: to draw the old rows paler first would make it long.
  const busy = setTimeout(() => main.setAttribute("aria-busy", "true"), 300);
  try {
    const answer = await fetch(address, { headers: { accept: "text/html" }, signal: mine.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("main");
    if (mine.signal.aborted) return undefined;
    if (!answer.ok || answer.redirected || !fresh?.querySelector(".quick")) return location.assign(address);
    also?.();
    shown = place();
    const focus = keep(main, document.adoptNode(fresh), sent);
    document.title = page.title;
    main.replaceWith(fresh);
    focus();
    teller.textContent = fresh.querySelector(".empty h2")?.textContent ?? page.title;
    return document.dispatchEvent(new Event("swapped"));
  } catch {
    return mine.signal.aborted ? undefined : unreachable();
  } finally {
    clearTimeout(busy);
    if (asking === mine) main.removeAttribute("aria-busy");
  }
}

function go(address, sent) {
  const editor = document.querySelector("main .cell-editor");
  if (editor) {
    editor.querySelector(".fault").textContent = document.getElementById("upload-queue")?.dataset.first ?? "";
    return editor.querySelector("input, textarea, select")?.focus();
  }
  remember();
  const also = () => {
    history.pushState({ swapped: true }, "", address);
    scrollTo(0, 0);
  };
  return show(address, { also, sent });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.href);
});

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-swap]")) return;
  event.preventDefault();
  const address = new URL(event.target.action);
  const fields = [...new FormData(event.target)];
  address.search = new URLSearchParams(fields.filter(([, value]) => value));
  go(address.href, fields.find(([name]) => name === "name")?.[1]);
});

addEventListener("popstate", () => {
  // The page of results changes its address itself.
  if (document.getElementById("results")) return undefined;
  if (place() !== shown) return show(location.href);
  asking?.abort();
  return document.querySelector("main").removeAttribute("aria-busy");
});
