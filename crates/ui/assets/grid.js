// A list as a grid: cells are selected, edited, copied and pasted as in a spreadsheet. The page has a plain table of the first
// rows, whose place the grid takes.
import { ask } from "./confirm.js";
import { Clipboard } from "./grid-clipboard.js";
import { breakLine, openEditor } from "./grid-edit.js";
import { Rows } from "./grid-rows.js";
import { MOST_ROWS, Saver } from "./grid-save.js";
import { GridView } from "./grid-view.js";
import { tell } from "./toast.js";

const POLL = 5000;
const LARGE = 1000;
const fill = (text, ...values) => text.replace(/\{(\d)\}/g, (_, at) => values[at]);

class Grid {
  constructor(section) {
    this.section = section;
    const words = (this.words = section.dataset);
    this.rows = new Rows(words.src, words.query);
    this.saver = new Saver(this.rows, words, {
      changed: (keys) => this.view.refresh(keys),
      state: () => this.say(),
      idle: () => this.say(),
      tell,
      lost: () => tell(words.lost),
      gone: (text) => fill(words.gone, text),
      waits: () => words.unsaved,
      large: () => words.large,
      conflict: (by, theirs, mine) => fill(words.conflict, by, theirs || words.empty, mine || words.empty),
      show: (key, column) => this.show(key, column),
    });
    this.view = new GridView(section, this.rows, words, {
      leaving: () => this.editor && this.commit(),
      seen: (first, last, missing, ends) => this.seen(first, last, missing, ends),
    });
    this.clipboard = new Clipboard(this);
    this.gone = new AbortController();
  }

  async start() {
    await this.rows.more();
    this.view.start();
    const { frame } = this.view;
    const { signal } = this.gone;
    const on = (target, name, act, options = {}) => target.addEventListener(name, act, { signal, ...options });
    on(frame, "keydown", (event) => this.pressed(event));
    on(frame, "mousedown", (event) => this.pointed(event));
    on(frame, "mouseover", (event) => this.dragged(event));
    on(frame, "dblclick", (event) => this.opened(event));
    on(frame, "change", (event) => this.ticked(event));
    on(frame, "focusin", (event) => this.focused(event));
    for (const name of ["copy", "cut", "paste"]) on(document, name, (event) => this.clipboard.take(event));
    on(this.section, "click", (event) => this.chosen(event));
    on(window, "beforeunload", (event) => { if (this.unsaved) event.preventDefault(); });
    on(document, "click", (event) => this.left(event), { capture: true });
    on(document, "swapped", () => { if (!this.section.isConnected) this.stop(); });
    this.timer = setInterval(() => this.poll(), POLL);
    this.say();
  }

  stop() {
    clearInterval(this.timer);
    this.gone.abort();
  }

  get unsaved() {
    return Boolean(this.editor) || this.saver.pending || this.rows.typed.size > 0;
  }

  /** Asks before another listing takes the place of this one. */
  left(event) {
    if (!event.target.closest?.("a[data-swap]") || !this.section.isConnected) return;
    if (this.editor && !this.commit()) return;
    const link = event.target.closest("a[data-swap]");
    if (!this.rows.problems().length || this.leaving === link) return;
    event.preventDefault();
    event.stopPropagation();
    ask(this.words.leave).then((yes) => {
      if (!yes) return;
      this.leaving = link;
      link.click();
    });
  }

  // What is read.
  seen(first, last, missing, ends) {
    this.shown = [first, last];
    if (missing.length && !this.fetching) {
      this.fetching = this.rows.fetch(missing)
        .then((fresh) => { this.drop(fresh.gone); })
        .then(() => true, () => false)
        .then((answered) => {
          this.fetching = undefined;
          // A server that is away is asked again when the grid is next drawn, not at once.
          if (answered) this.view.refresh(missing);
        });
    }
    if (ends && !this.rows.done && !this.rows.reading) this.more().catch(() => {});
  }

  async more(count) {
    await this.rows.more(count);
    this.rows.prune(...this.shown ?? [0, 0]);
    this.view.soon();
  }

