// Ctrl+K opens a palette: what the page can do, where one can go, and what a search by name finds. Without script the
// search box of the page leads to the same results.
import { fetchSuggestions, linkOption, option, optionGroup, peopleOptions, recentOption, savedOptions, searchOptions } from "./options.js";
import { recent } from "./recent.js";

/** Number of recent searches that are offered. */
const MOST_RECENT = 3;
/** Milliseconds without typing after which suggestions are requested. */
const WAIT = 80;
/** Number of options by which Page Up and Page Down move. */
const PAGE = 8;

const store = document.getElementById("palette");
let dialog;
let asking;

// The links and buttons in the head of the page, also those of its menu.
function actions() {
  const found = document.querySelectorAll("main .head :is(a.button, button, .menu a)");
  return [...found]
    .filter((control) => !control.disabled && !control.hasAttribute("popovertarget") && control.textContent.trim())
    .map((control) => option(control, [control.textContent.trim()], "", () => {
      dialog.close();
      control.click();
    }));
}

function places() {
  const links = [...document.querySelectorAll(".sidebar .nav a"), ...store.content.querySelectorAll("ul a")];
  const seen = new Set();
  return links
    .filter((link) => !link.matches("[aria-current]") && !seen.has(link.href) && seen.add(link.href))
    .map((link) => linkOption(link, ""));
}

function matching(options, words) {
  return options.filter((option) => words.every((word) => option.textContent.toLocaleLowerCase().includes(word)));
}

const texts = document.getElementById("suggestions");

/** Items by name, then saved searches and people, below their titles. */
async function results(text, signal) {
  const found = await fetchSuggestions(text, signal);
  tell(found.lacks);
  const named = found.items.map((link) => linkOption(link, link.querySelector("small").textContent));
  return [[dialog.dataset.results, named], [texts.dataset.saved, savedOptions(found)], [texts.dataset.people, peopleOptions(found)]];
}

/** The search for words in texts, which stands last and is chosen only where nothing else fits. */
function inTexts(text) {
  const options = searchOptions(text);
  for (const option of options) option.dataset.last = "";
  return [texts.dataset.texts, options];
}

// Shows a message below the options, or hides it if it is empty: a part of the farm may be away.
function tell(message) {
  const none = dialog.querySelector(".none");
  none.textContent = message;
  none.hidden = !message;
}

function show(groups, waits) {
  const list = dialog.querySelector("[role=listbox]");
  list.replaceChildren();
  for (const [title, options] of groups) {
    if (!options.length) continue;
    const part = optionGroup(title, options);
    if (title === dialog.dataset.results) part.dataset.found = "";
    list.append(part);
  }
  const options = [...list.querySelectorAll("[role=option]")];
  options.forEach((option, index) => { option.id = `palette-${index}`; });
  dialog.toggleAttribute("data-waits", waits);
  list.hidden = options.length === 0;
  choose(options.find((option) => !waits || !option.hasAttribute("data-last")));
}

function choose(option) {
  dialog.querySelector("[aria-selected=true]")?.removeAttribute("aria-selected");
  const field = dialog.querySelector("input");
  if (!option) return field.removeAttribute("aria-activedescendant");
  option.setAttribute("aria-selected", "true");
  field.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

// Shows actions, places and matches of the earlier answer at once, and further matches when the answer comes. Enter never
// takes an option that does not fit the typed text.
function refresh() {
  asking?.abort();
  const text = dialog.querySelector("input").value.trim();
  const words = text.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const own = [
    [dialog.dataset.actions, matching(actions(), words)],
    [texts.dataset.recent, words.length ? [] : recent().slice(0, MOST_RECENT).map(recentOption)],
    [dialog.dataset.places, matching(places(), words)],
  ];
  const earlier = words.length ? matching([...dialog.querySelectorAll("[data-found] > [role=option]")], words) : [];
  const waits = words.length > 0;
  if (!waits) tell("");
  show([...own, [dialog.dataset.results, earlier], ...(waits ? [inTexts(text)] : [])], waits);
  if (!waits) return;
  asking = new AbortController();
  ask(text, asking.signal, own).catch(() => {});
}

async function ask(text, signal, own) {
  await new Promise((resolve) => { setTimeout(resolve, WAIT); });
  if (signal.aborted) return;
  const found = await results(text, signal).catch(() => []);
  if (signal.aborted) return;
  const chosen = dialog.querySelector("[aria-selected]")?.id;
  show([...own, ...found, inTexts(text)], false);
  choose(dialog.querySelector(`#${chosen}`) ?? dialog.querySelector("[role=option]"));
  if (dialog.dataset.enter) take({});
}

/** Opens what is chosen; when nothing is there yet, as soon as it comes. */
function take(event) {
  const option = dialog.querySelector("[aria-selected]");
  if (!option && dialog.hasAttribute("data-waits")) dialog.dataset.enter = "yes";
  else option?.dispatchEvent(new MouseEvent("click", { ctrlKey: event.ctrlKey, metaKey: event.metaKey }));
}

function move(key) {
  const options = [...dialog.querySelectorAll("[role=option]")];
  const at = options.findIndex((option) => option.getAttribute("aria-selected"));
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: Math.min(at + PAGE, options.length - 1), PageUp: Math.max(at - PAGE, 0) }[key];
  if (options.length) choose(options.at(next % options.length));
}

/** Opens the palette; false where there is none. */
export function open() {
  if (!store || document.querySelector("dialog[open]")) return false;
  dialog = store.content.querySelector("dialog").cloneNode(true);
  dialog.addEventListener("close", (event) => { asking?.abort(); event.target.remove(); });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.querySelector("input").addEventListener("input", () => {
    delete dialog.dataset.enter;
    refresh();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (["ArrowDown", "ArrowUp", "PageDown", "PageUp"].includes(event.key)) move(event.key);
    else if (event.key === "Enter") take(event);
    else return;
    event.preventDefault();
  });
  document.body.append(dialog);
  dialog.showModal();
  refresh();
  return true;
}

/** Closes it, if it is open. */
export function close() {
  if (!dialog?.open) return false;
  dialog.close();
  return true;
}
