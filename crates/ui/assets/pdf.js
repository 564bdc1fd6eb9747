// Pages of a PDF document, drawn when they come into view. Loaded only where there is one.
import { GlobalWorkerOptions, getDocument } from "./vendor/pdf.min.mjs";

GlobalWorkerOptions.workerSrc = new URL("./vendor/pdf.worker.min.mjs", import.meta.url).href;

// No page is drawn with more pixels than this, however large its paper.
const MAX_PIXELS = 8_000_000;

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

  for (let number = 1; number <= pdf.numPages; number++) {
    const canvas = document.createElement("canvas");
    canvas.dataset.number = String(number);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", part.dataset.page.replace("{0}", number).replace("{1}", pdf.numPages));
    // Until it is drawn, a page takes the room that the first one takes.
    canvas.width = Math.round(width);
    canvas.height = Math.round(height);
    list.append(canvas);
    watcher.observe(canvas);
  }
  part.querySelector("[data-status]").hidden = true;
  list.hidden = false;
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
