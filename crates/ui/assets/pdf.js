// Pages of a PDF document, drawn when they come into view, with zoom and the number of the page. Loaded only where there is one.
import { finder } from "./pdf-find.js";
import { GlobalWorkerOptions, getDocument } from "./vendor/pdf.min.mjs";

GlobalWorkerOptions.workerSrc = new URL("./vendor/pdf.worker.min.mjs", import.meta.url).href;

// No page is drawn with more pixels than this, however large its paper.
const MAX_PIXELS = 8_000_000;
/** Sizes of the pages, where 1 is the width of the preview. */
const ZOOMS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4];

async function draw(part) {
  const list = part.querySelector(".pages");
  // Pages that cannot be made are met here: PDF.js would also leave the error in its worker, where nobody takes it.
  const { ok, status } = await fetch(part.dataset.pdf, { method: "HEAD" });
  if (!ok) throw new Error(`The server answered ${status}.`);
  const task = getDocument({
    url: part.dataset.pdf,
    enableXfa: false,
    isEvalSupported: false,
    useWasm: false,
    disableAutoFetch: true,
    disableStream: true,
  });
  const pdf = await task.promise;
  const first = await pdf.getPage(1);
  const { width, height } = first.getViewport({ scale: 1 });
  const drawings = new WeakMap();
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) drawPage(target).catch((error) => error.name === "RenderingCancelledException" || fail(part));
      else forget(target);
    }
  }, { root: list, rootMargin: "100% 0px" });

  async function drawPage(canvas) {
    if (canvas.dataset.drawn) return;
    canvas.dataset.drawn = "yes";
    const page = await pdf.getPage(Number(canvas.dataset.number));
    if (!canvas.dataset.drawn) return;
    const natural = page.getViewport({ scale: 1 });
    const wanted = (canvas.clientWidth / natural.width) * Math.min(devicePixelRatio, 2);
    const most = Math.sqrt(MAX_PIXELS / (natural.width * natural.height));
    const viewport = page.getViewport({ scale: Math.min(wanted, most) });
    canvas.width = Math.round(viewport.width);
    canvas.height = Math.round(viewport.height);
    const rendering = page.render({ canvas, viewport });
    drawings.set(canvas, rendering);
    await rendering.promise;
    canvas.dataset.done = "yes";
  }

  // A page that is out of sight gives its memory back; it keeps its shape, so that nothing moves.
  function forget(canvas) {
    if (!canvas.dataset.drawn) return;
    drawings.get(canvas)?.cancel();
    drawings.delete(canvas);
    delete canvas.dataset.drawn;
    delete canvas.dataset.done;
    const shrink = 300 / canvas.width;
    if (shrink < 1) [canvas.width, canvas.height] = [300, Math.round(canvas.height * shrink)];
  }

  const sheets = [];
  for (let number = 1; number <= pdf.numPages; number++) {
    const sheet = Object.assign(document.createElement("div"), { className: "paper" });
    const canvas = document.createElement("canvas");
    canvas.dataset.number = String(number);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", part.dataset.page.replace("{0}", number).replace("{1}", pdf.numPages));
    // Until it is drawn, a page takes the room that the first one takes.
    canvas.width = Math.round(width);
    canvas.height = Math.round(height);
    sheet.append(canvas);
    sheets.push(sheet);
    list.append(sheet);
    watcher.observe(canvas);
  }
  part.querySelector("[data-status]").hidden = true;
  list.hidden = false;

  const tools = part.querySelector("[data-tools]");
  if (!tools) return;
  tools.hidden = false;
  const go = (element) => {
    const [own, frame] = [element.getBoundingClientRect(), list.getBoundingClientRect()];
    if (own.top < frame.top || own.bottom > frame.bottom || own.left < frame.left || own.right > frame.right) {
      list.scrollBy({ top: own.top - frame.top - frame.height / 4, left: own.left - frame.left - frame.width / 4 });
    }
  };
  pageNumbers(tools, list, sheets);
  zooming(tools, list, () => {
    for (const { firstChild: canvas } of sheets) {
      if (!canvas.dataset.drawn) continue;
      forget(canvas);
      // Asked again whether it is in sight.
      watcher.unobserve(canvas);
      watcher.observe(canvas);
    }
  });
  finder(pdf, sheets, go, tools);
}

/** The number of the page in sight, which is also where one is led to. */
function pageNumbers(tools, list, sheets) {
  const field = tools.querySelector("[data-number] input");
  tools.querySelector("[data-pages]").textContent = sheets.length.toLocaleString(document.documentElement.lang);
  let asked;
  const note = () => {
    asked = undefined;
    if (document.activeElement === field) return;
    const middle = list.getBoundingClientRect().top + list.clientHeight / 2;
    const at = sheets.findIndex((sheet) => sheet.getBoundingClientRect().bottom >= middle);
    field.value = String((at < 0 ? sheets.length - 1 : at) + 1);
  };
  list.addEventListener("scroll", () => { asked ??= requestAnimationFrame(note); }, { passive: true });
  note();
  tools.querySelector("[data-number]").addEventListener("submit", (event) => {
    event.preventDefault();
    const number = Math.min(sheets.length, Math.max(1, Math.trunc(Number(field.value)) || 1));
    field.value = String(number);
    list.scrollTop += sheets[number - 1].getBoundingClientRect().top - list.getBoundingClientRect().top;
    list.focus({ preventScroll: true });
  });
}

/** The buttons for the size of the pages. What is in the middle stays there. */
function zooming(tools, list, redraw) {
  const said = tools.querySelector("[data-scale]");
  let zoom = 1;
  const set = (next) => {
    if (next === zoom) return;
    const share = (list.scrollTop + list.clientHeight / 2) / list.scrollHeight;
    zoom = next;
    list.style.setProperty("--zoom", String(zoom));
    said.textContent = `${Math.round(zoom * 100)} %`;
    list.scrollTop = share * list.scrollHeight - list.clientHeight / 2;
    redraw();
  };
  tools.querySelector("[data-larger]").addEventListener("click", () => set(ZOOMS.find((one) => one > zoom) ?? zoom));
  tools.querySelector("[data-smaller]").addEventListener("click", () => set(ZOOMS.findLast((one) => one < zoom) ?? zoom));
}

function fail(part) {
  // Where the text is there, nobody misses the pages.
  const text = part.parentElement.querySelector("[data-text]");
  if (text) {
    text.open = true;
    part.remove();
    return;
  }
  const status = part.querySelector("[data-status]");
  status.firstChild.textContent = `${part.dataset.failed} `;
  if (part.hasAttribute("data-gone")) status.querySelector("a")?.remove();
  status.hidden = false;
}

/** Shows the document that a part of the page names, once. */
export function show(part) {
  if (part.dataset.shown) return;
  part.dataset.shown = "yes";
  draw(part).catch(() => fail(part));
}

document.querySelectorAll("[data-pdf]").forEach(show);
