// Options of lists that offer matches for a typed text: in the search box and in the palette.
import { remember } from "./recent.js";

const store = document.getElementById("suggestions");

/** An element that holds an icon. */
export const icon = (name) => store.content.querySelector(`[data-icon=${name}]`);

/** An option with the icon of another element. */
export function option(source, text, hint, run) {
  const element = document.createElement("div");
  element.setAttribute("role", "option");
  const picture = source.querySelector("svg");
  if (picture) element.append(picture.cloneNode(true));
  const label = document.createElement("span");
  label.append(...text);
  element.append(label);
  if (hint) element.append(Object.assign(document.createElement("small"), { textContent: hint }));
  element.addEventListener("click", (event) => run(event));
  return element;
}

/** Opens an address, with Ctrl in another tab. */
function openAddress(address, event) {
  if (event.ctrlKey || event.metaKey) window.open(address, "_blank", "noopener");
  else location.href = address;
}

/** An option that leads where a link does. */
export function linkOption(link, hint) {
  const label = link.querySelector("span");
  const text = label ? [...label.cloneNode(true).childNodes] : [link.textContent.trim()];
  return option(link, text, hint, (event) => openAddress(link.href, event));
}

/** Options under a title. */
export function optionGroup(title, options) {
  const part = document.createElement("div");
  part.setAttribute("role", "group");
  part.setAttribute("aria-label", title);
  const head = Object.assign(document.createElement("div"), { className: "title", textContent: title });
  head.setAttribute("aria-hidden", "true");
  part.append(head, ...options);
  return part;
}

/** A text with values in place of {0} and {1}. */
const fill = (text, ...values) => text.replace(/\{(\d)\}/g, (_, at) => values[at]);

/**
 * Links to items by name, to the documents of people and to saved searches, and a message about what could not be
 * searched; `failed` if nothing could be.
 */
export async function fetchSuggestions(text, signal) {
  const answer = await fetch(`/search?part=yes&q=${encodeURIComponent(text)}`, { headers: { accept: "text/html" }, signal });
  if (!answer.ok || answer.redirected) return { items: [], people: [], saved: [], lacks: "", failed: true };
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const links = (list) => [...page.querySelectorAll(`${list} li a`)].map((link) => document.adoptNode(link));
  const lacks = page.querySelector("p")?.textContent ?? "";
  return { items: links("[data-items]"), people: links("[data-people]"), saved: links("[data-saved]"), lacks };
}

/** Opens the results of a search, and keeps it among the recent ones. */
function openSearch(text, event) {
  remember(text);
  openAddress(`/search?q=${encodeURIComponent(text)}`, event);
}

/** The query for a text in the place of the page. */
function inPlace(text) {
  const marks = text.match(/["“”„«»]/g) ?? [];
  const closed = marks.length % 2 ? `${text}"` : text;
  return `${/(^|\s)(OR|ODER|\|\|?)(\s|$)/.test(text) ? `(${closed})` : closed} ${store.dataset.filter}`;
}

/** Searches for a text: everywhere, and in the place that the page shows. */
export function searchOptions(text) {
  const { search: everywhere, within, place } = store.dataset;
  const found = [option(icon("search"), [fill(everywhere, text)], "", (event) => openSearch(text, event))];
  if (place) found.push(option(icon("search"), [fill(within, text, place)], "", (event) => openSearch(inPlace(text), event)));
  return found;
}

/** A search that was made before. */
export const recentOption = (text) => option(icon("clock"), [text], "", (event) => openSearch(text, event));

/** Searches for the documents of the people who were found. */
export const peopleOptions = (found) => found.people.map((link) => {
  const query = link.querySelector("small").textContent;
  return option(icon("user"), link.querySelector("span").childNodes, query, (event) => openSearch(query, event));
});

/** Saved searches that were found. */
export const savedOptions = (found) => found.saved.map((link) => {
  const hint = link.querySelector("small").textContent;
  return option(icon("search"), link.querySelector("span").childNodes, hint, (event) => openAddress(link.href, event));
});
