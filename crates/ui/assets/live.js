// A page of a document follows what happens to it elsewhere: a new version, a lock. Soon while somebody edits it, seldom
// otherwise; not while the page is hidden or nobody uses it, and never over something that the user is doing.
/** Seconds between two looks. */
const SOON = 4;
const SELDOM = 30;
/** Milliseconds after a launch of an office program during which the page looks every 4 seconds. */
const LAUNCHED_FOR = 15 * 60 * 1000;
/** Milliseconds after the last input during which the page looks. Each look counts as a use of the session. */
const USED_FOR = 30 * 60 * 1000;

const place = () => document.querySelector("[data-live]");
let launched = 0;
let used = Date.now();
let timer;
/** How long after a form was sent the page is left alone, in milliseconds: a reload would abort what was sent. */
const SENDS_FOR = 30 * 1000;
let sent = -SENDS_FOR;

function wait() {
  clearTimeout(timer);
  const part = place();
  if (!part) return;
  const isClose = part.hasAttribute("data-locked") || Date.now() - launched < LAUNCHED_FOR;
  timer = setTimeout(look, (isClose ? SOON : SELDOM) * 1000);
}

/** Whether a reload would take something from the user: a form, a text, or what is playing. */
function isBusy() {
  if (performance.now() - sent < SENDS_FOR || document.hidden || document.querySelector("dialog[open] form:not([data-launch])")) return true;
  const field = document.activeElement?.closest?.("input, textarea, select");
  if (field && (field.value ?? "") !== "" && field.type !== "checkbox") return true;
  if (!(getSelection()?.isCollapsed ?? true)) return true;
  return [...document.querySelectorAll("audio, video")].some((media) => !media.paused && !media.ended);
}

async function look() {
  const part = place();
  if (!part) return;
  // The next input looks again.
  if (Date.now() - used > USED_FOR) return;
  if (!isBusy()) {
    const answer = await fetch(part.dataset.live, { headers: { accept: "application/json" } }).catch(() => undefined);
    const isJson = answer?.headers.get("content-type")?.startsWith("application/json");
    const mark = answer?.ok && isJson ? (await answer.json()).mark : undefined;
    // Moved away or deleted: the page itself says so.
    const isOther = (mark && mark !== part.dataset.mark) || answer?.status === 404;
    if (isOther && part.isConnected && !isBusy()) {
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

for (const kind of ["pointermove", "pointerdown", "keydown", "wheel"]) {
  document.addEventListener(
    kind,
    () => {
      const wasUsed = Date.now() - used <= USED_FOR;
      used = Date.now();
      if (!wasUsed) look();
    },
    { passive: true },
  );
}
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) look();
});
addEventListener("submit", (event) => {
  if (!event.defaultPrevented) sent = performance.now();
});
document.addEventListener("swapped", wait);
const started = document.querySelector("main > #form[data-launch]");
if (started) launch(started.dataset.launch);
wait();
