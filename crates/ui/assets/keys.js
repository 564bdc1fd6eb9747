// Keys that work on every page: Ctrl+K for the palette, / for the search box, ? for the list of keys.
import { close, open } from "./palette.js";

// A field of a dialog that was just closed keeps the focus for a moment: nobody types into it.
export function typing(element) {
  return element?.checkVisibility() && element.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
}

function help() {
  const store = document.getElementById("shortcuts");
  if (!store || document.querySelector("dialog[open]")) return false;
  const dialog = store.content.querySelector("dialog").cloneNode(true);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  // The button that closes it stands at the end, and has the focus.
  dialog.scrollTop = 0;
  return true;
}

function search() {
  const field = [...document.querySelectorAll("form.search input[name=q]")].find((one) => one.checkVisibility());
  if (!field) return open();
  field.select();
  field.focus();
  return true;
}

document.addEventListener("keydown", (event) => {
  let done = false;
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
    done = close() || open();
  } else if (!event.ctrlKey && !event.metaKey && !event.altKey && !typing(event.target)) {
    if (event.key === "?") done = help();
    else if (event.key === "/") done = search();
  }
  if (done) event.preventDefault();
});

for (const button of document.querySelectorAll("[data-palette]")) {
  button.hidden = false;
  button.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (open()) event.preventDefault();
  });
}
