// Finding words in a PDF document: the text of its pages is read one after the other, and what fits is marked on them.
const MOST = 1000;

/** Letters without case and marks, each in the place of its original. */
function fold(text) {
  return [...text].map((letter) => {
    const plain = letter.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    return plain.length === letter.length ? plain : letter.toLowerCase().slice(0, letter.length).padEnd(letter.length);
  }).join("");
}

/** The text of a page, with the place of each of its pieces. */
async function read(pdf, number) {
  const page = await pdf.getPage(number);
  const { items } = await page.getTextContent();
  const view = page.getViewport({ scale: 1 });
  const { width, height } = view;
  let text = "";
  const pieces = [];
  for (const item of items) {
    if (!("str" in item)) continue;
    const [x, y] = view.convertToViewportPoint(item.transform[4], item.transform[5]);
    pieces.push({ start: text.length, length: item.str.length, x: x / width, y: y / height, width: item.width / width, height: item.height / height });
    text += item.str;
    if (item.hasEOL) text += " ";
  }
  return { text: fold(text), pieces };
}

/** Where on the page the letters from `start` to `end` stand: the parts of the pieces that have them. */
function places(pieces, start, end) {
  return pieces.filter((piece) => piece.length > 0 && piece.start < end && piece.start + piece.length > start).map((piece) => {
    const from = Math.max(0, start - piece.start) / piece.length;
    const to = Math.min(piece.length, end - piece.start) / piece.length;
    return { left: piece.x + piece.width * from, top: piece.y - piece.height, width: piece.width * (to - from), height: piece.height * 1.2 };
  });
}

/** Prepares the search of a document. `sheets` are the elements of its pages, `go` scrolls to an element. */
export function finder(pdf, sheets, go, tools) {
  const texts = new Map();
  const field = tools.querySelector("[data-find] input");
  const said = tools.querySelector("[data-found]");
  let found = [];
  let at = -1;
  let run = 0;
  let asked = "";

  const count = (number) => number.toLocaleString(document.documentElement.lang);
  const say = () => {
    if (!asked) said.textContent = "";
    else if (found.length === 0) said.textContent = tools.dataset.nothing;
    else said.textContent = tools.dataset.found.replace("{0}", count(at + 1)).replace("{1}", `${count(found.length)}${found.length === MOST ? "+" : ""}`);
  };

  function clear() {
    for (const sheet of sheets) for (const mark of sheet.querySelectorAll("mark")) mark.remove();
    [found, at] = [[], -1];
  }

  function show(next) {
    found[at]?.marks.forEach((mark) => mark.removeAttribute("data-here"));
    at = (next + found.length) % found.length;
    found[at].marks.forEach((mark) => mark.setAttribute("data-here", ""));
    go(found[at].marks[0] ?? sheets[found[at].page - 1]);
    say();
  }

  async function search() {
    run += 1;
    const own = run;
    asked = fold(field.value.trim());
    clear();
    say();
    for (let page = 1; asked && page <= pdf.numPages && found.length < MOST; page += 1) {
      if (!texts.has(page)) texts.set(page, await read(pdf, page));
      if (own !== run) return;
      const { text, pieces } = texts.get(page);
      for (let start = text.indexOf(asked); start >= 0 && found.length < MOST; start = text.indexOf(asked, start + asked.length)) {
        const marks = places(pieces, start, start + asked.length).map((place) => {
          const mark = document.createElement("mark");
          for (const [side, share] of Object.entries(place)) mark.style[side] = `${share * 100}%`;
          return mark;
        });
        sheets[page - 1].append(...marks);
        found.push({ page, marks });
        if (found.length === 1) show(0);
      }
      say();
    }
    if (own === run) say();
  }

  let timer;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 250);
  });
  const step = (by) => {
    if (fold(field.value.trim()) !== asked) search();
    else if (found.length > 0) show(at + by);
  };
  tools.querySelector("[data-find]").addEventListener("submit", (event) => {
    event.preventDefault();
    step(event.submitter?.value === "back" ? -1 : 1);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    step(-1);
  });
}
