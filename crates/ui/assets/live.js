// A page of a document follows what happens to it elsewhere: a new version, a lock. Soon while somebody edits it, seldom
// otherwise; not while the page is hidden, and never over a dialog in which somebody types.
/** Seconds between two looks. */
const SOON = 4;
const SELDOM = 30;
/** How long after an office program was asked to open the document it is followed closely, in milliseconds. */
const LAUNCHED_FOR = 15 * 60 * 1000;

const place = () => document.querySelector("[data-live]");
let launched = 0;
let timer;

function wait() {
  const part = place();
  if (!part) return;
  clearTimeout(timer);
  const isClose = part.hasAttribute("data-locked") || Date.now() - launched < LAUNCHED_FOR;
  timer = setTimeout(look, (isClose ? SOON : SELDOM) * 1000);
}

async function look() {
  const part = place();
  if (!part) return;
  const isBusy = document.hidden || document.querySelector("dialog[open] form:not([data-launch])");
  if (!isBusy) {
    const answer = await fetch(part.dataset.live, { headers: { accept: "application/json" } }).catch(() => undefined);
    const isJson = answer?.headers.get("content-type")?.startsWith("application/json");
    const mark = answer?.ok && isJson ? (await answer.json()).mark : undefined;
    // Moved away or deleted: the page itself says so.
    if ((mark && mark !== part.dataset.mark) || answer?.status === 404) {
      location.reload();
      return;
    }
  }
  wait();
}

/** Opens an address of an office program. The browser asks the user, and tells no page whether a program answered. */
export function launch(address) {
  launched = Date.now();
  location.assign(address);
  wait();
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) look();
});
document.addEventListener("swapped", wait);
const started = document.querySelector("main > #form[data-launch]");
if (started) launch(started.dataset.launch);
wait();
