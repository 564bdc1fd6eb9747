// Any editor of a text: what is typed is not lost, and Ctrl+S saves. Without scripts, the text can be written and saved.
const form = document.getElementById("page-form");
const editor = document.querySelector("[data-editor]");
const area = editor.querySelector("textarea");
const PAUSE = 400;
let timer;

const stored = area.defaultValue;
let sent = false;

// What is typed is kept in this window until it is saved: the session may end meanwhile, or the server may be away.
const place = `page:${form.action}`;
const kept = (() => {
  try {
    return JSON.parse(sessionStorage.getItem(place));
  } catch {
    return null;
  }
})();

function keep() {
  try {
    if (area.value === stored) sessionStorage.removeItem(place);
    else sessionStorage.setItem(place, JSON.stringify({ base: form.elements.base.value, text: area.value }));
  } catch {
    // Without room for it there is still the text in the page.
  }
}

if (kept && kept.text !== stored) {
  const note = document.querySelector("[data-kept]");
  note.hidden = false;
  note.querySelector("[data-kept-use]").addEventListener("click", () => {
    // A browser takes long to type a long text.
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
const unsaved = () => !sent && (area.value !== stored || form.dataset.fault !== undefined);
addEventListener("beforeunload", (event) => {
  if (unsaved()) event.preventDefault();
});
addEventListener("pageshow", () => { sent = false; });
form.addEventListener("submit", () => {
  keep();
  sent = true;
});
editor.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "s") return;
  event.preventDefault();
  form.requestSubmit(editor.querySelector("button[name=do][value=save]"));
});
