// Colours source text apart from the page, so that text that is expensive to colour only keeps this worker busy. The
// page ends it.
import highlighter from "./vendor/highlight.min.js";

// A text with more pieces stays plain: each of them would be an element of the page.
const MAX_PIECES = 50_000;
const CHARACTERS = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "\"", "&#x27;": "'" };

/** The lines of a text, each as pieces: the class of a piece, which may be empty, and its text. */
function colour(text, language) {
  const { value } = highlighter.highlight(text, { language, ignoreIllegals: true });
  const lines = [[]];
  const open = [];
  let count = 0;
  for (const [piece, name] of value.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (name !== undefined) open.push(name);
    else if (piece === "</span>") open.pop();
    else {
      const plain = piece.replace(/&(?:amp|lt|gt|quot|#x27);/g, (code) => CHARACTERS[code]);
      for (const [index, part] of plain.split("\n").entries()) {
        if (index) lines.push([]);
        if (part) lines.at(-1).push([open.at(-1) ?? "", part]);
        count += 1;
      }
      if (count > MAX_PIECES) return [];
    }
  }
  return lines;
}

addEventListener("message", ({ data: { text, language } }) => postMessage(colour(text, language)));
