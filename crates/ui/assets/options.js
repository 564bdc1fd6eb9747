// Entries of lists that offer what fits a typed text: in the search box and in the palette.
import { remember } from "./recent.js";

const store = document.getElementById("suggestions");

/** An element that holds an icon. */
export const icon = (name) => store.content.querySelector(`[data-icon=${name}]`);

/** An entry with the icon of another element. */
export function entry(source, text, hint, run) {
  const option = document.createElement("div");
  option.setAttribute("role", "option");
  const icon = source.querySelector("svg");
  if (icon) option.append(icon.cloneNode(true));
  const label = document.createElement("span");
  label.append(...text);
  option.append(label);
  if (hint) option.append(Object.assign(document.createElement("small"), { textContent: hint }));
  option.addEventListener("click", (event) => run(event));
  return option;
}

/** Opens an address, with Ctrl in another tab. */
function visit(address, event) {
  if (event.ctrlKey || event.metaKey) window.open(address, "_blank", "noopener");
  else location.href = address;
}

/** An entry that leads where a link does. */
export function goTo(link, hint) {
  const label = link.querySelector("span");
  const text = label ? [...label.cloneNode(true).childNodes] : [link.textContent.trim()];
  return entry(link, text, hint, (event) => visit(link.href, event));
}

/** Entries under a title. */
export function group(title, options) {
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

/** Links to items by name and to the documents of people, and a message about what could not be searched. */
export async function suggestions(text, signal) {
  const answer = await fetch(`/search?part=yes&q=${encodeURIComponent(text)}`, { headers: { accept: "text/html" }, signal });
  if (!answer.ok || answer.redirected) return { items: [], people: [], lacks: "" };
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const links = (list) => [...page.querySelectorAll(`${list} li a`)].map((link) => document.adoptNode(link));
  return { items: links("[data-items]"), people: links("[data-people]"), lacks: page.querySelector("p")?.textContent ?? "" };
}

/** Opens the results of a search, and keeps it among the recent ones. */
export function search(text, event) {
  remember(text);
  visit(`/search?q=${encodeURIComponent(text)}`, event);
}

/** The query for a text in the place of the page. */
function inPlace(text) {
  const marks = text.match(/["“”„«»]/g) ?? [];
  const closed = marks.length % 2 ? `${text}"` : text;
  return `${/(^|\s)(OR|ODER|\|\|?)(\s|$)/.test(text) ? `(${closed})` : closed} ${store.dataset.filter}`;
}

/** Searches for a text: everywhere, and in the place that the page shows. */
export function searches(text) {
  const { search: everywhere, within, place } = store.dataset;
  const found = [entry(icon("search"), [fill(everywhere, text)], "", (event) => search(text, event))];
  if (place) found.push(entry(icon("search"), [fill(within, text, place)], "", (event) => search(inPlace(text), event)));
  return found;
}

/** A search that was made before. */
export const earlier = (text) => entry(icon("clock"), [text], "", (event) => search(text, event));

/** Searches for the documents of the people who were found. */
export const people = (found) => found.people.map((link) => {
  const query = link.querySelector("small").textContent;
  return entry(icon("user"), link.querySelector("span").childNodes, query, (event) => search(query, event));
});
