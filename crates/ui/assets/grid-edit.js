// The editors of a grid, one for each kind of column. They hand over a text; what it means is the server's to say, as in forms.

/** An element with attributes. */
export function make(name, attributes = {}, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}

function select(words, text) {
  const field = make("select");
  if (!words.some(([word]) => word === text)) words.push([text, text]);
  for (const [word, label] of words) field.append(make("option", { value: word }, label));
  field.value = text;
  return field;
}

/** Returns the identifier of the suggestions for a field, which are made once. */
function suggestions(id, words) {
  if (!document.getElementById(id)) {
    document.body.append(make("datalist", { id }, ...words.map((word) => make("option", { value: word }))));
  }
  return id;
}

/** The end of the last separator between several values: semicolons in quotation marks are part of a value. */
function lastSeparator(text) {
  let end = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"' && (quoted || !text.slice(end, at).trim() || text[at - 1] === '"')) quoted = !quoted;
    if (text[at] === ";" && !quoted) end = at + 1;
  }
  return end;
}

/** Suggests values for what stands behind the last separator. What is in quotation marks is the server's rule (value_list.rs). */
function suggestEach(field, id, words) {
  suggestions(id, []);
  field.setAttribute("list", id);
  const typed = (word) => (!word || word.trim() !== word || /[;"]/.test(word) ? `"${word.replaceAll('"', '""')}"` : word);
  const fill = () => {
    const before = field.value.slice(0, lastSeparator(field.value));
    const options = words.map((word) => make("option", { value: before ? `${before} ${typed(word)}` : typed(word) }));
    document.getElementById(id).replaceChildren(...options);
  };
  field.addEventListener("input", fill);
  field.addEventListener("focus", fill);
}

function fieldFor(column, text, typed, { yes, no, several, people }) {
  if (column.multiple) {
    const field = make("input", { type: "text", title: several, "aria-description": several });
    suggestEach(field, `grid-values-${column.id}`, column.kind === "person" ? people : (column.choices ?? column.entries ?? []));
    return field;
  }
  if (column.kind === "choice") return select([["", "–"], ...column.choices.map((choice) => [choice, choice])], text);
  if (column.kind === "yes-no") return select([["", "–"], ["yes", yes], ["no", no]], text);
  if (column.kind === "note" || text.includes("\n")) return make("textarea", { rows: 5 });
  // The browser's own field for dates takes the keys apart by rules of its own: who types writes the day as text.
  const field = make("input", { type: column.kind === "date" && !typed ? "date" : "text" });
  if (column.kind === "number") field.inputMode = "decimal";
  if (column.kind === "link") field.inputMode = "url";
  if (column.kind === "person") field.setAttribute("list", suggestions("grid-people", people));
  if (column.kind === "lookup") field.setAttribute("list", suggestions(`grid-entries-${column.id}`, column.entries));
  return field;
}

/** Opens an editor in a cell. `typed` begins with nothing, so that the key that opened it is the first character. */
export function openEditor(cell, column, text, typed, words) {
  const field = fieldFor(column, text, typed, words);
  field.className = "grid-field";
  field.setAttribute("aria-label", column.name);
  field.autocomplete = "off";
  field.spellcheck = column.kind === "note";
  cell.replaceChildren(field);
  cell.classList.add("editing");
  if (!field.matches("select")) field.value = typed ? "" : text;
  field.focus({ preventScroll: true });
  field.scrollIntoView({ block: "nearest", inline: "nearest" });
  if (!typed && field.matches("textarea, input[type=text]")) field.setSelectionRange(field.value.length, field.value.length);
  return {
    field,
    text: () => field.value,
    /** A date of which only a part is there. */
    incomplete: () => field.validity.badInput,
  };
}

/** Puts a line end where the caret is. */
export function breakLine(field) {
  field.setRangeText("\n", field.selectionStart, field.selectionEnd, "end");
}

const quote = (text) => (/[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const TEXTS = ["text", "note", "choice", "link", "person", "lookup", "name", "row"];

/** A value for a spreadsheet: a text that begins like a formula has an apostrophe in front, as in CSV. */
export function copied(column, text) {
  return quote(TEXTS.includes(column.kind) && /^[=+\-@'\t\r]/.test(text) ? `'${text}` : text);
}

export function pasted(column, text) {
  return TEXTS.includes(column.kind) && /^'[=+\-@'\t\r]/.test(text) ? text.slice(1) : text;
}

/** The end of a quoted cell that begins at `start`, or -1 if the quotes do not enclose all of it. */
function closing(text, start) {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at + 1 >= text.length || /[\t\r\n]/.test(text[at + 1]) ? at : -1;
  }
  return -1;
}

/** Reads what a spreadsheet copies: cells between tabs, rows between line ends; quotes around cells that contain these. */
export function readCells(text) {
  const rows = [[]];
  const border = /[\t\r\n]|$/g;
  for (let at = 0; ;) {
    const close = text[at] === '"' ? closing(text, at) : -1;
    border.lastIndex = at;
    const end = close < 0 ? border.exec(text).index : close + 1;
    rows.at(-1).push((close < 0 ? text.slice(at, end) : text.slice(at + 1, close).replaceAll('""', '"')).replaceAll("\r\n", "\n"));
    at = end + (text.startsWith("\r\n", end) ? 2 : 1);
    // The last line ends too.
    if (at >= text.length && text[end] !== "\t") return rows;
    if (text[end] !== "\t") rows.push([]);
  }
}
