// Links and forms marked `data-swap` show the same listing in another order, view or filter: the content of that page takes the
// place of this one's, without the load of a whole document. Whoever needs to know that the content is new listens for `swapped`.
// Back and forward show what was there, with as many rows as then.
import { remember } from "./more.js";

let asking;
const place = () => location.pathname + location.search;
let shown = place();

/** What has the focus, so that it can be found again in the new content. */
function held(main) {
  const at = document.activeElement;
  if (!main.contains(at)) return undefined;
  if (at.name === "name") return (fresh) => fresh.querySelector(".quick input[type=search]");
  const column = at.closest("th");
  const index = column && [...column.parentElement.children].indexOf(column);
  return column ? (fresh) => fresh.querySelectorAll("thead th")[index]?.querySelector("a.sort") : undefined;
}

/** Shows the page at an address here; the browser loads it as usual when that does not work. */
async function show(address, also) {
  asking?.abort();
  const mine = (asking = new AbortController());
  const main = document.querySelector("main");
  main.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { headers: { accept: "text/html" }, signal: mine.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("main");
    if (!answer.ok || answer.redirected || !fresh?.querySelector(".quick")) return location.assign(address);
    also?.();
    shown = place();
    const find = held(main);
    const caret = document.activeElement?.selectionEnd;
    document.title = page.title;
    main.replaceWith(document.adoptNode(fresh));
    const field = find?.(fresh);
    field?.focus();
    if (field?.type === "search") field.setSelectionRange(caret, caret);
    return document.dispatchEvent(new Event("swapped"));
  } catch (error) {
    return error.name === "AbortError" ? undefined : location.assign(address);
  }
}

function go(address) {
  remember();
  return show(address, () => {
    history.pushState({ swapped: true }, "", address);
    scrollTo(0, 0);
  });
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
  address.search = new URLSearchParams(new FormData(event.target));
  go(address.href);
});

addEventListener("popstate", () => {
  if (place() !== shown) show(location.href);
});