  /** Reads on until there are so many rows, or all. */
  async until(wanted) {
    this.section.querySelector("[data-state]").textContent = this.words.loading;
    while (!this.rows.done && this.rows.order.length < wanted) await this.more(LARGE);
    this.say();
  }

  /** Rows that are not there any more. */
  drop(ids) {
    for (const id of ids) {
      const key = this.rows.keyOf(id);
      if (this.rows.members.has(key) && !this.rows.typed.has(key)) this.rows.remove(key);
    }
    if (ids.length) this.view.soon();
  }

  /** Looks for what others changed. */
  async poll() {
    if (!this.section.isConnected) return this.stop();
    if (document.hidden || this.saver.pending || this.polling) return undefined;
    const { words } = this;
    this.polling = true;
    try {
      const [first, last] = this.shown ?? [0, 0];
      const keys = this.rows.order.slice(first, last + 1).filter((key) => this.rows.idOf(key));
      const since = BigInt(this.rows.since) - 30_000_000n;
      const fresh = await this.rows.ask("/rows", { ids: keys.map((key) => this.rows.idOf(key)).join(","), since });
      if (this.saver.pending) return undefined;
      this.rows.since = fresh.since;
      if (fresh.user === words.user) this.saver.token = fresh.token;
      const changed = [];
      let newer = false;
      for (const row of [...fresh.changed.reverse(), ...fresh.rows]) {
        const key = this.rows.keyOf(row.id);
        if (this.rows.members.has(key)) {
          if (this.rows.known.has(key) && this.rows.refresh(row)) changed.push(key);
        } else if (this.rows.done && this.plain) {
          this.rows.insert(this.rows.order.length - (this.rows.mayAdd ? 1 : 0), row.id);
          this.rows.put(row.id, row);
        } else if (this.rows.done) newer ||= !this.removed.has(row.id);
      }
      if (newer) this.section.querySelector("[data-do=reload]").hidden = false;
      this.drop(fresh.gone);
      this.view.refresh(changed);
    } catch {
      // The next one may come through.
    } finally {
      this.polling = false;
    }
    return undefined;
  }

  /** Whether new rows belong at the end. */
  get plain() {
    const query = new URLSearchParams(this.words.query);
    return query.get("sort") === "name" && !query.has("order") && !("filtered" in this.words);
  }

  /** Rows that were deleted here. */
  get removed() {
    return new Set(this.saver.past.flatMap((unit) => unit.restored.map(({ key }) => this.rows.idOf(key))));
  }

  say() {
    const { words, saver, rows } = this;
    const state = this.section.querySelector("[data-state]");
    const count = rows.problems().length;
    const text = { saving: words.saving, saved: count ? "" : words.saved, offline: words.offline, away: words.away }[saver.state] ?? "";
    if (state.textContent !== text) state.textContent = text;
    state.dataset.state = saver.state;
    const button = this.section.querySelector("[data-do=problem]");
    button.hidden = !count;
    button.textContent = count === 1 ? words.problem : fill(words.problems, count);
    this.section.querySelector("[data-do=undo]").disabled = !saver.past.length;
    this.section.querySelector("[data-do=redo]").disabled = !saver.future.length;
    this.view.point();
  }

  show(key, column) {
    const r = this.rows.order.indexOf(key);
    const c = column ? this.rows.at(column) : this.view.active.c;
    if (r >= 0) this.view.go(r, Math.max(0, c));
  }

  // What is chosen with the pointer.
  placeOf(event) {
    const cell = event.target.closest?.("td, th");
    const key = cell?.parentElement.dataset.key;
    return key ? { r: this.rows.order.indexOf(key), c: cell.cellIndex } : undefined;
  }

  pointed(event) {
    const place = this.placeOf(event);
    if (!place || event.button || event.target.closest(".grid-field, .grid-note")) return;
    if (this.editor && !this.commit()) return event.preventDefault();
    const inner = event.target.closest("a, input");
    if (!inner) event.preventDefault();
    this.free = false;
    this.dragging = !inner && !event.shiftKey;
    this.view.go(place.r, place.c, { extend: event.shiftKey, focus: !inner });
    if (this.dragging) addEventListener("mouseup", () => { this.dragging = false; }, { once: true });
    return undefined;
  }

