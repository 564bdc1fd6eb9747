// A picture that the browser cannot show says so, instead of a broken frame.
function fail(picture) {
  const note = Object.assign(document.createElement("p"), { className: "empty soft", textContent: picture.dataset.failed });
  picture.replaceWith(note);
}

document.addEventListener("error", (event) => event.target.matches?.("img[data-failed]") && fail(event.target), true);
for (const picture of document.querySelectorAll("img[data-failed]")) {
  if (picture.complete && picture.naturalWidth === 0) fail(picture);
}
