// Ctrl+Z in a listing takes back the last acts of this tab, the latest first, as long as a note has offered it for each of them.
import { typing } from "./keys.js";

const STORE = "strongroom-undo";
const MOST = 10;

const read = () => JSON.parse(sessionStorage.getItem(STORE) ?? "[]");
const write = (acts) => sessionStorage.setItem(STORE, JSON.stringify(acts.slice(-MOST)));

/** Forgets what could be taken back, because something was done since that cannot be. */
export function forget() {
  sessionStorage.removeItem(STORE);
}

const note = document.querySelector("[data-toast]");
const offered = note?.querySelector("form[action^='/undo']");
if (offered) {
  const act = { action: offered.getAttribute("action"), ids: offered.elements.ids.value };
  const known = read().filter((one) => one.ids !== act.ids || one.action !== act.action);
  write([...known, act]);
  offered.addEventListener("submit", () => write(known));
} else if (note && !note.hasAttribute("data-undone")) {
  forget();
}

document.addEventListener("submit", (event) => {
  if (event.target.getAttribute("action") === "/sign-out") forget();
});

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.repeat || event.key.toLowerCase() !== "z") return;
  if (event.defaultPrevented || typing(event.target) || document.querySelector("dialog[open], .grid.alive, .cell-editor")) return;
  const token = document.querySelector("form.drop-target [name=form_token]")?.value;
  const acts = read();
  const act = acts.pop();
  if (!act || !token) return;
  event.preventDefault();
  write(acts);
  const form = document.createElement("form");
  Object.assign(form, { method: "post", hidden: true });
  form.setAttribute("action", act.action);
  const fields = { form_token: token, ids: act.ids, next: location.pathname + location.search };
  for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  document.body.append(form);
  form.submit();
});