  dragged(event) {
    const place = this.dragging && this.placeOf(event);
    if (place) this.view.go(place.r, place.c, { extend: true });
  }

  opened(event) {
    const place = this.placeOf(event);
    if (place && !event.target.closest("a, input, .grid-field")) this.edit();
  }

  /** A cell that has the focus by other means, such as a reader of the screen. */
  focused(event) {
    const cell = event.target.closest("td, th");
    const place = cell === event.target && this.placeOf(event);
    if (place && (place.r !== this.view.active.r || place.c !== this.view.active.c)) this.view.go(place.r, place.c);
  }

  ticked(event) {
    if (!event.target.matches("td > input[type=checkbox]")) return;
    const place = this.placeOf(event);
    this.view.go(place.r, place.c);
    this.save([{ ...this.at(place.r, place.c), text: event.target.checked ? "yes" : "no" }]);
  }

  chosen(event) {
    const what = event.target.closest("[data-do]")?.dataset.do;
    if (what === "undo") this.saver.undo();
    else if (what === "redo") this.saver.redo();
    else if (what === "remove") this.remove();
    else if (what === "reload") location.reload();
    else if (what === "problem") {
      const problems = this.rows.problems();
      const key = this.rows.order[this.view.active.r];
      const here = problems.findIndex((one) => one.key === key && one.column === this.rows.columns[this.view.active.c].id);
      const next = problems[(here + 1) % problems.length];
      if (next) this.show(next.key, next.column);
    }
    const settled = event.target.closest("[data-note]");
    if (settled) this.settle(settled.dataset.note);
  }

  /** Ends a conflict or a refusal. */
  settle(choice) {
    const { key, column } = this.view.note;
    const mark = this.rows.markOf(key, column);
    if (!mark) return;
    if (choice === "mine") this.saver.add({ cells: [{ key, column, text: mark.text }] });
    else this.rows.unmark(key, column);
    this.view.refresh([key]);
    this.view.select();
    this.view.focus();
    this.say();
  }

  // What is changed.
  at(r, c) {
    return { key: this.rows.order[r], column: this.rows.columns[c].id };
  }

  /** Saves texts of cells, as far as they may be changed. */
  save(cells, more = {}) {
    const columns = new Map(this.rows.columns.map((column) => [column.id, column]));
    const open = cells.filter(({ key, column }) => this.rows.editable(key, columns.get(column)));
    if (new Set(open.map(({ key }) => key)).size > MOST_ROWS) return tell(fill(this.words.many, MOST_ROWS));
    if (cells.length && !open.length) tell(this.words.lacking);
    this.saver.add({ cells: open, ...more });
    this.view.soon();
    return this.say();
  }

  /** All cells of the selection. */
  selected() {
    const { rows: [top, bottom], columns: [left, right] } = this.view.range();
    const found = [];
    for (let r = top; r <= bottom; r += 1) for (let c = left; c <= right; c += 1) found.push({ r, c, ...this.at(r, c) });
    return found;
  }

  clear() {
    const { rows: [top, bottom] } = this.view.range();
    if (bottom - top >= MOST_ROWS) return tell(fill(this.words.many, MOST_ROWS));
    return this.save(this.selected().map(({ key, column }) => ({ key, column, text: "" })));
  }

  fillDown() {
    const { rows: [top, bottom], columns: [left, right] } = this.view.range();
    const from = top === bottom ? top - 1 : top;
    if (from < 0) return undefined;
    if (bottom - top >= MOST_ROWS) return tell(fill(this.words.many, MOST_ROWS));
    const cells = [];
    for (let r = from + 1; r <= bottom; r += 1) {
      if (r === this.rows.order.length - 1 && this.rows.isDraft(this.rows.order[r]) && top !== bottom) continue;
      for (let c = left; c <= right; c += 1) cells.push({ ...this.at(r, c), text: this.rows.text(this.rows.order[from], this.rows.columns[c].id) });
    }
    return this.save(cells);
  }

