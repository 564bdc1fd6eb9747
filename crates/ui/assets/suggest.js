// The search box of every page suggests while one types: a search for the text, the same search in the place that the page
// shows, recent and saved searches, items by name and people. Nothing is chosen until an arrow key chooses it, so Enter searches as it
// does without script. On the page of results, these follow the text themselves, and the box offers recent searches only.
import { fetchSuggestions, icon, linkOption, option, optionGroup, peopleOptions, recentOption, savedOptions, searchOptions } from "./options.js";
import { clear, forget, recent, remember } from "./recent.js";

/** Milliseconds without typing after which suggestions are requested. */
const WAIT = 120;
/** Limit on the items that are shown. */
const MOST_ITEMS = 7;
/** Limits on the recent searches that are shown, in an empty box and beside a text. */
const MOST_RECENT = 8;
const MOST_RECENT_BESIDE_TEXT = 3;

const store = document.getElementById("suggestions");
const fields = store ? [...document.querySelectorAll("form.search[role=search] input[name=q]")] : [];
const isOnResults = Boolean(document.getElementById("results"));
let asking;

const listOf = (field) => document.getElementById(field.getAttribute("aria-controls"));
const optionsOf = (field) => [...listOf(field).querySelectorAll("[role=option]")];
const chosenIn = (field) => listOf(field).querySelector("[aria-selected]");
const isOpen = (field) => !listOf(field).hidden;

function close(field) {
  asking?.abort();
  const list = listOf(field);
  list.hidden = true;
  list.replaceChildren();
  field.setAttribute("aria-expanded", "false");
  field.removeAttribute("aria-activedescendant");
}

function choose(field, option) {
  chosenIn(field)?.removeAttribute("aria-selected");
  if (!option) return field.removeAttribute("aria-activedescendant");
  option.setAttribute("aria-selected", "true");
  field.setAttribute("aria-activedescendant", option.id);
  return option.scrollIntoView({ block: "nearest" });
}

function removableOption(field, text) {
  const recentSearch = recentOption(text);
  recentSearch.dataset.recent = text;
  const cross = Object.assign(document.createElement("span"), { className: "forget", title: store.dataset.remove });
  cross.setAttribute("aria-hidden", "true");
  cross.append(icon("x").querySelector("svg").cloneNode(true));
  cross.addEventListener("click", (event) => {
    event.stopPropagation();
    remove(field, recentSearch);
  });
  recentSearch.append(cross);
  return recentSearch;
}

function recents(field, text) {
  const wanted = text.toLocaleLowerCase();
  const fits = (other) => other.toLocaleLowerCase().includes(wanted) && other.toLocaleLowerCase() !== wanted;
  const found = recent().filter(fits).slice(0, text ? MOST_RECENT_BESIDE_TEXT : MOST_RECENT).map((other) => removableOption(field, other));
  if (text || !found.length) return found;
  const all = option(icon("trash"), [store.dataset.clear], "", () => {
    clear();
    refresh(field);
  });
  return [...found, all];
}

function remove(field, option) {
  const at = optionsOf(field).indexOf(option);
  forget(option.dataset.recent);
  refresh(field).catch(() => {});
  if (isOpen(field)) choose(field, optionsOf(field)[at]);
}

function show(field, groups, found) {
  const list = listOf(field);
  const chosen = chosenIn(field)?.id;
  const parts = (some) => some.filter(([, options]) => options.length).map(([title, options]) => optionGroup(title, options));
  const foundParts = found ? parts(found) : [];
  for (const part of foundParts) part.dataset.found = "";
  // Keeps earlier results until the next answer, so that the list does not flicker.
  const kept = !found && field.value.trim() ? list.querySelectorAll("[data-found]") : [];
  list.replaceChildren(...parts(groups), ...foundParts, ...kept);
  optionsOf(field).forEach((option, at) => { option.id = `${list.id}-${at}`; });
  list.hidden = !list.childElementCount;
  field.setAttribute("aria-expanded", String(!list.hidden));
  choose(field, chosen && document.getElementById(chosen));
}

/** Shows what is known at once, then what the server finds. */
async function refresh(field) {
  asking?.abort();
  const text = field.value.trim();
  if (isOnResults && text) return close(field);
  const mine = (asking = new AbortController());
  const { title, recent: before, items, people, saved } = store.dataset;
  const own = () => [[title, text ? searchOptions(text) : []], [before, recents(field, text)]];
  show(field, own());
  if (!text) return undefined;
  await new Promise((resolve) => { setTimeout(resolve, WAIT); });
  if (mine.signal.aborted) return undefined;
  const found = await fetchSuggestions(text, mine.signal);
  if (mine.signal.aborted || !isOpen(field)) return undefined;
  const named = found.items.slice(0, MOST_ITEMS).map((link) => linkOption(link, link.querySelector("small").textContent));
  return show(field, own(), [[saved, savedOptions(found)], [items, named], [people, peopleOptions(found)]]);
}

const update = (field) => refresh(field).catch(() => {});

function move(field, by) {
  const options = optionsOf(field);
  const at = options.indexOf(chosenIn(field)) + by;
  // Before the first and after the last is the text itself.
  choose(field, by < 0 && at === -2 ? options.at(-1) : options[at]);
}

function pressed(event) {
  const field = event.target;
  if (event.isComposing || event.altKey) return;
  const open = isOpen(field);
  if (event.key === "ArrowDown" && open) move(field, 1);
  else if (event.key === "ArrowUp" && open) move(field, -1);
  else if (event.key === "ArrowDown" && !(isOnResults && field.value.trim())) update(field);
  else if (event.key === "Enter" && open && chosenIn(field)) {
    chosenIn(field).dispatchEvent(new MouseEvent("click", { ctrlKey: event.ctrlKey, metaKey: event.metaKey }));
  } else if (event.key === "Escape" && open) close(field);
  else if (event.key === "Delete" && open && chosenIn(field)?.dataset.recent) remove(field, chosenIn(field));
  else return;
  event.preventDefault();
}

fields.forEach((field, at) => {
  const list = Object.assign(document.createElement("div"), { className: "suggestions", id: `suggestions-${at}`, hidden: true });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", store.dataset.title);
  // The focus stays in the box.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  field.form.append(list);
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-haspopup", "listbox"], ["aria-expanded", "false"], ["aria-controls", list.id]]) {
    field.setAttribute(name, value);
  }
  field.addEventListener("input", () => update(field));
  field.addEventListener("keydown", pressed);
  const offer = () => { if (!field.value.trim() && !isOpen(field)) update(field); };
  field.addEventListener("focus", offer);
  field.addEventListener("click", offer);
  field.addEventListener("blur", () => close(field));
  field.form.addEventListener("submit", () => remember(field.value));
});
