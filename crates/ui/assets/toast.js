// Notes about what was done: closed by their button, or after a while; one that offers an undo stays longer.

function watch(toast) {
  const button = toast.querySelector("[data-close-toast]");
  if (button) button.hidden = false;
  button?.addEventListener("click", () => toast.remove());
  // What failed stays until somebody has read it.
  if (toast.hasAttribute("data-stays")) return;
  const seconds = toast.querySelector("form, a") ? 15 : 6;
  let timer = setTimeout(() => toast.remove(), seconds * 1000);
  const hold = () => clearTimeout(timer);
  const release = () => { timer = setTimeout(() => toast.remove(), 4000); };
  toast.addEventListener("pointerenter", hold);
  toast.addEventListener("focusin", hold);
  toast.addEventListener("pointerleave", release);
  toast.addEventListener("focusout", release);
}

/** A button that closes a note. */
const closer = () => document.getElementById("close-toast").content.firstElementChild.cloneNode(true);

document.querySelectorAll("[data-toast]").forEach(watch);

const LATER = "strongroom-told";

/** Says something on the next page. With `stays`, until somebody closes it. */
export function tellLater(text, stays = false) {
  sessionStorage.setItem(LATER, JSON.stringify({ text, stays }));
}

/** Says something. With `stays`, until somebody closes it. */
export function tell(text, stays = false) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.append(Object.assign(document.createElement("span"), { textContent: text }));
  toast.toggleAttribute("data-stays", stays);
  if (stays) toast.append(closer());
  document.querySelector(".toasts").replaceChildren(toast);
  watch(toast);
}

/** Says that the server does not answer. */
export function unreachable() {
  tell(document.querySelector(".toasts").dataset.unreachable);
}

const told = sessionStorage.getItem(LATER);
if (told && document.querySelector(".toasts")) {
  sessionStorage.removeItem(LATER);
  const { text, stays } = JSON.parse(told);
  if (!document.querySelector("[data-toast]")) tell(text, stays);
}