  remove() {
    const { rows: [top, bottom] } = this.view.range();
    if (bottom - top >= MOST_ROWS) return tell(fill(this.words.many, MOST_ROWS));
    const keys = this.rows.order.slice(top, bottom + 1);
    for (const key of keys.filter((one) => this.rows.isDraft(one))) {
      this.rows.typed.delete(key);
      if (key !== this.rows.order.at(-1)) this.rows.remove(key);
    }
    const removed = keys.filter((key) => this.rows.idOf(key) && this.rows.row(key)?.delete !== false);
    for (const key of removed) this.rows.typed.delete(key);
    this.saver.add({ removed });
    return this.view.refresh();
  }

  // Editing a cell.
  edit(typed = false) {
    const { r, c } = this.view.active;
    const { key, column } = this.at(r, c);
    const kind = this.rows.columns[c];
    if (!this.rows.editable(key, kind)) return undefined;
    const cell = this.view.cell(this.view.active);
    const field = openEditor(cell, kind, this.rows.text(key, column), typed, { yes: this.words.yes, no: this.words.no, several: this.words.several, people: this.rows.people });
    this.editor = { ...field, key, column, cell };
    field.field.addEventListener("focusout", () => { if (this.editor?.field === field.field) this.commit(); });
    return this.view.point();
  }

  close() {
    const { cell, key } = this.editor;
    this.editor = undefined;
    cell.classList.remove("editing");
    this.view.refresh([key]);
  }

  cancel() {
    this.close();
    this.view.focus();
  }

  /** Takes what was typed; false if it is not complete. */
  commit() {
    const { key, column, text, incomplete } = this.editor;
    if (incomplete()) {
      tell(this.words.incomplete);
      return false;
    }
    const value = text().trim();
    this.close();
    this.save([{ key, column, text: value }]);
    return true;
  }

