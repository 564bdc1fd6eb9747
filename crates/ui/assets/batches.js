// A large selection is sent in batches, with progress and a button that stops them. What was done until then stays done; the
// next page says how much that is, and has the rest selected.
import { chosen, keepSelected } from "./chosen.js";
import { openAt } from "./dialog.js";
import { tell, tellLater } from "./toast.js";
import { forget } from "./undo.js";

/** Items of one batch. */
const BATCH = 100;
/** Largest selection that is sent in one request. */
const AT_ONCE = 200;
/** Identifiers passed to the dialog that chooses a place; it needs only the first ones. */
const SAMPLE = 20;
const SENT = ["/selection/delete", "/selection/check-out", "/selection/check-in", "/selection/publish"];
const PLACED = ["/selection/move", "/selection/copy"];

const count = (number) => number.toLocaleString(document.documentElement.lang);
const fill = (text, ...values) => text.replace(/\{(\d)\}/g, (_, i) => values[i]);

/** Whether so many items are sent in batches. */
export const areMany = (ids) => ids.length > AT_ONCE;

/** Sends all items in batches and shows the page anew. `fields` are those of each request. Resolves to whether all was done. */
export async function sendAll(address, fields, ids) {
  const store = document.getElementById("batches");
  const say = store.dataset;
  const dialog = store.content.firstElementChild.cloneNode(true);
  const [bar, text] = [dialog.querySelector("progress"), dialog.querySelector("p")];
  bar.max = ids.length;
  let isStopped = false;
  dialog.querySelector("button").addEventListener("click", () => { isStopped = true; });
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    isStopped = true;
  });
  document.body.append(dialog);
  dialog.showModal();
  const warn = (event) => event.preventDefault();
  addEventListener("beforeunload", warn);
  let [at, done, failed, why] = [0, 0, 0, ""];
  while (at < ids.length && !isStopped) {
    text.textContent = fill(say.progress, count(at), count(ids.length));
    const batch = ids.slice(at, at + BATCH);
    const body = new URLSearchParams({ ...fields, ids: batch.join(), batch: "yes" });
    const answer = await fetch(address, { method: "POST", body, headers: { accept: "application/json" } }).catch(() => undefined);
    const outcome = await answer?.json().catch(() => undefined);
    if (!answer?.ok || answer.redirected || outcome?.done === undefined) {
      why ||= outcome?.detail ?? document.querySelector(".toasts").dataset.unreachable;
      isStopped = true;
    } else {
      done += outcome.done;
      failed += outcome.failed;
      why ||= outcome.first_error;
      at += batch.length;
      bar.value = at;
    }
  }
  removeEventListener("beforeunload", warn);
  forget();
  keepSelected(ids.slice(at));
  const words = fill(at < ids.length ? say.stopped : say.done, count(done), count(ids.length));
  tellLater([words, failed && fill(say.failed, count(failed)), why].filter(Boolean).join(" "), Boolean(failed || why));
  location.reload();
  return at >= ids.length && failed === 0;
}

/** Moves or copies all items to a place that the user picks. */
function place(form, action, ids) {
  const query = new URLSearchParams({ action, ids: ids.slice(0, SAMPLE).join(), count: ids.length, next: location.pathname + location.search });
  return openAt(`/place?${query}`, (event) => {
    const picked = event.target;
    if (picked.getAttribute("action") !== "/place" || event.submitter?.hasAttribute("formaction")) return false;
    const fields = Object.fromEntries(new FormData(picked, event.submitter));
    picked.closest("dialog").close();
    sendAll("/place", { ...fields, form_token: form.querySelector("[name=form_token]").value }, ids);
    return true;
  });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.(".selection button[formaction]");
  if (!button?.form || event.button) return;
  const ids = chosen(button.form);
  if (!areMany(ids)) return;
  event.preventDefault();
  event.stopPropagation();
  const action = button.getAttribute("formaction");
  const token = button.form.querySelector("[name=form_token]").value;
  if (SENT.includes(action)) sendAll(action, { form_token: token }, ids);
  else if (PLACED.includes(action)) place(button.form, action.split("/").pop(), ids);
  else tell(fill(document.getElementById("batches").dataset.tooMany, count(AT_ONCE)));
}, true);
