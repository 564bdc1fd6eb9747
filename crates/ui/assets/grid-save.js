// Saving what was typed into a grid: one request after the other, each with a key of its own, so that one that is sent again is
// not made twice. What somebody else changed meanwhile, and what the server refuses, stays at its cell; all else is saved.
const RETRY = 4000;
/** The server takes 2 MiB. */
const MOST_CHARS = 2_000_000;
export const MOST_ROWS = 1000;

export class Saver {
  constructor(rows, { token, user }, events) {
    Object.assign(this, { rows, token, user, events, queue: [], busy: false, state: "", past: [], future: [] });
    addEventListener("online", () => this.again());
  }

  get pending() {
    return this.busy || this.queue.length > 0;
  }

  /** Adds a unit of changes: `cells` with row, column and text, `removed` and `restored` rows. */
  add(unit) {
    const changes = new Map();
    const draft = this.rows.order.at(-1);
    for (const { key, column, text } of unit.cells ?? []) {
      const was = this.rows.text(key, column);
      if (was === text && !this.rows.markOf(key, column)) continue;
      if (!changes.has(key)) changes.set(key, { key, set: {}, was: {} });
      const change = changes.get(key);
      const mark = this.rows.markOf(key, column);
      change.set[column] = text;
      // What is being saved already is what this follows; what was not saved still has the value that it met.
      const before = mark?.detail ? mark.was : was;
      change.was[column] = unit.was?.get(`${key} ${column}`) ?? before;
      this.rows.mark(key, column, { text, was: change.was[column] });
    }
    for (const key of unit.removed ?? []) changes.set(key, { key, remove: true });
    if (draft && this.rows.isDraft(draft) && this.rows.typed.has(draft)) this.rows.draft();
    if (!changes.size && !unit.restored?.length) return;
    const group = { cells: [], added: [], removed: [], restored: [], into: unit.into ?? "past", fresh: !unit.into };
    this.queue.push({ changes: [...changes.values()], restored: unit.restored ?? [], group, last: true });
    this.events.changed([...changes.keys()]);
    this.run();
  }

