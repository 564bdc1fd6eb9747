// Columns are made wider and narrower by dragging the edge of their title. The widths stand in the address, so that the page
// can be reloaded, sent to somebody and saved as a view. Where all columns fit, their titles stay in sight.

const isWide = () => matchMedia("(min-width: 48.01rem)").matches;
let table;

function heads() {
  return [...table.querySelectorAll("thead th[data-col]")];
}

function columns() {
  return [...table.querySelectorAll("colgroup col")].slice(2, -1);
}

// Also in the addresses of all links that go on from here.
function keep() {
  const word = heads().map((head, i) => {
    const width = columns()[i].getAttribute("width");
    return width ? `${head.dataset.col}:${width}` : head.dataset.col;
  }).join(",");
  const put = (href) => {
    const url = new URL(href, location.href);
    url.searchParams.set("cols", word);
    if (!url.searchParams.has("sort")) url.searchParams.set("sort", "name");
    return url.pathname + url.search;
  };
  history.replaceState(history.state, "", put(location.href));
  for (const link of document.querySelectorAll("a[data-cols], th a.sort, .pager a, a.chip")) link.setAttribute("href", put(link.href));
  const field = document.querySelector(".quick input[name=cols]");
  if (field) field.value = word;
}

/**
 * Keeps the columns where they are while rows are added, whatever is in them. The name has what is left. A window of another
 * width sets them free.
 */
export function hold() {
  if (!table || table.matches(".sized, .held-widths") || !isWide()) return;
  const widths = [...table.querySelectorAll("thead th")].map((head) => head.getBoundingClientRect().width);
  const whole = table.offsetWidth;
  const isWider = whole > table.closest(".scroll").clientWidth;
  [...table.querySelectorAll("colgroup col")].forEach((column, i) => {
    if (i !== 1 && widths[i]) column.style.width = `${widths[i]}px`;
  });
  if (isWider) table.style.width = `${whole}px`;
  table.classList.add("held-widths");
}

function release() {
  if (!table?.matches(".held-widths")) return;
  table.classList.remove("held-widths");
  table.style.width = "";
  for (const column of table.querySelectorAll("colgroup col")) column.style.width = "";
}

/** Gives all columns the width that they have now: only then a browser keeps to the widths. The name has what is left. */
function fix() {
  if (table.matches(".sized")) return;
  const name = Number(table.dataset.nameWidth);
  const widths = heads().map((head) => Math.ceil(head.getBoundingClientRect().width));
  columns().forEach((column, i) => column.setAttribute("width", widths[i]));
  table.setAttribute("width", widths.reduce((sum, width) => sum + width, name));
  release();
  table.classList.add("sized");
}

function resize(event, head, column) {
  event.preventDefault();
  const grip = event.target;
  grip.setPointerCapture(event.pointerId);
  grip.classList.add("held");
  const forwards = getComputedStyle(head).direction === "rtl" ? -1 : 1;
  fix();
  const [start, width, whole] = [event.clientX, Number(column.getAttribute("width")), Number(table.getAttribute("width"))];
  const move = (now) => {
    const wanted = Math.min(900, Math.max(40, Math.round(width + forwards * (now.clientX - start))));
    column.setAttribute("width", wanted);
    table.setAttribute("width", whole + wanted - width);
  };
  grip.addEventListener("pointermove", move);
  grip.addEventListener("lostpointercapture", () => {
    grip.removeEventListener("pointermove", move);
    grip.classList.remove("held");
    keep();
  }, { once: true });
}

// The titles stay in sight below the bar while the page moves. That takes a listing that does not move sideways by itself.
const fitting = new ResizeObserver(() => {
  const frame = table.closest(".scroll");
  frame.toggleAttribute("data-fits", table.offsetWidth <= frame.clientWidth);
  showMore(frame);
});

/** Marks a listing that goes on to the side. */
function showMore(frame) {
  frame.toggleAttribute("data-more", Math.abs(frame.scrollLeft) + frame.clientWidth < table.offsetWidth - 1);
}

/** Shows the same listing with its columns in this order. */
function arrange(words) {
  const url = new URL(location.href);
  url.searchParams.set("cols", words.join());
  if (!url.searchParams.has("sort")) url.searchParams.set("sort", "name");
  url.searchParams.delete("after");
  const link = Object.assign(document.createElement("a"), { href: url.pathname + url.search, hidden: true });
  link.dataset.swap = "";
  document.querySelector("main").append(link);
  link.click();
}

const KIND = "application/x-strongroom-column";
let carried;

/** Makes the titles draggable: one is put before or behind another. Their menus do the same by keyboard. */
function movable(head) {
  head.draggable = true;
  const isBefore = (event) => {
    const { left, width } = head.getBoundingClientRect();
    return (event.clientX < left + width / 2) === (getComputedStyle(head).direction !== "rtl");
  };
  const unmark = () => head.classList.remove("drop-before", "drop-after");
  head.addEventListener("dragstart", (event) => {
    if (event.target.closest(".grip, .menu")) return event.preventDefault();
    carried = head;
    event.dataTransfer.setData(KIND, head.dataset.col);
    event.dataTransfer.effectAllowed = "move";
    return undefined;
  });
  head.addEventListener("dragover", (event) => {
    if (!carried || carried === head || !event.dataTransfer.types.includes(KIND)) return;
    event.preventDefault();
    unmark();
    head.classList.add(isBefore(event) ? "drop-before" : "drop-after");
  });
  head.addEventListener("dragleave", unmark);
  head.addEventListener("dragend", () => { carried = undefined; });
  head.addEventListener("drop", (event) => {
    unmark();
    if (!carried || carried === head) return;
    event.preventDefault();
    const word = (one) => {
      const width = columns()[heads().indexOf(one)].getAttribute("width");
      return width ? `${one.dataset.col}:${width}` : one.dataset.col;
    };
    const order = heads().filter((one) => one !== carried);
    order.splice(order.indexOf(head) + (isBefore(event) ? 0 : 1), 0, carried);
    carried = undefined;
    arrange(order.map(word));
  });
}

function start() {
  table = document.querySelector("table[data-listing]");
  fitting.disconnect();
  for (const part of table ? [table, table.closest(".scroll")] : []) fitting.observe(part);
  table?.closest(".scroll").addEventListener("scroll", ({ target }) => showMore(target), { passive: true });
  if (!table || !isWide()) return;
  heads().forEach((head, i) => {
    const grip = document.createElement("span");
    grip.className = "grip";
    grip.addEventListener("pointerdown", (event) => resize(event, head, columns()[i]));
    head.append(grip);
    movable(head);
  });
}

start();
document.addEventListener("swapped", start);
addEventListener("resize", release);
