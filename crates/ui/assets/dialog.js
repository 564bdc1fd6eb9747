// Links and buttons marked `data-dialog` lead to a page with a form; here the form is shown over the present page instead. What
// is refused is said there too: no page is left behind that the browser would have to send again on the way back. Links in
// what is marked `data-inside` change what the dialog shows.
import { launch } from "./live.js";
import { tell, unreachable } from "./toast.js";

async function parse(answer) {
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

function adopt(dialog, form) {
  const title = form.querySelector("h1");
  title.id = "dialog-title";
  dialog.replaceChildren(document.adoptNode(form));
  const field = form.querySelector("[aria-invalid=true]") ?? form.querySelector("input:not([type=hidden]), select, textarea, button");
  field?.focus();
  if (form.dataset.launch) launch(form.dataset.launch);
  return field;
}

async function send(dialog, form, button) {
  if (dialog.ariaBusy === "true") return;
  dialog.ariaBusy = "true";
  const fields = [...new FormData(form, button)].filter(([, value]) => typeof value === "string");
  const body = new URLSearchParams(fields);
  const headers = { accept: "text/html", "x-strongroom-dialog": "yes" };
  // A field can be called `action`, too.
  const action = button?.getAttribute("formaction") ?? form.getAttribute("action");
  const answer = await fetch(action, { method: "POST", body, headers }).catch(() => undefined);
  dialog.ariaBusy = "false";
  if (!answer) return unreachable();
  if (answer.status === 204) return location.assign(answer.headers.get("location"));
  const page = await parse(answer);
  const fresh = page.getElementById("form");
  if (fresh) return adopt(dialog, fresh);
  // Refused for another reason, such as a session that ended: nothing was done, and the browser shows what there is to do.
  if (answer.status >= 400 && answer.status < 500) {
    form.setAttribute("action", action);
    return form.submit();
  }
  // Done, or nobody knows: sent again it might be done twice. What the answer says stands in the place of the page, such as a
  // secret that is shown once.
  document.querySelector("main").replaceWith(document.adoptNode(page.querySelector("main")));
  document.title = page.title;
  dialog.close();
  return document.dispatchEvent(new Event("swapped"));
}

function hasFiles(form) {
  return [...form.querySelectorAll("input[type=file]")].some((input) => input.files.length > 0);
}

/** Shows the form of another page in the dialog. Until it is there, nothing else is done. */
async function show(dialog, address) {
  if (dialog.ariaBusy === "true") return;
  dialog.ariaBusy = "true";
  const answer = await fetch(address, { headers: { accept: "text/html" } }).finally(() => { dialog.ariaBusy = "false"; });
  const form = (await parse(answer)).getElementById("form");
  if (!answer.ok || !form) {
    location.href = address;
    return;
  }
  adopt(dialog, form);
  // Who walks on by keyboard goes on from here, and hears where that is.
  form.querySelector("[data-inside][tabindex]")?.focus();
}

/** What a link leads to, or a button of a form. */
function ask(source) {
  const headers = { accept: "text/html" };
  if (source.matches("a")) return fetch(source.href, { headers });
  return fetch(source.formAction, { method: "POST", body: new URLSearchParams(new FormData(source.form, source)), headers });
}

/** Makes a dialog with a form. Returns the field that has the focus. A submission for which `handled` returns true is not sent. */
function begin(form, handled = () => false) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "dialog-title");
  dialog.addEventListener("submit", (event) => {
    // Files are sent by the browser.
    if (event.defaultPrevented || hasFiles(event.target)) return;
    event.preventDefault();
    if (!handled(event)) send(dialog, event.target, event.submitter);
  });
  // Enter in a field presses the button beside it, and not the first one of the form.
  dialog.addEventListener("keydown", (event) => {
    const button = event.key === "Enter" && !event.isComposing && event.target.matches("input") && event.target.closest("[data-enter]")?.querySelector("button");
    if (!button) return;
    event.preventDefault();
    button.click();
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    const cancelled = event.target.closest("[data-cancel]");
    if (cancelled) event.preventDefault();
    if (cancelled || event.target === dialog) dialog.close();
    const inside = !cancelled && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.target.closest("[data-inside] a");
    if (!inside) return;
    event.preventDefault();
    show(dialog, inside.href).catch(unreachable);
  });
  document.body.append(dialog);
  dialog.showModal();
  return adopt(dialog, form);
}

/** Shows the form of a page in a dialog. A submission for which `handled` returns true is not sent. */
export async function openAt(address, handled) {
  const answer = await fetch(address, { headers: { accept: "text/html" } }).catch(() => undefined);
  if (!answer) return unreachable();
  const page = await parse(answer);
  const form = page.getElementById("form");
  if (answer.ok && form) return begin(form, handled);
  return tell(page.querySelector("main .note p, main p")?.textContent ?? `${answer.status}`);
}

async function open(source) {
  const answer = await ask(source);
  const form = (await parse(answer)).getElementById("form");
  if (!answer.ok || !form) return leave(source);
  const first = begin(form);
  if (first?.type === "text") selectStem(first);
  return undefined;
}

/** Does what a form would do that nobody has to fill in, and returns whether it was done. If it is refused, the form says why. */
export async function carry(address, fields) {
  const headers = { accept: "text/html", "x-strongroom-dialog": "yes" };
  const answer = await fetch(address, { method: "POST", body: new URLSearchParams(fields), headers }).catch(() => undefined);
  if (!answer) {
    unreachable();
    return false;
  }
  if (answer.status === 204) {
    location.assign(answer.headers.get("location"));
    return true;
  }
  const page = await parse(answer);
  const form = page.getElementById("form");
  if (form) begin(form);
  else tell(page.querySelector("main .note p, main p")?.textContent ?? `${answer.status}`);
  return false;
}

/** Goes to the page, as without script. */
function leave(source) {
  if (source.matches("a")) {
    location.href = source.href;
    return;
  }
  source.removeAttribute("data-dialog");
  source.click();
}

// A new name usually keeps its extension.
function selectStem(field) {
  const dot = field.value.lastIndexOf(".");
  field.setSelectionRange(0, dot > 0 ? dot : field.value.length);
}

document.addEventListener("click", (event) => {
  const source = event.target.closest("a[data-dialog], button[data-dialog]");
  if (!source || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open(source).catch(() => leave(source));
});
