// The clipboard of a grid: what is selected goes to spreadsheets and comes from them as text between tabs.
import { ask } from "./confirm.js";
import { copied, make, pasted, readCells } from "./grid-edit.js";
import { MOST_ROWS } from "./grid-save.js";
import { tell } from "./toast.js";

const fill = (text, value) => text.replace("{0}", value);

export class Clipboard {
  constructor(grid) {
    this.grid = grid;
  }

  take(event) {
    const held = document.activeElement;
    if (this.grid.editor || !this.grid.view.frame.contains(held) || held.closest(".grid-note, thead")) return;
    event.preventDefault();
    if (event.type === "paste") {
      const text = event.clipboardData.getData("text/plain");
      if (text) this.paste(readCells(text)).catch(() => tell(this.grid.words.offline));
      return;
    }
    const text = this.copy();
    if (text === undefined) return;
    event.clipboardData.setData("text/plain", text);
    if (event.type === "cut") this.grid.clear();
  }

  /** The selection as a spreadsheet takes it; nothing if not all of it is here. */
  copy() {
    const { rows: [top, bottom], columns: [left, right] } = this.grid.view.range();
    const keys = this.grid.rows.order.slice(top, bottom + 1);
    if (keys.some((key) => !this.grid.rows.row(key))) return tell(fill(this.grid.words.many, MOST_ROWS));
    const columns = this.grid.rows.columns.slice(left, right + 1);
    return keys.map((key) => columns.map((column) => copied(column, this.plainText(key, column))).join("\t")).join("\n");
  }

  /** Without a selected text, a browser does not say that something is to be cut: the text is copied from a field. */
  cut() {
    const text = this.copy();
    if (text === undefined) return;
    const field = document.body.appendChild(make("textarea", { class: "unseen" }));
    field.value = text;
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    this.grid.view.focus();
    if (done) this.grid.clear();
  }

  /** What a cell is outside of the grid. */
  plainText(key, column) {
    if (column.kind === "row") return this.grid.rows.row(key).number;
    const text = this.grid.rows.text(key, column.id);
    return column.kind === "yes-no" && text ? this.grid.words[text] : text;
  }

  async paste(block) {
    const { rows: [top, bottom], columns: [left] } = this.grid.view.range();
    if (block.length > MOST_ROWS || bottom - top >= MOST_ROWS) return tell(fill(this.grid.words.many, MOST_ROWS));
    if (block.length === 1 && block[0].length === 1) {
      const same = this.grid.selected().map(({ c, key, column }) => ({ key, column, text: pasted(this.grid.rows.columns[c], block[0][0]).trim() }));
      return this.grid.save(same);
    }
    await this.grid.until(top + block.length);
    const empty = this.grid.rows.order.length && this.grid.rows.isDraft(this.grid.rows.order.at(-1)) && !this.grid.rows.typed.has(this.grid.rows.order.at(-1));
    const there = this.grid.rows.order.length - (empty ? 1 : 0);
    const lacking = top + block.length - there;
    let lines = block;
    if (lacking > 0 && !this.grid.rows.mayAdd) {
      lines = block.slice(0, block.length - lacking);
      tell(this.grid.words.clipped);
    } else if (lacking > 0) {
      if ((top < there || lacking > 1) && !await ask(fill(this.grid.words.grow, lacking))) return undefined;
      for (let more = empty ? 1 : 0; more < lacking; more += 1) this.grid.rows.draft();
    }
    const cells = [];
    lines.forEach((line, down) => {
      line.forEach((text, along) => {
        const column = this.grid.rows.columns[left + along];
        if (column) cells.push({ ...this.grid.at(top + down, left + along), text: pasted(column, text).trim() });
      });
    });
    const missing = [...new Set(cells.map(({ key }) => key))].filter((key) => !this.grid.rows.row(key));
    if (missing.length) await this.grid.rows.fetch(missing);
    this.grid.view.anchor = { r: top, c: left };
    this.grid.save(cells);
    const width = Math.max(...lines.map((line) => line.length), 1);
    this.grid.view.active = { r: Math.min(top + Math.max(lines.length, 1) - 1, this.grid.rows.order.length - 1), c: Math.min(left + width - 1, this.grid.rows.columns.length - 1) };
    this.grid.view.draw();
    this.grid.view.focus();
    return undefined;
  }
}
