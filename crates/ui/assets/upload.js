// The upload queue: files and folders that are dropped, chosen or pasted, two at a time, with progress and time left. Before a file is sent, the queue asks whether its name is taken, and then the person what to do. A connection that
// drops is taken up again where the server has the bytes, also after another page was opened: what is under way is kept by
// store.js. The words come from the element `#upload-queue`, which every page has in the reader's language.
import { forget, keep, kept } from "./store.js";
import { tellLater } from "./toast.js";

const panel = document.getElementById("upload-queue");
let target = document.querySelector("[data-upload]");
const PART = 32 * 2 ** 20;
/** Files above this number are not kept for the next page: the browser would copy all of them. The page warns before it is left. */
const MOST_KEPT = 200;
/** Rows of files that are over; older ones make room. What failed stays. */
const MOST_SHOWN = 50;
const waiting = [];
const jobs = new Set();
/** Files and bytes of this queue, all and those that are over. */
const total = { files: 0, bytes: 0, over: 0, sent: 0, stored: 0, failed: 0 };
let begun;
let running = 0;
let leaving = false;
let walking = 0;
/** Settled when the browser has forgotten all files that are over. */
let forgotten = Promise.resolve();

const say = panel?.dataset ?? {};
const fill = (text, ...values) => text.replace(/\{(\d)\}/g, (_, i) => values[i]);
const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

function human(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (bytes >= 1000 && at < units.length - 1) [bytes, at] = [bytes / 1024, at + 1];
  const digits = bytes < 10 && at > 0 ? 1 : 0;
  return `${bytes.toLocaleString(document.documentElement.lang, { maximumFractionDigits: digits })} ${units[at]}`;
}

function left(seconds) {
  if (seconds < 60) return fill(say.seconds, Math.ceil(seconds));
  return seconds < 5400 ? fill(say.minutes, Math.round(seconds / 60)) : fill(say.hours, Math.round(seconds / 3600));
}

/** Draws how far all of it is. Many changes at once are drawn once. */
let drawing;
function draw() {
  drawing ??= requestAnimationFrame(() => {
    drawing = undefined;
    const under = [...jobs].reduce((sum, job) => sum + (job.sent ?? 0), 0);
    const sent = total.sent + under;
    const share = total.bytes ? sent / total.bytes : total.over / Math.max(1, total.files);
    const count = (number) => number.toLocaleString(document.documentElement.lang);
    const words = [fill(say.count, count(total.over), count(total.files)), `${Math.floor(share * 100)} %`];
    const seconds = (performance.now() - begun) / 1000;
    if (sent > 0 && seconds > 2 && share < 1) words.push(left((seconds / sent) * (total.bytes - sent)));
    const bar = panel.querySelector("[data-total]");
    bar.value = share;
    bar.hidden = jobs.size === 0;
    panel.querySelector("[data-tally]").textContent = jobs.size > 0 ? words.join("\u00a0· ") : fill(say.count, count(total.stored), count(total.files));
    panel.querySelector("[data-cancel-all]").hidden = jobs.size < 2;
    const further = panel.querySelector("[data-further]");
    further.hidden = waiting.length === 0;
    further.textContent = fill(say.further, count(waiting.length));
  });
}

/** Gives a file its row; at the latest when it is its turn. */
function row(job) {
  if (job.view) return;
  const list = panel.querySelector("ul");
  const ended = list.querySelectorAll("li:has(.done)");
  if (ended.length >= MOST_SHOWN) ended[0].remove();
  const view = document.getElementById("upload-row").content.firstElementChild.cloneNode(true);
  const part = (name) => view.querySelector(`[data-part=${name}]`);
  job.view = { item: view, state: part("state"), bar: part("bar"), pause: part("pause"), cancel: part("cancel") };
  const name = job.path ? `${job.path}/${job.file.name}` : job.file.name;
  part("name").textContent = name;
  job.view.bar.setAttribute("aria-label", name);
  job.view.pause.addEventListener("click", () => (job.paused ? resume(job) : pause(job)));
  job.view.cancel.addEventListener("click", () => cancel(job));
  list.append(view);
}

function tell(job, text, kind = "soft number") {
  if (!job.view) return;
  job.view.state.textContent = text;
  job.view.state.className = kind;
}

function progress(job, sent) {
  job.sent = sent;
  draw();
  const now = performance.now();
  job.rate ??= { at: now, sent, value: 0 };
  if (now - job.rate.at > 500) {
    const value = ((sent - job.rate.sent) / (now - job.rate.at)) * 1000;
    job.rate = { at: now, sent, value: job.rate.value ? 0.7 * job.rate.value + 0.3 * value : value };
  }
  job.view.bar.value = job.file.size ? sent / job.file.size : 1;
  const words = [`${Math.floor(job.view.bar.value * 100)} %`];
  if (job.rate.value > 0) words.push(`${human(job.rate.value)}/s`, left((job.file.size - sent) / job.rate.value));
  tell(job, words.join("\u00a0· "));
}

