// Ctrl+Z takes back the last acts of this tab for which a note has offered it, the latest first.
import { typing } from "./keys.js";

const STORE = "strongroom-undo";
const MOST = 10;

const read = () => JSON.parse(sessionStorage.getItem(STORE) ?? "[]");
const write = (acts) => sessionStorage.setItem(STORE, JSON.stringify(acts.slice(-MOST)));

const offered = document.querySelector(".toast form[action^='/undo']");
if (offered) {
  const act = { action: offered.getAttribute("action"), ids: offered.elements.ids.value };
  const known = read().filter((one) => one.ids !== act.ids || one.action !== act.action);
  write([...known, act]);
  offered.addEventListener("submit", () => write(known));
}

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "z") return;
  if (event.defaultPrevented || typing(event.target) || document.querySelector("dialog[open], .grid.alive")) return;
  const token = document.querySelector("main [name=form_token], .topbar [name=form_token]")?.value;
  const acts = read();
  const act = acts.pop();
  if (!act || !token) return;
  event.preventDefault();
  write(acts);
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action: act.action, hidden: true });
  const fields = { form_token: token, ids: act.ids, next: location.pathname + location.search };
  for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  document.body.append(form);
  form.submit();
});
