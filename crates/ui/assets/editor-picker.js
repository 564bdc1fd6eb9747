// The picker of the editor: finds an item by name for a link or a picture, takes an address, or stores a picture beside
// the page.
import { fetchSuggestions, option } from "./options.js";

/** Milliseconds without typing after which items are looked for. */
const WAIT = 120;
/** Limit on the pictures that are offered. */
const MOST_PICTURES = 10;
/** Least characters of the beginning of a word that the search looks for. */
const LEAST_PREFIX = 3;

const template = document.getElementById("picker");
const { folder, site } = template.dataset;

/** A part of an address in Markdown, where parentheses end a link. */
const encoded = (text) => encodeURIComponent(text).replace(/[()]/g, (sign) => (sign === "(" ? "%28" : "%29"));

/**
 * The address of an item for a page in the folder: within its site from there, so that it leads to the same item of a
 * copy of the site.
 */
function addressOf(path) {
  if (site && path !== site && !path.startsWith(`${site}/`)) return ["/browse", ...path.split("/").map(encoded)].join("/");
  const [from, to] = [folder.split("/"), path.split("/")];
  let common = 0;
  while (common < from.length && common < to.length && from[common] === to[common]) common += 1;
  return `${"../".repeat(from.length - common)}${to.slice(common).map(encoded).join("/")}` || ".";
}

const isAddress = (text) => /^(https?:\/\/|mailto:|\/|#)\S+$/.test(text);

/** Stores a file in the folder of the page, under a free name, and returns what a picture or link to it needs. */
export async function storeFile(file, signal) {
  const name = file.name || "picture.png";
  const place = folder.split("/").map(encodeURIComponent).join("/");
  const headers = file.type ? { "content-type": file.type } : {};
  const address = `/api/v1/content/${place}/${encodeURIComponent(name)}?on_conflict=keep-both`;
  const answer = await fetch(address, { method: "PUT", headers, body: file, signal });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.detail ?? template.dataset.failed);
  return { label: said.name, address: encoded(said.name), isPicture: file.type.startsWith("image/") };
}

/** Pictures by the words of their names, of which the last may be a beginning. */
async function findPictures(text, signal) {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const last = words.pop() ?? "";
  const ending = last.length >= LEAST_PREFIX ? `${last}*` : words.length ? "" : last;
  const wanted = [...words, ending].join(" ").trim();
  if (!wanted) return { items: [], lacks: "" };
  const query = encodeURIComponent(`${wanted} type:picture`);
  const answer = await fetch(`/api/v1/search?limit=${MOST_PICTURES}&q=${query}`, { signal });
  if (!answer.ok) return { items: [], lacks: "", failed: true };
  return { items: (await answer.json()).items, lacks: "" };
}

/** Lets a person choose; resolves with a label and an address, or with nothing. */
export function pick(isPicture, text) {
  const dialog = template.content.querySelector("dialog").cloneNode(true);
  const field = dialog.querySelector("input[type=text]");
  const file = dialog.querySelector("input[type=file]");
  const list = dialog.querySelector("[role=listbox]");
  const note = dialog.querySelector(".none");
  const words = isPicture ? dialog.dataset.picture : dialog.dataset.link;
  dialog.setAttribute("aria-label", words);
  field.setAttribute("aria-label", words);
  field.placeholder = isPicture ? dialog.dataset.pictureHint : dialog.dataset.linkHint;
  dialog.querySelector("[data-store]").hidden = !isPicture;
  let result;
  let asking;
  const storing = new AbortController();

  const tell = (message) => {
    note.textContent = message;
    note.hidden = !message;
  };
  const choose = (chosen) => {
    list.querySelector("[aria-selected]")?.removeAttribute("aria-selected");
    if (!chosen) return field.removeAttribute("aria-activedescendant");
    chosen.setAttribute("aria-selected", "true");
    field.setAttribute("aria-activedescendant", chosen.id);
    return chosen.scrollIntoView({ block: "nearest" });
  };
  const take = (taken) => {
    result = taken;
    dialog.close();
  };
  const show = (options) => {
    list.replaceChildren(...options);
    options.forEach((one, at) => { one.id = `picker-${at}`; });
    list.hidden = !options.length;
    field.setAttribute("aria-expanded", String(!list.hidden));
    choose(options[0]);
  };
  const ofAddress = (address) => option(dialog.querySelector("[data-icon=link]"), [address], "", () => take({ label: "", address }));
  const ofLink = (link) => {
    const name = link.querySelector("span").textContent;
    const address = decodeURIComponent(new URL(link.href).pathname).replace(/^\/browse\/?/, "");
    return option(link, [name], link.querySelector("small").textContent, () => take({ label: name, address: addressOf(address) }));
  };
  const ofPicture = ({ name, path }) => {
    const chosen = () => take({ label: name, address: addressOf(path) });
    return option(dialog.querySelector("[data-icon=picture]"), [name], path, chosen);
  };

  async function refresh() {
    asking?.abort();
    const wanted = field.value.trim();
    tell("");
    if (!wanted || isAddress(wanted)) return show(wanted ? [ofAddress(wanted)] : []);
    const mine = (asking = new AbortController());
    // Enter never takes an option that does not fit the typed text.
    show([]);
    await new Promise((resolve) => { setTimeout(resolve, WAIT); });
    if (mine.signal.aborted) return undefined;
    const found = await (isPicture ? findPictures : fetchSuggestions)(wanted, mine.signal);
    if (mine.signal.aborted) return undefined;
    if (found.failed) return tell(template.dataset.failed);
    tell(found.lacks || (found.items.length ? "" : dialog.dataset.none));
    return show(found.items.map(isPicture ? ofPicture : ofLink));
  }
  const update = () => refresh().catch((error) => { if (error.name !== "AbortError") tell(template.dataset.failed); });

  field.addEventListener("input", update);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("keydown", (event) => {
    if (event.isComposing || event.target !== field) return;
    const options = [...list.querySelectorAll("[role=option]")];
    const chosen = list.querySelector("[aria-selected]");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && options.length) choose(options.at((options.indexOf(chosen) + step) % options.length));
    else if (event.key === "Enter") chosen?.click();
    else return;
    event.preventDefault();
  });
  file.addEventListener("change", async () => {
    if (!file.files.length) return;
    tell(dialog.dataset.storing);
    try {
      take(await storeFile(file.files[0], storing.signal));
    } catch (error) {
      if (error.name !== "AbortError") tell(error.message);
    }
  });
  dialog.querySelector("[data-store] button").addEventListener("click", () => file.click());
  document.body.append(dialog);
  field.value = text;
  dialog.showModal();
  field.select();
  update();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      asking?.abort();
      storing.abort();
      dialog.remove();
      resolve(result);
    });
  });
}
