// Buttons marked `data-copy` put the text of another element on the clipboard, where the browser lets pages do that; those marked
// `data-copy-link` the whole of an address.
import { tell } from "./toast.js";

// Pages without TLS have no other way.
function copyPlainly(text) {
  const field = Object.assign(document.createElement("textarea"), { value: text, className: "unseen" });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy-link]");
  if (!button) return;
  const address = new URL(button.dataset.copyLink, location.href).href;
  if (navigator.clipboard) await navigator.clipboard.writeText(address).catch(() => copyPlainly(address));
  else copyPlainly(address);
  button.closest("[popover]")?.hidePopover();
  tell(button.dataset.done);
});

function start() {
  for (const button of document.querySelectorAll("[data-copy][hidden]")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.lastChild.textContent = button.dataset.done;
    });
  }
}

start();
document.addEventListener("swapped", start);
