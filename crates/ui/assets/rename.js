// A name is changed where it stands: Enter saves, Escape leaves. Who was overtaken by somebody else is told, and loses nothing.
import { forget } from "./undo.js";

async function parse(answer) {
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

const kindOf = (name) => (name.includes(".") ? name.split(".").pop().toLowerCase() : "");

/** Another extension is another kind of document: the picture of its own page stands for it here too. */
async function redraw(row) {
  const page = await parse(await fetch(`/items/${row.dataset.id}`, { headers: { accept: "text/html" } }));
  const fresh = page.querySelector("main .title > :first-child");
  if (fresh) row.querySelector(".item > :first-child").replaceWith(document.adoptNode(fresh));
}

/** The labels of the row name it anew. */
function relabel(row, before, now) {
  const box = row.querySelector(".pick input");
  box?.setAttribute("aria-label", box.getAttribute("aria-label").replace(before, () => now));
  for (const label of row.querySelectorAll(".act .unseen")) label.textContent = label.textContent.replace(before, () => now);
}

export function rename(row) {
  const link = row.querySelector(".item > a");
  if (!row.dataset.can.split(" ").includes("edit") || row.querySelector(".cell-editor")) return;
  const address = `/items/${row.dataset.id}/rename`;
  const value = (name, from) => from?.querySelector(`[name=${name}]`)?.value ?? "";
  const editor = document.createElement("div");
  editor.className = "cell-editor";
  const field = document.createElement("input");
  Object.assign(field, { className: "input", value: link.textContent, autocomplete: "off", dir: "auto" });
  const fault = document.createElement("p");
  fault.className = "fault";
  fault.setAttribute("role", "alert");
  editor.append(field, fault);
  link.replaceWith(editor);
  let before = link.textContent;
  let was = before;
  let token = "";
  const select = () => {
    const dot = field.value.lastIndexOf(".");
    field.setSelectionRange(0, dot > 0 ? dot : field.value.length);
  };
  // One types at once; what the form says of the name comes meanwhile.
  const load = async () => {
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    const page = await parse(answer);
    const form = answer.ok && page.getElementById("form");
    if (!form) throw new Error(page.querySelector("main .note p, main p")?.textContent ?? `${answer.status}`);
    token = value("form_token", form);
    field.setAttribute("aria-label", form.querySelector(".field label").textContent);
    // Renamed elsewhere since the listing was shown: whoever has typed already is told when it is saved. Characters that
    // turn the direction of text are shown replaced, and are no other name.
    const isUntouched = field.value === before;
    if (isUntouched || before.includes("\ufffd")) was = value("was", form);
    if (!isUntouched || value("name", form) === before) return;
    before = value("name", form);
    field.value = before;
    select();
  };
  let loading;
  const loaded = () => (loading ??= load().catch((error) => {
    loading = undefined;
    throw error;
  }));
  // The name that is shown is not the real one: until that is there, nothing is typed.
  field.readOnly = before.includes("\ufffd");
  loaded().catch(() => {}).finally(() => { field.readOnly = false; });
  const close = () => {
    editor.replaceWith(link);
    row.focus();
  };
  const refuse = (text) => {
    fault.textContent = text;
    field.setAttribute("aria-invalid", "true");
    field.disabled = false;
    if (editor.isConnected) field.focus();
  };
  const offline = document.getElementById("upload-queue")?.dataset.offline;
  const save = async (again) => {
    field.disabled = true;
    try {
      await loaded();
    } catch (error) {
      // Without an answer, the browser throws a TypeError.
      return refuse(error instanceof TypeError ? offline : error.message);
    }
    if (!editor.isConnected) return undefined;
    const body = new URLSearchParams({ form_token: token, name: field.value, was, next: "/" });
    const stored = await fetch(address, { method: "POST", body, redirect: "manual", headers: { accept: "application/problem+json" } }).catch(() => undefined);
    if (!stored) return refuse(offline);
    if (stored.type === "opaqueredirect") {
      // Characters that turn the direction of text are shown as on every page.
      link.textContent = field.value.trim().replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
      link.href = `/items/${row.dataset.id}/open`;
      relabel(row, before, field.value.trim());
      forget();
      if (kindOf(before) !== kindOf(field.value.trim())) redraw(row).catch(() => {});
      return close();
    }
    if (stored.status === 401) return refuse((await stored.json()).detail);
    // The session is another one: at once again.
    const newer = stored.status === 403 && value("form_token", await parse(await fetch(address)));
    if (newer && newer !== token && !again) {
      token = newer;
      return save(true);
    }
    const page = await parse(stored);
    was = value("was", page) || was;
    return refuse(page.querySelector(".note p")?.textContent ?? page.querySelector("main p")?.textContent ?? `${stored.status}`);
  };
  editor.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && !event.isComposing) save(false).catch((error) => refuse(String(error.message ?? error)));
    else return;
    event.preventDefault();
  });
  field.focus();
  select();
}
