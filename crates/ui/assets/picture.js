// A picture is shown in its full size by a click, and in the size of the page by another one. One that the browser cannot show
// says so, instead of a broken frame.
function fail(picture) {
  const note = Object.assign(document.createElement("p"), { className: "empty soft", textContent: picture.dataset.failed });
  picture.replaceWith(note);
}

document.addEventListener("error", (event) => event.target.matches?.("img[data-failed]") && fail(event.target), true);
for (const picture of document.querySelectorAll("img[data-failed]")) {
  if (picture.complete && picture.naturalWidth === 0) fail(picture);
}

document.addEventListener("click", (event) => {
  const frame = event.target.closest("a.picture[data-zoom]");
  if (!frame || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const picture = frame.querySelector("img");
  // By keyboard, the middle is shown.
  const place = picture.getBoundingClientRect();
  const isByHand = event.clientX !== 0 || event.clientY !== 0;
  const [x, y] = isByHand ? [(event.clientX - place.left) / place.width, (event.clientY - place.top) / place.height] : [0.5, 0.5];
  if (!frame.classList.toggle("zoomed")) return;
  frame.scrollTo(x * picture.width - frame.clientWidth / 2, y * picture.height - frame.clientHeight / 2);
});
