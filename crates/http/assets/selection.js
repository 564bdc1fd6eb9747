// "Select all", ranges with Shift, and the number of what is selected.

function boxes(form) {
  return [...form.querySelectorAll("td.pick input")];
}

function refresh(form) {
  const all = boxes(form);
  const ticked = all.filter((box) => box.checked).length;
  const count = form.querySelector("[data-count]");
  if (count?.dataset.count) count.textContent = count.dataset.count.replace("{0}", ticked);
  const head = form.querySelector("[data-all]");
  if (head) {
    head.checked = ticked > 0 && ticked === all.length;
    head.indeterminate = ticked > 0 && ticked < all.length;
  }
}

let last;
document.addEventListener("click", (event) => {
  const box = event.target;
  if (!box.matches?.(".pick input")) return;
  const form = box.closest("form");
  const all = boxes(form);
  if (box.hasAttribute("data-all")) {
    for (const other of all) other.checked = box.checked;
  } else if (event.shiftKey && all.includes(last)) {
    const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
    for (const other of all.slice(from, to + 1)) other.checked = box.checked;
  }
  last = box;
  refresh(form);
});

for (const head of document.querySelectorAll("[data-all]")) {
  head.hidden = false;
  // A page that comes back from the browser's history keeps its ticks.
  refresh(head.closest("form"));
}
