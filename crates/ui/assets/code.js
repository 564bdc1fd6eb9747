// Colours of source text. Loaded only where a preview shows some. The text is coloured in a worker; it stays as it is
// when it is too long, and when colouring it fails or takes too long.

// The longest text and the longest line that are coloured, in characters. Programs write longer lines, people do not.
const MAX_TEXT = 200_000;
const MAX_LINE = 5_000;
// Milliseconds after which the text stays plain.
const TIME_LIMIT = 5_000;
// Pieces that become part of the page at a time; between them it can do other things.
const SLICE = 2_000;

// Ends the worker of the text that was shown before.
let end = () => {};

function node([name, text]) {
  if (!name) return text;
  const span = document.createElement("span");
  span.className = name;
  span.textContent = text;
  return span;
}

async function draw(part, rows, lines, coloured) {
  let drawn = 0;
  for (const [at, pieces] of coloured.entries()) {
    // Colours change no character of the text.
    if (!part.isConnected || pieces.map(([, text]) => text).join("") !== lines[at]) return;
    rows[at].replaceChildren(...pieces.map(node), "\n");
    drawn += pieces.length + 1;
    if (drawn < SLICE) continue;
    drawn = 0;
    await new Promise((next) => { setTimeout(next); });
  }
  part.dataset.done = "yes";
}

/** Colours the source text in a part of the page, once. */
export function show(part) {
  if (part.dataset.shown) return;
  part.dataset.shown = "yes";
  end();
  const rows = [...part.querySelectorAll(".line")];
  const lines = rows.map((row) => row.textContent.slice(0, -1));
  const text = lines.join("\n");
  if (text.length > MAX_TEXT || lines.some((line) => line.length > MAX_LINE)) return;
  const worker = new Worker(new URL("./code-worker.js", import.meta.url), { type: "module" });
  const limit = setTimeout(() => end(), TIME_LIMIT);
  end = () => {
    clearTimeout(limit);
    worker.terminate();
  };
  worker.onerror = (event) => {
    event.preventDefault();
    end();
  };
  worker.onmessage = ({ data }) => {
    end();
    draw(part, rows, lines, data);
  };
  worker.postMessage({ text, language: part.dataset.language });
}

document.querySelectorAll("[data-language]").forEach(show);
