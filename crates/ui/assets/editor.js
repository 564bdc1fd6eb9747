// The editor of pages: buttons and keys that write Markdown into the text, and a preview beside it. Without scripts, there are
// neither, but the text can be written and saved.
import "./editor-keep.js";
import { pick, storeFile } from "./editor-picker.js";

const form = document.getElementById("page-form");
const editor = document.querySelector("[data-editor]");
const area = editor.querySelector("textarea");
const bar = editor.querySelector(".editor-bar");
const seen = editor.querySelector("[data-seen]");
const PAUSE = 400;

/** Replaces a range of the text, so that the browser can undo it, and selects a part of what was put there. */
function put(from, to, text, select = [text.length, text.length]) {
  area.focus();
  area.setSelectionRange(from, to);
  // The only way to write that keeps the browser's own undo.
  if (!document.execCommand("insertText", false, text)) area.setRangeText(text, from, to, "end");
  area.setSelectionRange(from + select[0], from + select[1]);
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

/** The number of stars at the end of a text. */
const stars = (text) => /\**$/.exec(text)[0].length;

/** Puts signs around the selection, takes them away, or steps over those that end what was typed. */
function around(sign) {
  const { selectionStart: from, selectionEnd: to, value } = area;
  const inner = value.slice(from, to);
  const [before, after] = [value.slice(0, from), value.slice(to)];
  // Two stars are bold text, one is italic text, three are both.
  const fits = sign !== "*" || stars(before) % 2 === 1;
  const outer = before.endsWith(sign) && after.startsWith(sign) && fits;
  if (from === to && after.startsWith(sign) && !outer) area.setSelectionRange(to + sign.length, to + sign.length);
  else if (outer) put(from - sign.length, to + sign.length, inner, [0, inner.length]);
  else put(from, to, sign + inner + sign, [sign.length, sign.length + inner.length]);
}

const lineStart = (value, at) => (at === 0 ? 0 : value.lastIndexOf("\n", at - 1) + 1);

/** Puts a sign before each line of the selection, or takes it away if all have it. */
function before(sign) {
  const { selectionStart, selectionEnd, value } = area;
  const from = lineStart(value, selectionStart);
  const end = value.indexOf("\n", selectionEnd);
  const to = end < 0 ? value.length : end;
  const lines = value.slice(from, to).split("\n");
  const signs = lines.map((_, at) => (sign === "1. " ? `${at + 1}. ` : sign));
  const marked = lines.every((line, at) => line.startsWith(signs[at]));
  const text = lines.map((line, at) => (marked ? line.slice(signs[at].length) : signs[at] + line)).join("\n");
  put(from, to, text, lines.length > 1 ? [0, text.length] : [text.length, text.length]);
}

/** Puts a block between lines of its own, and selects what `wanted` finds in it; the end of the block if it finds nothing. */
function block(text, wanted) {
  const { selectionEnd, value } = area;
  const end = value.indexOf("\n", selectionEnd);
  const at = end < 0 ? value.length : end;
  const ahead = at === 0 ? "" : value.slice(0, at).endsWith("\n") ? "\n" : "\n\n";
  const found = wanted.exec(text);
  const [from, to] = found ? [found.index, found.index + found[0].length] : [text.length, text.length];
  put(at, at, `${ahead}${text}\n`, [ahead.length + from, ahead.length + to]);
}

/** A text that Markdown takes as it is between brackets. */
const plain = (text) => text.replace(/[\\[\]]/g, "\\$&");

/** Puts a link or picture in place of a range, and the cursor where its label is to be written if it has none. */
function insertLink(from, to, isPicture, label, address) {
  const opening = isPicture ? "![" : "[";
  const text = `${opening}${label}](${address})`;
  put(from, to, text, label ? [text.length, text.length] : [opening.length, opening.length]);
}

/** Makes the selection a link or picture: an address becomes its target, another text its label. */
async function link(isPicture) {
  const { selectionStart: from, selectionEnd: to, value } = area;
  const inner = value.slice(from, to);
  if (/^(https?:\/\/|\/)\S+$/.test(inner)) return insertLink(from, to, isPicture, "", inner);
  const picked = await pick(isPicture, inner.includes("\n") ? "" : inner);
  if (picked) return insertLink(from, to, isPicture, inner || plain(picked.label), picked.address);
  area.focus();
  return area.setSelectionRange(from, to);
}

/** Stores dropped or pasted files beside the page, and puts pictures of them and links to them where the cursor is. */
async function storeFiles(files) {
  showRefusal("");
  for (const file of files) {
    const mark = `…${file.name}…`;
    put(area.selectionEnd, area.selectionEnd, mark);
    let text = "";
    try {
      const { label, address, isPicture } = await storeFile(file);
      text = `${isPicture ? "!" : ""}[${plain(label)}](${address})`;
    } catch (error) {
      showRefusal(error.message);
    }
    // What was typed meanwhile may have moved the mark, and goes on where it is.
    const at = area.value.indexOf(mark);
    const typing = area.selectionEnd;
    if (at < 0) continue;
    put(at, at + mark.length, text);
    if (typing !== at + mark.length) {
      const moved = typing > at ? typing + text.length - mark.length : typing;
      area.setSelectionRange(moved, moved);
    }
  }
}

/** Shows below the text why a file was not stored; nothing for an empty message. */
function showRefusal(message) {
  const line = editor.querySelector("[data-refused]");
  line.textContent = message;
  line.hidden = !message;
}

const tools = {
  bold: () => around("**"),
  italic: () => around("*"),
  code: () => around("`"),
  heading: () => before("## "),
  quote: () => before("> "),
  list: () => before("- "),
  numbers: () => before("1. "),
  link: () => link(false),
  picture: () => link(true),
  table: () => block("|   |   |\n|---|---|\n|   |   |", / (?=\|)/),
  see: () => show(seen.hidden),
};

function show(shown) {
  seen.hidden = !shown;
  bar.querySelector("[data-do=see]").setAttribute("aria-pressed", String(shown));
  if (shown) draw();
}

// The preview is asked for when typing pauses, one at a time.
let timer;
let drawing = false;
let again = false;
let drawn;

async function draw() {
  if (seen.hidden) return;
  if (drawing) {
    again = true;
    return;
  }
  const text = area.value;
  if (text === drawn) return;
  drawing = true;
  try {
    const body = new URLSearchParams({ form_token: form.elements.form_token.value, text });
    const answer = await fetch(form.dataset.preview, { method: "POST", body });
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    const scroll = seen.scrollTop;
    seen.innerHTML = await answer.text();
    seen.scrollTop = scroll;
    drawn = text;
  } catch {
    drawn = undefined;
    const note = document.createElement("p");
    note.className = "soft";
    note.textContent = form.dataset.noPreview;
    seen.replaceChildren(note);
  } finally {
    drawing = false;
  }
  if (again) {
    again = false;
    draw();
  }
}

area.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(draw, PAUSE);
});
const filesOf = (event) => [...((event.clipboardData ?? event.dataTransfer)?.files ?? [])];
for (const name of ["paste", "drop"]) {
  area.addEventListener(name, (event) => {
    const files = filesOf(event);
    // A text that was copied from a program for texts comes with its picture.
    if (!files.length || event.clipboardData?.getData("text/plain")) return;
    event.preventDefault();
    storeFiles(files);
  });
}
// Without this, the browser opens a dropped file in place of the editor.
area.addEventListener("dragover", (event) => {
  if (event.dataTransfer.types.includes("Files")) event.preventDefault();
});
bar.hidden = false;
bar.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.do) tools[button.dataset.do]();
  if (button?.dataset.part) {
    const text = button.dataset.text ? `${button.dataset.text}\n` : "";
    button.closest("[popover]").hidePopover();
    block(`\`\`\`part-${button.dataset.part}\n${text}\`\`\``, /(?<=")[^"\n]*(?=")/);
  }
});
// One stop for the whole toolbar, as for other toolbars; arrows go from button to button.
const buttons = [...bar.querySelectorAll(":scope > button")];
buttons.forEach((button, at) => { button.tabIndex = at ? -1 : 0; });
bar.addEventListener("keydown", (event) => {
  const at = buttons.indexOf(event.target);
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (at < 0 || !step) return;
  event.preventDefault();
  buttons[at].tabIndex = -1;
  const next = buttons[(at + step + buttons.length) % buttons.length];
  next.tabIndex = 0;
  next.focus();
});

const KEYS = { b: "bold", i: "italic", k: "link" };
editor.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  const key = event.key.toLowerCase();
  if (event.target !== area || !KEYS[key]) return;
  event.preventDefault();
  tools[KEYS[key]]();
});

// A list goes on with the next line; an empty item ends it.
area.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing) return;
  const { selectionStart: at, selectionEnd, value } = area;
  if (at !== selectionEnd) return;
  const from = lineStart(value, at);
  const found = /^(\s*)([-*+]|(\d{1,9})\.|>) (\[[ x]\] )?/.exec(value.slice(from, at));
  if (!found) return;
  event.preventDefault();
  if (found[0].length === at - from) put(from, at, "");
  else put(at, at, `\n${found[1]}${found[3] ? `${Number(found[3]) + 1}.` : found[2]} ${found[4] ? "[ ] " : ""}`);
});

if (matchMedia("(min-width: 64rem)").matches) show(true);
else show(false);
