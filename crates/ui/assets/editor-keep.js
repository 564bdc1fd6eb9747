// Any editor of a text: what is typed is not lost, and Ctrl+S saves. Without scripts, the text can be written and saved.
const form = document.getElementById("page-form");
const editor = document.querySelector("[data-editor]");
const area = editor.querySelector("textarea");
const PAUSE = 400;
let timer;

const stored = area.defaultValue;
let sent = false;

// What is typed is kept in this window until it is saved: the session may end meanwhile, or the server may be away.
// Each account has its own, as somebody else may sign in next.
const place = `text:${form.dataset.user}:${form.action}`;
/** True if the form holds a text that the server refused, which is stored nowhere. */
const isRefused = form.dataset.fault !== undefined;
const kept = (() => {
  try {
    return JSON.parse(sessionStorage.getItem(place));
  } catch {
    return null;
  }
})();

function keep() {
  try {
    if (area.value === stored && !isRefused) sessionStorage.removeItem(place);
    else sessionStorage.setItem(place, JSON.stringify({ base: form.elements.base.value, text: area.value }));
  } catch {
    // Without room for it there is still the text in the page.
  }
}

if (kept && kept.text !== stored) {
  const note = document.querySelector("[data-kept]");
  note.hidden = false;
  note.querySelector("[data-kept-use]").addEventListener("click", () => {
    // Setting the value is faster than inserting the text as if it were typed.
    area.value = kept.text;
    area.dispatchEvent(new Event("input"));
    // Saving it then says so if somebody else has saved the page since.
    form.elements.base.value = kept.base;
    note.remove();
  });
  note.querySelector("[data-kept-drop]").addEventListener("click", () => {
    note.remove();
    keep();
    area.focus();
  });
}

area.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(keep, PAUSE);
});
// After a refusal, the text in the form is not the stored one.
const unsaved = () => !sent && (area.value !== stored || isRefused);
addEventListener("beforeunload", (event) => {
  if (unsaved()) event.preventDefault();
});
addEventListener("pageshow", () => { sent = false; });
form.addEventListener("submit", () => {
  clearTimeout(timer);
  sent = true;
  keep();
  // Which text the next page confirms.
  try {
    sessionStorage.setItem("sent-text", place);
  } catch {
    // The text stays kept, and is offered again.
  }
});
// What was refused is not what the server has.
if (isRefused) keep();
editor.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "s") return;
  event.preventDefault();
  form.requestSubmit(editor.querySelector("button[name=do][value=save]"));
});