function settle(job, ok, text) {
  row(job);
  job.view.bar.hidden = true;
  job.view.pause.hidden = true;
  job.view.cancel.hidden = true;
  tell(job, text, ok ? "done" : "failed");
  jobs.delete(job);
  job.over = true;
  total.over += 1;
  total.sent += job.file.size;
  if (!ok) total.failed += 1;
  else total.here ||= target?.dataset.place === job.place;
  if (ok && text === say.done) total.stored += 1;
  draw();
  forgotten = Promise.allSettled([forgotten, forget(job)]);
  next();
  if (jobs.size === 0 && walking === 0) finished();
}

/** The listing is shown anew once all is forgotten: the next page would go on with what it still finds. */
async function finished() {
  panel.querySelector("[data-title]").textContent = say.finished;
  await forgotten;
  if (!total.here || jobs.size > 0 || walking > 0 || total.failed > 0) return;
  // The button of the queue shows the listing anew as soon as nothing is typed.
  if (document.querySelector(".cell-editor, dialog[open]")) return;
  if (total.stored > 0) tellLater(total.stored === 1 ? say.storedOne : fill(say.stored, total.stored.toLocaleString(document.documentElement.lang)));
  location.reload();
}

function pause(job) {
  job.paused = true;
  job.request?.abort();
  job.view.pause.textContent = say.resume;
  tell(job, say.paused);
}

function resume(job) {
  job.paused = false;
  job.rate = undefined;
  job.view.pause.textContent = say.pause;
  tell(job, say.waiting);
  job.wake?.();
}

async function cancel(job) {
  job.cancelled = true;
  job.request?.abort();
  job.wake?.();
  const queued = waiting.indexOf(job);
  if (queued >= 0) waiting.splice(queued, 1);
  if (job.address) fetch(job.address, { method: "DELETE", headers: { "tus-resumable": "1.0.0" } }).catch(() => {});
  if (queued >= 0) settle(job, true, say.cancelled);
}

function cancelAll() {
  // What waits is dropped at once, and gets no rows: there may be tens of thousands.
  for (const job of waiting.splice(0)) {
    job.cancelled = true;
    job.over = true;
    jobs.delete(job);
    total.over += 1;
    total.sent += job.file.size;
    forgotten = forget(job);
  }
  for (const job of [...jobs]) cancel(job);
  draw();
  if (jobs.size === 0 && walking === 0) finished();
}

/** A request with progress; resolves with the request whatever the status, rejects when there was no answer. */
function ask(job, method, address, fields, body) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    job.request = request;
    request.open(method, address);
    for (const [name, value] of Object.entries({ "tus-resumable": "1.0.0", ...fields })) request.setRequestHeader(name, value);
    if (body) request.upload.addEventListener("progress", (event) => progress(job, job.offset + event.loaded));
    request.addEventListener("load", () => resolve(request));
    request.addEventListener("error", () => reject(new Error("lost")));
    request.addEventListener("abort", () => reject(new Error("stopped")));
    request.send(body);
  });
}

/** Waits until the connection may be tried again, or somebody asks for it. */
function rest(job, seconds) {
  return new Promise((resolve) => {
    const timer = seconds && setTimeout(resolve, seconds * 1000);
    job.wake = () => { clearTimeout(timer); resolve(); };
    addEventListener("online", job.wake, { once: true });
  });
}

class Refused extends Error {}

// A store or quota that is full is an answer: asking again makes no room.
const isBusy = (status) => status === 429 || (status >= 500 && status !== 507);

function check(request) {
  if (request.status < 300) return request;
  if (request.status === 401) throw new Error("session");
  if (isBusy(request.status)) throw new Error("busy");
  let detail = say.failed;
  try { detail = JSON.parse(request.responseText).detail ?? detail; } catch { /* not a problem document */ }
  throw Object.assign(new Refused(detail), { status: request.status });
}

const PART_TYPE = { "content-type": "application/offset+octet-stream" };

async function create(job) {
  const conflict = { replace: "replace", both: "keep-both" }[job.taken];
  const words = { path: [job.place, job.path, job.file.name].filter(Boolean).join("/"), on_conflict: conflict };
  if (job.file.type) words.filetype = job.file.type;
  if (job.file.lastModified && !job.isPasted) words.modified_at = new Date(job.file.lastModified).toISOString();
  const said = Object.entries(words).map(([key, value]) => `${key} ${base64(value)}`).join(",");
  const first = job.file.size <= PART ? job.file : undefined;
  const fields = { "upload-length": job.file.size, "upload-metadata": said, ...(first && PART_TYPE) };
  const answer = check(await ask(job, "POST", "/api/v1/uploads", fields, first));
  job.address = answer.getResponseHeader("location");
  job.offset = Number(answer.getResponseHeader("upload-offset"));
  keep(job);
}

