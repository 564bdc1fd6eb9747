// Dropping and choosing files: a queue with progress, two at a time. Before a file is sent, the queue asks whether its
// name is taken, and then the person what to do.
// The words come from the element `#upload-queue`, which the page has in the reader's language.

const target = document.querySelector("[data-upload]");
const panel = document.getElementById("upload-queue");
const waiting = [];
let running = 0;
let unfinished = 0;

if (target && panel) {
  const say = panel.dataset;

  const row = (name) => {
    const item = document.createElement("li");
    const line = document.createElement("div");
    line.className = "row between";
    const label = document.createElement("span");
    label.className = "name";
    label.textContent = name;
    const state = document.createElement("span");
    state.className = "soft number";
    state.textContent = say.waiting;
    const bar = document.createElement("progress");
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", name);
    line.append(label, state);
    item.append(line, bar);
    panel.querySelector("ul").append(item);
    return { item, state, bar };
  };

  const settle = (job, ok, text) => {
    job.view.bar.hidden = true;
    job.view.state.textContent = text;
    job.view.state.className = ok ? "done" : "failed";
    running -= 1;
    unfinished -= 1;
    next();
    if (unfinished === 0) finished();
  };

  const send = (job) => {
    const body = new FormData();
    body.set("form_token", target.dataset.token);
    if (job.path) body.set("path", job.path);
    if (job.taken) body.set("taken", job.taken);
    body.set("file", job.file, job.file.name);
    const request = new XMLHttpRequest();
    request.open("POST", target.dataset.upload);
    request.setRequestHeader("accept", "application/problem+json");
    request.upload.addEventListener("progress", (event) => {
      job.view.bar.value = event.loaded / event.total;
      job.view.state.textContent = `${Math.floor((100 * event.loaded) / event.total)} %`;
    });
    request.addEventListener("load", () => {
      if (request.status < 300) return settle(job, true, say.done);
      let detail = say.failed;
      try { detail = JSON.parse(request.responseText).detail ?? detail; } catch { /* not a problem document */ }
      settle(job, false, detail);
    });
    request.addEventListener("error", () => settle(job, false, say.failed));
    request.send(body);
  };

  // One question at a time; an answer "for all" holds until the page is left.
  let forAll;
  let questions = Promise.resolve();
  const ask = (job, versions) => {
    questions = questions.then(() => forAll ?? new Promise((resolve) => {
      const box = document.createElement("div");
      box.className = "question";
      const text = document.createElement("p");
      text.textContent = say.taken.replace("{0}", job.file.name);
      const all = document.createElement("label");
      all.className = "choice";
      const tick = document.createElement("input");
      tick.type = "checkbox";
      all.append(tick, say.forAll);
      const row = document.createElement("div");
      row.className = "row";
      for (const [word, label] of [["replace", versions ? say.replace : say.overwrite], ["both", say.both], ["skip", say.skip]]) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "button";
        button.textContent = label;
        button.addEventListener("click", () => {
          if (tick.checked) forAll = word;
          box.remove();
          resolve(word);
        });
        row.append(button);
      }
      box.append(text, row, all);
      job.view.item.append(box);
      box.scrollIntoView({ block: "nearest" });
      row.firstChild.focus();
    }));
    return questions;
  };

  const begin = async (job) => {
    const question = new URLSearchParams({ name: job.file.name, path: job.path });
    const answer = await fetch(`${target.dataset.ask}?${question}`, { headers: { accept: "application/json" } });
    const { taken, versions } = answer.ok ? await answer.json() : {};
    if (taken) job.taken = await ask(job, versions);
    // Should somebody take the name only now, both stay.
    else job.taken = "both";
    if (job.taken === "skip") return settle(job, true, say.skipped);
    return send(job);
  };

  const next = () => {
    while (running < 2 && waiting.length > 0) {
      running += 1;
      const job = waiting.shift();
      begin(job).catch(() => settle(job, false, say.failed));
    }
  };

  const finished = () => {
    panel.querySelector("[data-title]").textContent = say.finished;
    if (!panel.querySelector(".failed")) location.reload();
  };

  const add = (file, path) => {
    panel.hidden = false;
    panel.querySelector("[data-title]").textContent = say.title;
    unfinished += 1;
    waiting.push({ file, path, view: row(path ? `${path}/${file.name}` : file.name) });
    next();
  };

  // A dropped folder is walked; `readEntries` gives at most a hundred at a time.
  const walk = async (entry, path) => {
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
  };

  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
  target.addEventListener("dragover", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    target.classList.add("over");
  });
  target.addEventListener("dragleave", (event) => {
    if (!target.contains(event.relatedTarget)) target.classList.remove("over");
  });
  target.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    target.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    entries.forEach((entry) => walk(entry, ""));
  });

  // The upload button opens the file chooser at once; without script it leads to a page with one.
  const chooser = document.createElement("input");
  chooser.type = "file";
  chooser.multiple = true;
  chooser.id = "upload-files";
  chooser.hidden = true;
  document.body.append(chooser);
  chooser.addEventListener("change", () => {
    [...chooser.files].forEach((file) => add(file, ""));
    chooser.value = "";
  });
  document.querySelector("[data-choose-files]")?.addEventListener("click", (event) => {
    event.preventDefault();
    chooser.click();
  });

  panel.querySelector("[data-close]").addEventListener("click", () => {
    if (panel.querySelector(".done")) location.reload();
    else panel.hidden = true;
  });
  addEventListener("beforeunload", (event) => { if (unfinished > 0) event.preventDefault(); });
}
