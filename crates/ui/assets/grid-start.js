// The grid has scripts of its own, which are loaded with the first page that has one.
function start() {
  const section = document.querySelector("[data-grid]:not([data-started])");
  if (!section) return;
  section.dataset.started = "";
  import("./grid.js").then((grid) => grid.start(section)).catch(() => {});
}

start();
document.addEventListener("swapped", start);
