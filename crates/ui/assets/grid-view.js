// What is seen of a grid: a table of which only the rows in sight and some around them exist. All rows have the same height, so
// that the place of each follows from its number, and columns have fixed widths, so that none moves while rows come and go.
import { make } from "./grid-edit.js";

const AROUND = 10;
const AHEAD = 100;
const LONGEST = 300;
/** Beginning of the keys of headings. */
const HEADING = "group of ";
const WIDTHS = { row: 56, text: 200, note: 280, number: 110, date: 130, choice: 150, person: 170, lookup: 200, "yes-no": 90, link: 200, time: 170, name: 170 };

export class GridView {
  constructor(section, rows, words, events) {
    Object.assign(this, { section, rows, words, events, height: 36, lines: 0, drawn: new Map(), active: { r: 0, c: 1 }, anchor: { r: 0, c: 1 } });
    this.frame = section.querySelector(".grid-frame");
    this.table = section.querySelector("table");
    this.body = this.table.tBodies[0];
    const lang = document.documentElement.lang;
    this.times = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" });
  }

  /** Takes the place of the plain table. */
  start() {
    const { table, frame, rows } = this;
    for (const plain of this.section.querySelectorAll("[data-plain]")) plain.remove();
    this.section.querySelector(".grid-bar").hidden = false;
    this.sheet = make("div", { class: "grid-sheet" });
    table.before(this.sheet);
    this.note = make("div", { class: "grid-note", role: "group" });
    this.note.hidden = true;
    this.sheet.append(table, this.note);
    table.setAttribute("role", "grid");
    table.setAttribute("aria-label", frame.getAttribute("aria-label"));
    table.setAttribute("aria-multiselectable", "true");
    table.setAttribute("aria-colcount", rows.columns.length);
    frame.removeAttribute("role");
    frame.removeAttribute("aria-label");
    const head = table.tHead.rows[0];
    head.setAttribute("aria-rowindex", "1");
    head.prepend(make("th", {}, make("span", {}, "#", make("span", { class: "unseen" }, ` ${this.words.number}`))));
    const narrow = matchMedia("(max-width: 48rem)").matches;
    const widths = rows.columns.map((column, at) => column.width ?? (at === 1 ? (narrow ? 140 : 260) : WIDTHS[column.kind] ?? 150));
    [...head.cells].forEach((cell, at) => {
      cell.setAttribute("role", "columnheader");
      cell.setAttribute("aria-colindex", at + 1);
    });
    const columns = make("colgroup");
    for (const width of widths) columns.append(make("col", { width }));
    table.prepend(columns);
    table.style.width = `${widths.reduce((sum, width) => sum + width, 0)}px`;
    table.classList.add("alive");
    this.body.replaceChildren();
    frame.addEventListener("scroll", () => this.soon());
    // Sizes are measured only when they may have changed: to measure while rows come and go would cost a layout each time.
    this.resized = new ResizeObserver(() => {
      this.measured = false;
      this.soon();
    });
    this.resized.observe(frame);
    this.top = table.tHead.offsetHeight;
    this.draw();
  }

  soon() {
    this.wanted ??= requestAnimationFrame(() => {
      this.wanted = undefined;
      if (this.section.isConnected) this.draw();
    });
  }

  /** Counts the lines: those of rows, and those of headings above groups, which rows know by the line that they are in. */
  arrange() {
    const { order, groups } = this.rows;
    this.lines = order.length;
    this.places = undefined;
    if (!groups.size) return;
    let [heading, line] = [undefined, 0];
    this.places = order.map((key) => {
      const group = groups.get(key) ?? heading;
      if (group !== heading) line += 1;
      heading = group;
      line += 1;
      return line - 1;
    });
    this.lines = line;
  }

  /** The line of a row. */
  place(r) {
    return this.places ? this.places[r] ?? 0 : r;
  }

  /** Whether the row is the first of a group. */
  begins(r) {
    return Boolean(this.places) && this.place(r) > (r ? this.place(r - 1) + 1 : 0);
  }

