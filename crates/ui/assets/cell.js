// Values in a listing are edited where they stand: the field comes from the page that the value links to. Enter saves, and
// so does choosing an option or leaving the cell. Escape cancels. Without script the link leads to that page.
import { tell } from "./toast.js";
import { forget } from "./undo.js";

let open;
let followed = 0;
/** Limit on the characters of a body that a browser sends to its end after the page is left: 64 KiB, with some room. */
const MAX_KEEPALIVE = 60_000;

function leave() {
  open?.();
  open = undefined;
}

async function parse(answer) {
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/** Other cells may follow from the one that was changed: calculated values, totals, time and author. They are read again. */
async function follow(row) {
  followed += 1;
  const own = followed;
  const page = await parse(await fetch(location.href, { headers: { accept: "text/html" } }));
  // A later one knows more, and an edit under way is not disturbed.
  if (own !== followed || open || row.querySelector(".cell-editor")) return;
  const fresh = row.isConnected && page.querySelector(`[data-listing] tr[data-id="${row.dataset.id}"]`);
  if (!fresh) return;
  const [old, cells] = [[...row.cells], [...fresh.cells]];
  if (old.length !== cells.length) return;
  old.forEach((cell, at) => {
    if (!cell.matches(".pick, .act, .edited") && !cell.isEqualNode(cells[at])) cell.replaceWith(document.adoptNode(cells[at]));
  });
  const [foot, now] = [row.closest("table").tFoot, page.querySelector("[data-listing] tfoot")];
  if (foot && now) foot.replaceWith(document.adoptNode(now));
}

/** Keeps columns as wide as they are while a field stands in one of them; returns what lets them go. */
function hold(table) {
  if (!table || matchMedia("(max-width: 48rem)").matches) return () => {};
  const columns = [...table.querySelectorAll("col")];
  const widths = [...table.querySelectorAll("thead th")].map((head) => `${head.getBoundingClientRect().width}px`);
  columns.forEach((column, i) => { column.style.width = widths[i]; });
  table.style.tableLayout = "fixed";
  return () => {
    table.style.tableLayout = "";
    for (const column of columns) column.style.width = "";
  };
}

async function edit(link) {
  leave();
  followed += 1;
  const cell = link.closest("td");
  const answer = await fetch(link.href, { headers: { accept: "text/html" } });
  const form = answer.ok && (await parse(answer)).getElementById("form");
  const field = form && form.querySelector(".field .input");
  if (!field) {
    location.href = link.href;
    return;
  }
  let token = form.querySelector("[name=form_token]").value;
  const was = form.querySelector("[name^=was-]");
  const name = field.name;
  const before = [...cell.childNodes];
  const editor = document.createElement("div");
  editor.className = "cell-editor";
  const fault = document.createElement("p");
  fault.className = "fault";
  fault.id = "cell-fault";
  fault.setAttribute("role", "alert");
  // The listing is a form itself, which must not send what is typed here.
  field.removeAttribute("name");
  field.setAttribute("aria-label", form.querySelector(".field label").textContent);
  field.id = "cell-field";
  const list = form.querySelector("datalist");
  if (list) field.setAttribute("list", (list.id = "cell-list"));
  const save = form.querySelector(".actions button");
  save.type = "button";
  const cancel = form.querySelector(".actions [data-cancel]");
  const row = document.createElement("div");
  row.className = "row";
  row.append(save, cancel);
  editor.append(document.adoptNode(field), ...(list ? [document.adoptNode(list)] : []), row, fault);
  const release = hold(cell.closest("table"));
  cell.replaceChildren(editor);
  cell.classList.add("edited");

  let done = false;
  const close = (content) => {
    // The browser tells that the field loses the focus when it is taken away.
    done = true;
    release();
    cell.classList.remove("edited");
    cell.replaceChildren(...content);
    // Not away from another cell that is edited by now.
    if (!open || open === restore) cell.querySelector("[data-cell]")?.focus();
  };
  const restore = () => close(before);
  open = restore;
  const refuse = (text) => {
    if (!editor.isConnected) {
      // The next cell is edited already, or the listing is another one.
      if (open || !cell.isConnected) return tell(`${text} (${field.value})`);
      cell.replaceChildren(editor);
      cell.classList.add("edited");
      open = restore;
      done = false;
    }
    fault.textContent = text;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", fault.id);
    field.disabled = false;
    field.focus();
    return undefined;
  };
  const offline = document.getElementById("upload-queue")?.dataset.offline;
  const store = async (again) => {
    const body = new URLSearchParams({ form_token: token, [name]: field.value, [was.name]: was.value });
    field.disabled = true;
    // Sent to its end even if the page is left meanwhile, unless it is too long for that.
    const keepalive = String(body).length < MAX_KEEPALIVE;
    const stored = await fetch(link.href, { method: "POST", body, keepalive, headers: { accept: "application/problem+json" } }).catch(() => undefined);
    if (!stored) return refuse(offline);
    if (stored.ok && !stored.redirected) {
      if (open === restore) open = undefined;
      forget();
      close([...(await parse(stored)).body.childNodes]);
      const line = cell.closest("tr");
      const focused = document.activeElement?.closest("td")?.cellIndex;
      await follow(line).catch(() => {});
      if (!document.activeElement || document.activeElement === document.body) line.cells[focused]?.querySelector("[data-cell]")?.focus();
      return undefined;
    }
    const problem = await stored.json().catch(() => ({}));
    // Somebody was faster: what they stored is what the next attempt replaces. Or the session is another one: then at once again.
    if (stored.status === 409 || stored.status === 403) {
      const fresh = await parse(await fetch(link.href, { headers: { accept: "text/html" } }));
      const newer = fresh.querySelector("#form [name=form_token]")?.value;
      if (stored.status === 409) was.value = fresh.querySelector(`[name="${was.name}"]`)?.value ?? was.value;
      else if (newer && newer !== token && !again) {
        token = newer;
        return store(true);
      }
    }
    return refuse(problem.detail ?? `${stored.status}`);
  };
  const first = field.value;
  const send = () => {
    if (done || field.disabled) return;
    store(false).catch((error) => refuse(String(error.message ?? error)));
  };
  field.addEventListener("input", () => field.removeAttribute("aria-invalid"));
  save.addEventListener("click", send);
  editor.addEventListener("focusout", (event) => {
    const stays = done || editor.contains(event.relatedTarget) || !document.hasFocus();
    if (!stays && editor.isConnected && field.value !== first && !field.hasAttribute("aria-invalid")) send();
  });
  // A browser that gives a link no focus takes it from the field before the click.
  cancel.addEventListener("pointerdown", () => {
    done = true;
    addEventListener("pointerup", () => { done = !editor.isConnected; }, { once: true });
  });
  cancel.addEventListener("click", (event) => {
    event.preventDefault();
    leave();
  });
  editor.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      leave();
    } else if (event.key === "Enter" && !event.isComposing && event.target === field && !(event.shiftKey && field.matches("textarea"))) {
      event.preventDefault();
      send();
    }
  });
  field.focus();
  field.select?.();
  if (!field.matches("select:not([multiple])")) return;
  // One click opens the choices, the next one chooses and saves. Where they cannot be opened, the keys of a closed field
  // change its value step by step, which must not be saved.
  try {
    field.showPicker();
    field.addEventListener("change", send);
  } catch {
    // The button saves.
  }
}

document.addEventListener("click", (event) => {
  // All of the cell is the target, also beside a short value.
  const beside = event.target.matches("td.cell") && !String(getSelection()) && event.target.querySelector("a[data-cell]");
  const link = beside || event.target.closest("a[data-cell]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  edit(link).catch(() => { location.href = link.href; });
});