/** Finds out whether the name is taken, and then what to do. */
async function settleName(job) {
  const words = new URLSearchParams({ name: job.file.name, path: job.path });
  const answer = await fetch(`${job.ask}?${words}`, { headers: { accept: "application/json" }, redirect: "manual" });
  // Who is not signed in is led to where one signs in.
  if (answer.type === "opaqueredirect") throw new Error("session");
  if (isBusy(answer.status)) throw new Error("busy");
  if (!answer.ok) throw new Refused((await answer.json().catch(() => ({}))).detail ?? say.failed);
  const { taken, versions } = await answer.json();
  // Should somebody take the name only now, both stay.
  job.taken = taken ? await question(job, versions) : "both";
}

async function step(job) {
  if (!job.taken) return settleName(job);
  if (!job.address) return create(job);
  if (job.unsure) {
    const answer = await ask(job, "HEAD", job.address, {});
    if (answer.status === 404 || answer.status === 410) [job.address, job.offset] = [undefined, 0];
    else job.offset = Number(check(answer).getResponseHeader("upload-offset"));
    job.unsure = false;
    return undefined;
  }
  const part = job.file.slice(job.offset, job.offset + PART);
  const answer = check(await ask(job, "PATCH", job.address, { ...PART_TYPE, "upload-offset": job.offset }, part));
  job.offset = Number(answer.getResponseHeader("upload-offset"));
  return undefined;
}

async function send(job) {
  row(job);
  let tries = 0;
  while (!job.address || job.unsure || job.offset < job.file.size) {
    if (job.cancelled) return settle(job, true, say.cancelled);
    if (job.taken === "skip") return settle(job, true, say.skipped);
    if (job.paused) await rest(job);
    if (job.paused || job.cancelled) continue;
    try {
      await step(job);
      tries = 0;
    } catch (error) {
      if (leaving) return undefined;
      if (job.paused || job.cancelled) job.unsure = Boolean(job.address);
      else if (error instanceof Refused && !(error.status === 409 && job.address)) return settle(job, false, error.message);
      else {
        job.unsure = Boolean(job.address);
        job.rate = undefined;
        tries += 1;
        tell(job, error.message === "session" ? say.session : say.lost, "failed");
        await rest(job, Math.min(30, 2 ** Math.min(tries, 5) / 2));
      }
    }
  }
  return settle(job, true, say.done);
}

// One question at a time; an answer "for all" holds until the page is left.
let forAll;
let questions = Promise.resolve();
function question(job, versions) {
  questions = questions.then(() => forAll ?? new Promise((resolve) => {
    const box = document.getElementById("upload-question").content.firstElementChild.cloneNode(true);
    box.querySelector("p").textContent = fill(say.taken, job.file.name);
    const tick = box.querySelector("input");
    for (const button of box.querySelectorAll("button")) {
      if (button.value === "replace" && !versions) button.textContent = say.overwrite;
      button.addEventListener("click", () => {
        if (tick.checked) forAll = button.value;
        box.remove();
        resolve(button.value);
      });
    }
    job.view.item.append(box);
    panel.classList.remove("folded");
    box.scrollIntoView({ block: "nearest" });
    box.querySelector("button").focus();
  }));
  return questions;
}

function next() {
  while (running < 2 && waiting.length > 0) {
    running += 1;
    const job = waiting.shift();
    send(job).catch(() => settle(job, false, say.failed)).finally(() => { running -= 1; next(); });
  }
}

function enter(job) {
  panel.hidden = false;
  panel.querySelector("[data-title]").textContent = say.title;
  begun ??= performance.now();
  jobs.add(job);
  total.files += 1;
  total.bytes += job.file.size;
  waiting.push(job);
  next();
  draw();
}

function add(file, path, more = {}) {
  const job = { file, path, place: target.dataset.place, ask: target.dataset.ask, offset: 0, ...more };
  enter(job);
  if (jobs.size <= MOST_KEPT) keep(job);
}

// A dropped folder is walked; `readEntries` gives at most a hundred at a time.
// What cannot be read does not keep the rest from being uploaded.
async function walk(entry, path) {
  const inside = path ? `${path}/${entry.name}` : entry.name;
  try {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      return add(file, path);
    }
    const reader = entry.createReader();
    for (;;) {
      const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (batch.length === 0) return undefined;
      for (const child of batch) await walk(child, inside);
    }
  } catch {
    return unread(inside);
  }
}

