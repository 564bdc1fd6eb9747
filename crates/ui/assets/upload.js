// Dropping and choosing files and whole folders: a queue that shows the progress, rate and time left of each file, two at a
// time. Before a file is sent, the queue asks whether its name is taken, and then the person what to do. A connection that
// drops is taken up again where the server has the bytes, also after another page was opened: what is under way is kept by
// store.js. The words come from the element `#upload-queue`, which every page has in the reader's language.
import { forget, keep, kept } from "./store.js";

const panel = document.getElementById("upload-queue");
let target = document.querySelector("[data-upload]");
const PART = 32 * 2 ** 20;
const waiting = [];
const jobs = new Set();
let running = 0;
let leaving = false;

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

function row(job) {
  const view = document.getElementById("upload-row").content.firstElementChild.cloneNode(true);
  const part = (name) => view.querySelector(`[data-part=${name}]`);
  job.view = { item: view, state: part("state"), bar: part("bar"), pause: part("pause"), cancel: part("cancel") };
  const name = job.path ? `${job.path}/${job.file.name}` : job.file.name;
  part("name").textContent = name;
  job.view.bar.setAttribute("aria-label", name);
  job.view.pause.addEventListener("click", () => (job.paused ? resume(job) : pause(job)));
  job.view.cancel.addEventListener("click", () => cancel(job));
  panel.querySelector("ul").append(view);
}

function tell(job, text, kind = "soft number") {
  job.view.state.textContent = text;
  job.view.state.className = kind;
}

function progress(job, sent) {
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
  job.view.bar.hidden = true;
  job.view.pause.hidden = true;
  job.view.cancel.hidden = true;
  tell(job, text, ok ? "done" : "failed");
  jobs.delete(job);
  job.over = true;
  const forgotten = forget(job);
  next();
  if (jobs.size === 0) finished(forgotten);
}

/** The listing is shown anew once all is forgotten: the next page would go on with what it still finds. */
async function finished(forgotten) {
  panel.querySelector("[data-title]").textContent = say.finished;
  const here = target && [...panel.querySelectorAll("li")].some((item) => item.dataset.place === target.dataset.place);
  await forgotten;
  if (here && jobs.size === 0 && !panel.querySelector(".failed")) location.reload();
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
  jobs.add(job);
  row(job);
  job.view.item.dataset.place = job.place;
  waiting.push(job);
  next();
}

function add(file, path) {
  const job = { file, path, place: target.dataset.place, ask: target.dataset.ask, offset: 0 };
  enter(job);
  keep(job);
}

// A dropped folder is walked; `readEntries` gives at most a hundred at a time.
async function walk(entry, path) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return add(file, path);
  }
  const reader = entry.createReader();
  const inside = path ? `${path}/${entry.name}` : entry.name;
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return undefined;
    for (const child of batch) await walk(child, inside);
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
    for (const [entry, file] of dropped) {
      if (entry) walk(entry, "");
      else if (file) add(file, "");
    }
  });
}

function receive() {
  aim();
  catchDrops();
  document.addEventListener("swapped", aim);
  // The upload button opens the file chooser at once; without script it leads to a page with one.
  const chooser = document.createElement("input");
  Object.assign(chooser, { type: "file", multiple: true, id: "upload-files", hidden: true });
  document.body.append(chooser);
  chooser.addEventListener("change", () => {
    [...chooser.files].forEach((file) => add(file, ""));
    chooser.value = "";
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-choose-files]")) return;
    event.preventDefault();
    chooser.click();
  });
}

if (panel) {
  if (target) receive();
  panel.querySelector("[data-close]").addEventListener("click", () => {
    if (panel.querySelector(".done") && target) location.reload();
    else panel.hidden = true;
  });
  addEventListener("beforeunload", (event) => {
    if ([...jobs].some((job) => !job.kept)) event.preventDefault();
  });
  addEventListener("pagehide", () => { leaving = true; });
  kept().then((found) => found.forEach((job) => enter({ ...job, unsure: Boolean(job.address) })));
}