  again() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.run();
  }

  say(state) {
    this.state = state;
    this.events.state(state);
  }

  run() {
    if (this.busy || this.timer) return;
    this.busy = true;
    this.running = this.work();
  }

  async work() {
    try {
      while (this.queue.length) {
        if (!["offline", "away"].includes(this.state)) this.say("saving");
        if (!(await this.send(this.queue[0]))) {
          this.timer = setTimeout(() => this.again(), RETRY);
          return;
        }
        this.queue.shift();
      }
      this.say("saved");
    } finally {
      this.busy = false;
      this.events.idle();
    }
  }

  /** Sends a unit; false if it has to be sent again. */
  async send(unit) {
    if (unit.restored.length) {
      const ids = unit.restored.map(({ key }) => this.rows.idOf(key));
      const answer = await this.post("/restore", { ids: ids.join(",") });
      if (!answer) return false;
      this.restore(unit, answer.ok ? answer.body.rows : []);
      unit.restored = [];
    }
    if (!unit.changes.length) {
      this.finish(unit);
      return true;
    }
    if (!unit.body && !(await this.prepare(unit))) return false;
    if (!unit.sent.length) {
      this.finish(unit);
      return true;
    }
    const answer = await this.post("", { changes: unit.body }, unit.id);
    if (!answer) return false;
    if (answer.ok) this.take(unit, answer.body.outcomes);
    else this.refuse(unit.sent, answer.body?.detail ?? String(answer.status));
    return true;
  }

  /** Writes the request down: the tags of the rows are known only now, behind the requests before. */
  async prepare(unit) {
    const unknown = unit.changes.map(({ key }) => key).filter((key) => !this.rows.row(key));
    try {
      if (unknown.length) await this.rows.fetch(unknown);
    } catch {
      this.say("offline");
      return false;
    }
    unit.sent = unit.changes.filter((change) => this.ready(change));
    const made = unit.sent.map((change) => {
      const [row, id] = [this.rows.row(change.key), this.rows.idOf(change.key)];
      if (change.remove) return { id, delete: true };
      if (id) return { id, etag: row.etag, was: change.was, set: change.set };
      // All that was typed into the new row so far, also what could not be saved alone.
      for (const [column, mark] of this.rows.typed.get(change.key) ?? []) change.set[column] ??= mark.text;
      return { set: Object.fromEntries(Object.entries(change.set).filter(([, text]) => text)) };
    });
    unit.id = crypto.randomUUID?.() ?? [...crypto.getRandomValues(new Uint32Array(4))].join("-");
    unit.body = JSON.stringify({ atomic: true, changes: made });
    return true;
  }

  /** Whether a change can be sent; what it met is compared with what is there now. */
  ready(change) {
    const { key, set } = change;
    const row = this.rows.row(key);
    if (!row) {
      for (const [column, text] of Object.entries(set ?? {})) this.rows.mark(key, column, { text, was: "", detail: this.events.gone(text) });
      return false;
    }
    if (change.remove) return Boolean(this.rows.idOf(key));
    if (!this.rows.idOf(key)) {
      const texts = [...Object.values(set), ...[...this.rows.typed.get(key)?.values() ?? []].map((mark) => mark.text)];
      if (texts.some(Boolean)) return true;
      this.rows.typed.delete(key);
      return false;
    }
    const [rest] = this.compare(change, row);
    Object.assign(change, rest ?? { set: {}, was: {} });
    return Boolean(rest);
  }

  /** The answer; nothing if the same request has to be sent again. */
  async post(path, fields, key) {
    const body = new URLSearchParams({ form_token: this.token, ...fields });
    if (body.toString().length > MOST_CHARS) return { ok: false, status: 413, body: { detail: this.events.large() } };
    const headers = { accept: "application/problem+json", ...(key && { "idempotency-key": key }) };
    const answer = await fetch(`${this.rows.source}${path}?${this.rows.query}`, { method: "POST", body, headers }).catch(() => undefined);
    if (!answer || answer.status === 429 || answer.status >= 500) {
      this.say("offline");
      return undefined;
    }
    if (answer.status !== 401 && !answer.redirected && answer.headers.get("content-type")?.includes("json")) {
      return { ok: answer.ok, status: answer.status, body: await answer.json().catch(() => undefined) };
    }
    // The session is another one, or none: with a new token of the same person at once again, otherwise later.
    this.say("away");
    const fresh = await this.rows.ask("/rows", {}).catch(() => undefined);
    if (fresh?.user === this.user && !this.renewed) {
      [this.token, this.renewed] = [fresh.token, true];
      return this.post(path, fields, key).finally(() => { this.renewed = false; });
    }
    return undefined;
  }

  take(unit, outcomes) {
    const [rest, keys] = [[], []];
    outcomes.forEach((outcome, at) => {
      const change = unit.sent[at];
      keys.push(change.key);
      if (outcome.status < 300) this.took(unit.group, change, outcome);
      else if (outcome.status === 424) rest.push(change);
      else if (outcome.row && outcome.code === "value_changed") rest.push(...this.compare(change, outcome.row));
      else rest.push(...this.refused(change, outcome));
    });
    this.events.changed(keys);
    if (rest.length) this.queue.splice(1, 0, { changes: rest, restored: [], group: unit.group });
    else this.finish(unit);
  }

  took(group, change, outcome) {
    const { key } = change;
    if (change.remove) {
      group.removed.push({ key, at: this.rows.remove(key) });
      return;
    }
    const isNew = !this.rows.idOf(key);
    if (outcome.row) this.rows.put(key, outcome.row);
    const later = this.queue.slice(1).flatMap((unit) => unit.changes.filter((one) => one.key === key && one.was));
    for (const [column, text] of Object.entries(change.set)) {
      if (!isNew) group.cells.push({ key, column, was: change.was[column], text: this.rows.stored(key, column)[1] });
      if (this.rows.markOf(key, column)?.text === text) this.rows.unmark(key, column);
      for (const one of later) if (one.was[column] === text) one.was[column] = this.rows.stored(key, column)[1];
    }
    if (isNew) group.added.push({ key });
  }

  /** Cells that somebody else changed stay with both values; the others are sent with the tag of now. */
  compare(change, row) {
    const { key } = change;
    if (change.remove) return [change];
    this.rows.put(key, row);
    const rest = { key, set: {}, was: {} };
    for (const [column, text] of Object.entries(change.set)) {
      const [shown, now] = this.rows.stored(key, column);
      if (now === change.was[column]) [rest.set[column], rest.was[column]] = [text, now];
      else if (now === text) this.rows.unmark(key, column);
      else this.rows.mark(key, column, { text, was: now, theirs: shown, by: row.by, detail: this.events.conflict(row.by, shown, text) });
    }
    return Object.keys(rest.set).length ? [rest] : [];
  }

  refused(change, outcome) {
    const { key } = change;
    const detail = outcome.detail ?? String(outcome.status);
    if (change.remove) {
      this.events.tell(detail);
      return [];
    }
    const text = (column) => change.set[column] ?? this.rows.text(key, column);
    const column = outcome.column && this.rows.at(outcome.column) > 0 ? outcome.column : undefined;
    const columns = column ? [column] : Object.keys(change.set);
    const was = (one) => change.was[one] ?? this.rows.stored(key, one)[1];
    const said = outcome.status === 404 ? (one) => this.events.gone(text(one)) : () => detail;
    for (const one of columns) this.rows.mark(key, one, { text: text(one), was: was(one), detail: said(one) });
    const rest = Object.entries(change.set).filter(([one]) => !columns.includes(one));
    if (!rest.length) return [];
    // A new row waits until all of it can be saved.
    if (!this.rows.idOf(key)) {
      for (const [one, value] of rest) this.rows.mark(key, one, { text: value, was: "", waits: true, detail: this.events.waits() });
      return [];
    }
    return [{ key, set: Object.fromEntries(rest), was: change.was }];
  }

  /** The whole request was refused. */
  refuse(changes, detail) {
    for (const change of changes) {
      for (const [column, text] of Object.entries(change.set ?? {})) this.rows.mark(change.key, column, { text, was: change.was[column], detail });
      if (change.remove) this.events.tell(detail);
    }
    this.events.changed(changes.map(({ key }) => key));
  }

  restore(unit, rows) {
    const back = new Set(rows.map((row) => row.id));
    // In the reverse order, each place is what it was.
    for (const { key, at } of [...unit.restored].reverse()) {
      const row = rows.find((one) => one.id === this.rows.idOf(key));
      if (!row) continue;
      this.rows.put(key, row);
      this.rows.insert(Math.min(at < 0 ? Infinity : at, this.rows.order.length), key);
      unit.group.restored.push({ key });
    }
    if (back.size < unit.restored.length) this.events.lost();
    this.events.changed(undefined);
  }

  /** All of a unit is done: it can be undone, as far as it was done. */
  finish({ group }) {
    const { cells, added, removed, restored, into, fresh } = group;
    if (!cells.length && !added.length && !removed.length && !restored.length) return;
    this[into].push({ cells, removed: [...added, ...restored], restored: removed });
    if (fresh) this.future.length = 0;
    if (this.past.length > 200) this.past.shift();
    this.events.state(this.state);
  }

  undo() {
    return this.back(this.past, "future");
  }

  redo() {
    return this.back(this.future, "past");
  }

  /** Makes the inverse of the last unit, once that is saved. */
  async back(stack, into) {
    await this.running;
    if (this.pending || !stack.length) return;
    const { cells, removed, restored } = stack.pop();
    const was = new Map(cells.map(({ key, column, text }) => [`${key} ${column}`, text]));
    this.add({
      cells: cells.map(({ key, column, was: text }) => ({ key, column, text })),
      was,
      removed: removed.map(({ key }) => key),
      restored,
      into,
    });
    const [at] = [cells[0] ?? restored[0]];
    if (at) this.events.show(at.key, at.column);
  }
}