function aim() {
  target = document.querySelector("[data-upload]");
}

/** The whole page takes what is dropped, where something can be stored; elsewhere the browser must not open it. */
function catchDrops() {
  const brings = (event) => event.dataTransfer?.types.includes("Files") && !event.target.closest?.("input[type=file]");
  const open = () => target && !document.querySelector("dialog[open]");
  document.addEventListener("dragover", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    if (open()) target.classList.add("over");
    else event.dataTransfer.dropEffect = "none";
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) target?.classList.remove("over");
  });
  document.addEventListener("drop", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    if (!open()) return;
    target.classList.remove("over");
    // Both are gone with the event. What is no place of a file system is a file alone.
    const items = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    const dropped = items.map((item) => [item.webkitGetAsEntry(), item.getAsFile()]);
    take(async () => {
      for (const [entry, file] of dropped) {
        if (entry) await walk(entry, "");
        else if (file) add(file, "");
      }
    });
  });
}

/** Takes files that are found one after the other; the queue is not over before all are found. */
async function take(find) {
  walking += 1;
  try {
    await find();
  } catch {
    unread();
  } finally {
    walking -= 1;
    if (walking === 0 && jobs.size === 0 && total.files > 0) finished();
  }
}

/** Says that a file or folder could not be read, such as one that was deleted meanwhile. */
function unread(name) {
  panel.hidden = false;
  const item = document.createElement("li");
  item.append(Object.assign(document.createElement("span"), { className: "failed", textContent: name ? `${name}: ${say.unread}` : say.unread }));
  panel.querySelector("ul").append(item);
  total.failed += 1;
}

/** A picture of the clipboard gets a name with the time. */
function pasted(event) {
  if (!target || event.defaultPrevented || event.target.closest?.("input, textarea, [contenteditable]") || document.querySelector("dialog[open]")) return;
  const files = [...(event.clipboardData?.files ?? [])];
  if (files.length === 0) return;
  event.preventDefault();
  const time = new Date(Date.now() - new Date().getTimezoneOffset() * 60000).toISOString().slice(0, 19).replace("T", " ").replaceAll(":", ".");
  files.forEach((file, at) => {
    const isNamed = file.name && !/^image\.\w+$/.test(file.name);
    const extension = file.type.split("/")[1]?.replace("jpeg", "jpg").replace(/\W.*/, "") ?? "bin";
    const name = isNamed ? file.name : `${say.picture} ${time}${at ? ` (${at + 1})` : ""}.${extension}`;
    add(new File([file], name, { type: file.type }), "", { isPasted: true });
  });
}

function receive() {
  aim();
  catchDrops();
  document.addEventListener("swapped", aim);
  // The upload button opens the file chooser at once; without script it leads to a page with one.
  const chooser = document.createElement("input");
  Object.assign(chooser, { type: "file", multiple: true, id: "upload-files", hidden: true });
  const folders = document.createElement("input");
  Object.assign(folders, { type: "file", webkitdirectory: true, id: "upload-folder", hidden: true });
  document.body.append(chooser, folders);
  chooser.addEventListener("change", () => {
    [...chooser.files].forEach((file) => add(file, ""));
    chooser.value = "";
  });
  folders.addEventListener("change", () => {
    for (const file of folders.files) add(file, file.webkitRelativePath.split("/").slice(0, -1).join("/"));
    folders.value = "";
  });
  document.addEventListener("click", (event) => {
    const way = event.target.closest("[data-choose-files], [data-choose-folder]");
    if (!way) return;
    event.preventDefault();
    (way.hasAttribute("data-choose-folder") ? folders : chooser).click();
  });
  document.addEventListener("paste", pasted);
  for (const button of document.querySelectorAll("[data-choose-folder]")) button.hidden = false;
}

if (panel) {
  if (target) receive();
  panel.querySelector("[data-close]").addEventListener("click", () => {
    if (jobs.size === 0 && total.here) location.reload();
    else panel.hidden = true;
  });
  const fold = panel.querySelector("[data-fold]");
  fold.addEventListener("click", () => {
    const isFolded = panel.classList.toggle("folded");
    fold.setAttribute("aria-expanded", String(!isFolded));
  });
  panel.querySelector("[data-cancel-all]").addEventListener("click", cancelAll);
  addEventListener("beforeunload", (event) => {
    if (walking > 0 || [...jobs].some((job) => !job.kept)) event.preventDefault();
  });
  addEventListener("pagehide", () => { leaving = true; });
  kept().then((found) => found.forEach((job) => enter({ ...job, unsure: Boolean(job.address) })));
}
