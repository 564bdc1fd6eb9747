// The rows of a grid as far as they are known here: their order, the values of those that were read lately, and what was typed
// and is not saved yet. The server is asked for the next rows as they come into sight, and again for those that were let go.
const BLOCK = 200;
const MOST = 4000;

const pair = (cell) => (Array.isArray(cell) ? cell : [cell ?? "", cell ?? ""]);

export class Rows {
  constructor(source, query, filtered) {
    Object.assign(this, { source, query, filtered, columns: [], people: [], mayAdd: false, next: "", done: false });
    /** Keys of the rows in their order: an identifier, or a name of its own for a row that was added here. */
    this.order = [];
    this.members = new Set();
    this.known = new Map();
    /** Headings of the groups in which rows were when they were read; empty without groups. */
    this.groups = new Map();
    /** What was typed: by row and column the text, and what the server said of it. */
    this.typed = new Map();
    this.serial = 0;
  }

  async ask(path, parameters) {
    const answer = await fetch(`${this.source}${path}?${this.query}&${new URLSearchParams(parameters)}`, { headers: { accept: "application/json" } });
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    return answer.json();
  }

  /** Reads the next rows; one request at a time. */
  more(count = BLOCK) {
    this.reading ??= this.read(count).finally(() => { this.reading = undefined; });
    return this.reading;
  }

  async read(count) {
    if (this.done) return;
    const block = await this.ask("", this.next ? { after: this.next, rows: count } : { rows: count });
    if (block.columns.length) {
      this.columns = [{ id: "#", kind: "row", name: "#" }, ...block.columns];
      this.people = block.people;
      this.since = block.since;
      this.mayAdd = block.may_add;
    }
    for (const row of block.rows) this.append(row);
    this.next = block.next;
    this.done = !block.next;
    if (this.done && this.mayAdd) this.draft();
  }

  append(row) {
    const key = this.keyOf(row.id);
    if (!this.members.has(key)) this.insert(this.order.length, key);
    if (row.group) this.groups.set(key, row.group);
    this.put(key, row);
  }

  insert(at, key) {
    this.order.splice(at, 0, key);
    this.members.add(key);
  }

  /** Adds the empty row at the end, into which a new one is typed. */
  draft() {
    this.serial += 1;
    const key = `new-${this.serial}`;
    this.known.set(key, { id: undefined, number: "", edit: true, delete: false, cells: this.columns.slice(1).map(() => "") });
    this.insert(this.order.length, key);
    return key;
  }

  put(key, row) {
    this.known.set(key, row);
    if (row.id !== key) this.alias(row.id, key);
  }

  alias(id, key) {
    this.aliases ??= new Map();
    this.aliases.set(id, key);
  }

  keyOf(id) {
    return this.aliases?.get(id) ?? id;
  }

  row(key) {
    return this.known.get(key);
  }

  isDraft(key) {
    return key.startsWith("new-") && !this.known.get(key)?.id;
  }

  /** The identifier of a row on the server. */
  idOf(key) {
    return key.startsWith("new-") ? this.known.get(key)?.id : key;
  }

  // What was typed.
  mark(key, column, mark) {
    if (!this.typed.has(key)) this.typed.set(key, new Map());
    this.typed.get(key).set(column, mark);
  }

  unmark(key, column) {
    const marks = this.typed.get(key);
    marks?.delete(column);
    if (!marks?.size) this.typed.delete(key);
  }

  markOf(key, column) {
    return this.typed.get(key)?.get(column);
  }

  /** Cells that somebody has to look at. */
  problems() {
    return [...this.typed].flatMap(([key, marks]) => [...marks].filter(([, mark]) => mark.detail).map(([column]) => ({ key, column })));
  }

  at(column) {
    return this.columns.findIndex((one) => one.id === column);
  }

  stored(key, column) {
    return pair(this.known.get(key)?.cells[this.at(column) - 1]);
  }

  shown(key, column) {
    return this.markOf(key, column.id)?.text ?? this.stored(key, column.id)[0];
  }

  text(key, column) {
    return this.markOf(key, column)?.text ?? this.stored(key, column)[1];
  }

  editable(key, column) {
    const row = this.known.get(key);
    if (!row?.edit || column.kind === "row" || column.fixed) return false;
    return row.cells[this.at(column.id) - 1] !== null;
  }

  /** Reads rows that were let go, or that may have changed. */
  async fetch(keys, since) {
    const ids = keys.map((key) => this.idOf(key)).filter(Boolean);
    const parameters = since ? { ids: ids.join(","), since } : { ids: ids.join(",") };
    const fresh = await this.ask("/rows", parameters);
    for (const row of fresh.rows) this.refresh(row);
    return fresh;
  }

  /** Takes a row as it is now, unless something of it is being saved; tells whether it is another one. */
  refresh(row) {
    const key = this.keyOf(row.id);
    const before = this.known.get(key);
    if (before?.etag === row.etag && before.edit === row.edit && before.delete === row.delete) return false;
    if ([...this.typed.get(key)?.values() ?? []].some((mark) => !mark.detail)) return false;
    this.put(key, row);
    return true;
  }

  remove(key) {
    const at = this.order.indexOf(key);
    if (at >= 0) this.order.splice(at, 1);
    this.members.delete(key);
    this.typed.delete(key);
    return at;
  }

  /** Lets the values of rows go that are far from these. */
  prune(first, last) {
    if (this.known.size <= MOST) return;
    const middle = (first + last) / 2;
    const far = this.order.map((key, at) => [Math.abs(at - middle), key]).filter(([, key]) => this.known.has(key) && !this.typed.has(key) && !key.startsWith("new-"));
    far.sort(([a], [b]) => b - a);
    for (const [, key] of far.slice(0, this.known.size - MOST / 2)) this.known.delete(key);
  }
}