  /** The first row at or below a line. */
  rowAt(line) {
    if (!this.places) return line;
    let [low, high] = [0, this.places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.places[middle] < line) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Numbers of the rows that are drawn. */
  span() {
    const { scrollTop, clientHeight } = this.frame;
    const first = this.rowAt(Math.floor(scrollTop / this.height)) - AROUND;
    const last = this.rowAt(Math.ceil((scrollTop + clientHeight) / this.height)) + AROUND;
    const end = this.rows.order.length - 1;
    const from = Math.max(0, Math.min(first, end - AROUND));
    return [from, Math.min(end, Math.max(last, from + AROUND))];
  }

  draw() {
    const { rows, body, drawn } = this;
    this.arrange();
    const [first, last] = this.span();
    const keys = [];
    for (let r = first; r <= last; r += 1) {
      if (this.begins(r)) keys.push(`${HEADING}${rows.order[r]}`);
      keys.push(rows.order[r]);
    }
    const kept = new Set(keys);
    const focused = document.activeElement?.closest?.("td, th");
    const lost = focused && body.contains(focused) && !kept.has(focused.parentElement.dataset.key);
    if (lost) {
      this.events.leaving();
      this.frame.focus({ preventScroll: true });
    }
    for (const [key, line] of drawn) {
      if (kept.has(key)) continue;
      line.remove();
      drawn.delete(key);
    }
    let r = first;
    keys.forEach((key, at) => {
      let line = drawn.get(key);
      if (!line) {
        line = key.startsWith(HEADING) ? this.heading(key.slice(HEADING.length)) : this.line(key);
        drawn.set(key, line);
      }
      if (body.children[at] !== line) body.insertBefore(line, body.children[at] ?? null);
      if (!line.dataset.key) return;
      line.setAttribute("aria-rowindex", r + 2);
      r += 1;
      if (line.dataset.bare && rows.row(key)) this.fill(line);
    });
    this.first = first;
    if (!this.measured && body.lastElementChild) {
      this.measured = true;
      this.top = this.table.tHead.offsetHeight;
      const { height } = body.lastElementChild.getBoundingClientRect();
      if (Math.abs(height - this.height) > 0.1) {
        this.height = height;
        this.soon();
      }
    }
    this.table.style.marginTop = `${(this.place(first) - (this.begins(first) ? 1 : 0)) * this.height}px`;
    this.size();
    this.table.setAttribute("aria-rowcount", rows.done ? rows.order.length + 1 : -1);
    this.select();
    const missing = rows.order.slice(first, last + 1).filter((key) => !rows.row(key));
    this.events.seen(first, last, missing, last + AHEAD > rows.order.length);
  }

  /** Makes room for all rows. */
  size() {
    this.sheet.style.height = `${this.top + this.lines * this.height}px`;
  }

  /** The line above a group that begins with a row. */
  heading(key) {
    const text = make("span", { dir: "auto" }, this.rows.groups.get(key));
    return make("tr", { class: "group" }, make("th", { colspan: this.rows.columns.length, scope: "rowgroup" }, text));
  }

  /** A row with its cells. */
  line(key) {
    const line = make("tr", { "data-key": key });
    this.rows.columns.forEach((column, at) => {
      const cell = column.kind === "row" ? make("th", { scope: "row", role: "rowheader" }) : make("td", { role: "gridcell" });
      cell.setAttribute("aria-colindex", at + 1);
      cell.tabIndex = -1;
      line.append(cell);
    });
    this.fill(line);
    return line;
  }

  fill(line) {
    const { key } = line.dataset;
    const known = this.rows.row(key);
    line.toggleAttribute("aria-busy", false);
    if (known) delete line.dataset.bare;
    else line.dataset.bare = "yes";
    this.rows.columns.forEach((column, at) => {
      const cell = line.children[at];
      if (!cell.classList.contains("editing")) this.fillCell(cell, key, column, known);
    });
  }

  fillCell(cell, key, column, known) {
    const { rows } = this;
    cell.removeAttribute("aria-invalid");
    cell.removeAttribute("aria-describedby");
    if (!known) return cell.replaceChildren("…");
    if (column.kind === "row") return cell.replaceChildren(this.number(key, known));
    const mark = rows.markOf(key, column.id);
    const may = rows.editable(key, column);
    cell.className = [column.kind === "number" && "end number", !may && "fixed", mark && (mark.detail ? "bad" : "waits")].filter(Boolean).join(" ");
    cell.setAttribute("aria-readonly", String(!may));
    cell.replaceChildren(this.content(key, column, mark, may));
    if (known.clips && column === rows.columns[1]) cell.append(" ", this.clips(known));
    if (!mark?.detail) return undefined;
    const id = `grid-${key}-${column.id}`;
    cell.setAttribute("aria-invalid", "true");
    cell.setAttribute("aria-describedby", id);
    if (mark.theirs !== undefined) cell.append(make("small", { class: "theirs" }, ` ≠ ${mark.theirs || this.words.empty}`));
    cell.append(make("span", { class: "unseen", id }, mark.detail));
    return undefined;
  }

  number(key, known) {
    if (!known.id) return make("span", { title: this.words.new }, "+", make("span", { class: "unseen" }, ` ${this.words.new}`));
    return make("a", { href: `${this.words.here}/${encodeURIComponent(known.number)}`, tabindex: -1 }, known.number);
  }

  /** A paper clip with the number of attachments of a row. */
  clips(known) {
    const words = `${this.words.clips}: ${known.clips}`;
    const picture = document.getElementById("grid-clip").content.cloneNode(true);
    return make("span", { class: "clips", title: words }, picture, make("span", { "aria-hidden": "true" }, known.clips), make("span", { class: "unseen" }, words));
  }

  content(key, column, mark, may) {
    const { rows } = this;
    const text = rows.shown(key, column);
    if (column.kind === "time") return text && this.times.format(new Date(text));
    if (column.kind === "yes-no") {
      const box = make("input", { type: "checkbox", tabindex: -1, "aria-label": column.name });
      const value = rows.text(key, column.id);
      box.checked = value === "yes";
      box.indeterminate = value === "";
      box.disabled = !may;
      return box;
    }
    const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
    if (column.kind !== "link" || mark || !/^(https?|mailto):/i.test(text)) return short;
    return make("a", { class: "outside", href: text, rel: "noopener noreferrer nofollow", tabindex: -1 }, short);
  }

  /** Draws rows again whose values changed; all of them without a list. */
  refresh(keys) {
    for (const key of keys ?? [...this.drawn.keys()]) {
      const line = this.drawn.get(key);
      if (line?.dataset.key) this.fill(line);
    }
    this.soon();
  }

  cell({ r, c }) {
    return this.drawn.get(this.rows.order[r])?.children[c];
  }

  /** The corners of the selection. */
  range() {
    const { active, anchor } = this;
    const order = (a, b) => (a < b ? [a, b] : [b, a]);
    return { rows: order(active.r, anchor.r), columns: order(active.c, anchor.c) };
  }

  select() {
    const { rows: [top, bottom], columns: [left, right] } = this.range();
    const alone = top === bottom && left === right;
    [...this.body.rows].filter((line) => line.dataset.key).forEach((line, at) => {
      const r = this.first + at;
      [...line.cells].forEach((cell, c) => {
        const inside = r >= top && r <= bottom && c >= left && c <= right;
        const index = r === this.active.r && c === this.active.c ? 0 : -1;
        cell.classList.toggle("picked", inside && !alone);
        if (cell.ariaSelected !== String(inside)) cell.setAttribute("aria-selected", String(inside));
        if (cell.tabIndex !== index) cell.tabIndex = index;
      });
    });
    this.frame.tabIndex = this.cell(this.active) ? -1 : 0;
    this.point();
  }

  /** Goes to a cell; with `extend` the selection reaches from where it began to there. */
  go(r, c, { extend = false, focus = true } = {}) {
    const clamp = (value, most) => Math.max(0, Math.min(most, value));
    this.active = { r: clamp(r, this.rows.order.length - 1), c: clamp(c, this.rows.columns.length - 1) };
    if (!extend) this.anchor = { ...this.active };
    this.arrange();
    this.size();
    this.reveal();
    this.draw();
    if (focus) this.focus();
  }

  focus() {
    (this.cell(this.active) ?? this.frame).focus({ preventScroll: true });
  }

  /** Scrolls so that the cell is in sight, not below the titles and the columns that stay. */
  reveal() {
    const { frame, active, height } = this;
    const { top } = this;
    const place = this.place(active.r) * height;
    // The heading of a group comes into sight with its first row.
    if (place < frame.scrollTop) frame.scrollTop = place - (this.begins(active.r) ? height : 0);
    else if (place + height + top > frame.scrollTop + frame.clientHeight) frame.scrollTop = place + height + top - frame.clientHeight;
    const cell = this.table.tHead.rows[0].cells[active.c];
    const [outer, inner] = [frame.getBoundingClientRect(), cell.getBoundingClientRect()];
    const held = [...this.table.tHead.rows[0].cells].slice(0, 2).filter((one) => getComputedStyle(one).insetInlineStart !== "auto");
    if (held.includes(cell)) return;
    const start = Math.max(outer.left, ...held.map((one) => one.getBoundingClientRect().right));
    if (inner.left < start) frame.scrollLeft -= start - inner.left;
    else if (inner.right > outer.left + frame.clientWidth) frame.scrollLeft += Math.min(inner.right - outer.left - frame.clientWidth, inner.left - start);
  }

  page() {
    return Math.max(1, Math.floor((this.frame.clientHeight - this.top) / this.height) - 1);
  }

  /** Shows beside the active cell what is the matter with it, and what can be done. */
  point() {
    const { note, rows, active, words } = this;
    const [key, column] = [rows.order[active.r], rows.columns[active.c]];
    const mark = column && rows.markOf(key, column.id);
    const cell = this.cell(active);
    if (!mark?.detail || !cell || cell.classList.contains("editing")) {
      if (note.contains(document.activeElement)) cell?.focus({ preventScroll: true });
      note.hidden = true;
      note.mark = undefined;
      return;
    }
    const fresh = note.hidden || note.mark !== mark;
    if (note.mark !== mark) {
      const button = (name, text) => make("button", { type: "button", class: "button", "data-note": name }, text);
      const buttons = mark.theirs === undefined ? [button("theirs", words.discard)] : [button("mine", words.mine), button("theirs", words.theirs)];
      note.replaceChildren(make("p", {}, mark.detail), make("div", { class: "row" }, ...buttons));
      note.setAttribute("aria-label", column.name);
      note.mark = mark;
      note.key = key;
      note.column = column.id;
    }
    note.hidden = false;
    const most = this.frame.scrollLeft + this.frame.clientWidth - note.offsetWidth - 8;
    const start = Math.max(this.frame.scrollLeft + 8, Math.min(cell.offsetLeft, most));
    note.style.insetInlineStart = `${start}px`;
    note.style.top = `${this.top + (this.place(active.r) + 1) * this.height}px`;
    if (fresh) note.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
