// What is being uploaded, kept by the browser (IndexedDB) so that another page goes on with it. Files above a limit are not
// kept, since the browser copies them: for those the page warns before it is left. One page at a time works on what is kept.

import { note } from "./uploads-kept.js";

const LARGEST = 512 * 2 ** 20;
const login = document.getElementById("upload-queue")?.dataset.login;
let opened;

function base() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("strongroom-uploads", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("jobs", { keyPath: "id" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

/** Resolves once what was done is there for the next page too: a page that leaves earlier takes it back. */
async function run(mode, work) {
  const transaction = (await base()).transaction("jobs", mode);
  return new Promise((resolve, reject) => {
    const request = work(transaction.objectStore("jobs"));
    transaction.oncomplete = () => resolve(request.result);
    transaction.onabort = () => reject(transaction.error);
  });
}

/** What is kept and forgotten, in the order in which it was asked for. */
let last = Promise.resolve();
const inTurn = (work) => (last = last.then(work));

/** Whether what is kept is this page's work; held as long as the page lives, and only asked for when there is something. */
let claimed;
function turn() {
  claimed ??= new Promise((resolve) => {
    if (!navigator.locks || !login) return resolve(false);
    const hold = (lock) => {
      resolve(Boolean(lock));
      return new Promise(() => {});
    };
    // The page before may not quite have gone yet.
    const patience = AbortSignal.timeout(1000);
    return navigator.locks.request("strongroom-uploads", { signal: patience }, hold).catch(() => resolve(false));
  });
  return claimed;
}

/** Keeps what is needed to go on with a job that is not over; does nothing where that cannot be. */
export const keep = (job) => inTurn(async () => {
  if (job.over || job.file.size > LARGEST || !(await turn())) return;
  job.id ??= `${Date.now()}-${Math.random()}`;
  const { id, file, path, place, ask, taken, address } = job;
  try {
    await run("readwrite", (store) => store.put({ id, file, path, place, ask, taken, address, login }));
    job.kept = true;
    note(true);
  } catch {
    // No room, or a private window: the page warns before it is left.
    job.kept = false;
  }
});

/** Forgets a job; resolves once the next page will not find it. */
export const forget = (job) => inTurn(async () => {
  if (job.id) await run("readwrite", (store) => store.delete(job.id)).catch(() => {});
});

/** The jobs that another page left behind. */
export async function kept() {
  if (!login || !("indexedDB" in window)) return [];
  const mine = async () => {
    const all = await run("readonly", (store) => store.getAll());
    if (all.length === 0) note(false);
    return all.filter((job) => job.login === login);
  };
  try {
    if ((await mine()).length === 0 || !(await turn())) return [];
    return (await mine()).map((job) => ({ ...job, kept: true, offset: 0 }));
  } catch {
    return [];
  }
}