  editing(event) {
    const { field } = this.editor;
    if (event.isComposing) return;
    if (event.key === "Escape") this.cancel();
    else if (event.key === "Enter" && event.altKey && field.matches("textarea")) breakLine(field);
    else if (event.key === "Enter" || event.key === "Tab") {
      if (!this.commit()) return event.preventDefault();
      this.step(event);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Enter goes down, Tab to the right; with Shift back. */
  step(event) {
    const { r, c } = this.view.active;
    const by = event.shiftKey ? -1 : 1;
    if (event.key === "Enter") return this.view.go(r + by, c);
    const width = this.rows.columns.length;
    const at = r * width + c + by;
    if (at < 0 || at >= this.rows.order.length * width) return false;
    this.view.go(Math.floor(at / width), at % width);
    return true;
  }

  // Keys.
  pressed(event) {
    if (this.editor) return this.editing(event);
    if (event.target.closest(".grid-note")) return this.noted(event);
    if (event.target.closest("thead")) return undefined;
    const control = event.ctrlKey || event.metaKey;
    const done = control ? this.command(event) : !event.altKey && this.plainKey(event);
    if (done) event.preventDefault();
    if (event.key !== "Tab" && event.key !== "Shift") this.free = event.key === "Escape" && done !== "narrowed";
    return undefined;
  }

  noted(event) {
    const last = event.target === this.view.note.querySelector("button:last-of-type");
    if (event.key === "Escape" || (event.key === "Tab" && event.shiftKey)) this.view.focus();
    else if (event.key === "Tab" && last) this.step(event);
    else return;
    event.preventDefault();
  }

  move(event, down, right, far = 1) {
    const { r, c } = this.view.active;
    this.view.go(r + down * far, c + right * far, { extend: event.shiftKey });
    return true;
  }

  command(event) {
    const { active } = this.view;
    const end = this.rows.order.length - 1;
    const jump = (r, c) => this.view.go(r, c, { extend: event.shiftKey });
    switch (event.key.toLowerCase()) {
      case "home": jump(0, 0); break;
      case "end": this.end(event.shiftKey); break;
      case "arrowup": jump(0, active.c); break;
      case "arrowdown": jump(end, active.c); break;
      case "arrowleft": jump(active.r, 0); break;
      case "arrowright": jump(active.r, this.rows.columns.length - 1); break;
      case "a":
        this.view.anchor = { r: 0, c: 0 };
        this.view.active = { r: end - (end && this.rows.isDraft(this.rows.order[end]) ? 1 : 0), c: this.rows.columns.length - 1 };
        this.view.reveal();
        this.view.draw();
        this.view.focus();
        break;
      case "z": if (event.shiftKey) this.saver.redo(); else this.saver.undo(); break;
      case "y": this.saver.redo(); break;
      case "x": this.clipboard.cut(); break;
      case "d": this.fillDown(); break;
      case "-": this.remove(); break;
      default: return false;
    }
    return true;
  }

  async end(extend) {
    await this.until(Infinity).catch(() => {});
    this.view.go(this.rows.order.length - 1, this.rows.columns.length - 1, { extend });
  }

  plainKey(event) {
    const { active, anchor } = this.view;
    const kind = this.rows.columns[active.c].kind;
    switch (event.key) {
      case "ArrowUp": return this.move(event, -1, 0);
      case "ArrowDown": return this.move(event, 1, 0);
      case "ArrowLeft": return this.move(event, 0, document.dir === "rtl" ? 1 : -1);
      case "ArrowRight": return this.move(event, 0, document.dir === "rtl" ? -1 : 1);
      case "PageUp": return this.move(event, -1, 0, this.view.page());
      case "PageDown": return this.move(event, 1, 0, this.view.page());
      case "Home": return this.move(event, 0, -1, active.c);
      case "End": return this.move(event, 0, 1, this.rows.columns.length);
      case "Tab": return this.tab(event);
      case "Enter": return this.enter(event);
      case "F2": return this.conflict() || (this.edit(), true);
      case "Escape": {
        const narrow = active.r === anchor.r && active.c === anchor.c;
        this.view.go(active.r, active.c);
        return narrow || "narrowed";
      }
      case "Delete":
      case "Backspace": this.clear(); return true;
      case " ":
        if (kind === "yes-no") this.toggle();
        else if (event.shiftKey) this.wholeRow();
        else break;
        return true;
      default:
    }
    // The key itself goes into the field that opens.
    if (event.key.length === 1 && !event.isComposing) {
      if (kind === "row") return false;
      this.edit(true);
      // It is no command of the page.
      if (this.editor) event.stopPropagation();
    }
    return false;
  }

  tab(event) {
    if (this.free) return false;
    const { note } = this.view;
    if (!note.hidden && !event.shiftKey) {
      note.querySelector("button").focus();
      return true;
    }
    return this.step(event);
  }

  enter(event) {
    const link = this.view.cell(this.view.active)?.querySelector("a");
    if (link && this.rows.columns[this.view.active.c].kind === "row") {
      link.click();
      return true;
    }
    if (!event.shiftKey && this.conflict()) return true;
    this.step(event);
    return true;
  }

  /** Goes to the question of a conflict, if the cell has one. */
  conflict() {
    const { note } = this.view;
    if (note.hidden || note.mark?.theirs === undefined) return false;
    note.querySelector("button").focus();
    return true;
  }

  toggle() {
    const first = this.at(this.view.active.r, this.view.active.c);
    const text = this.rows.text(first.key, first.column) === "yes" ? "no" : "yes";
    this.save([{ ...first, text }]);
  }

  wholeRow() {
    const { active } = this.view;
    this.view.anchor = { r: this.view.anchor.r, c: 0 };
    this.view.active = { r: active.r, c: this.rows.columns.length - 1 };
    this.view.draw();
    this.view.focus();
  }
}

/** Turns the table of a page into a grid. */
export function start(section) {
  const grid = new Grid(section);
  return grid.start();
}
