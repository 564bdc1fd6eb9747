// A picture of which no smaller one could be made has its symbol instead.
const drop = (picture) => picture.matches?.("img.thumbnail") && picture.remove();

function look() {
  for (const picture of document.querySelectorAll("img.thumbnail")) if (picture.complete && !picture.naturalWidth) drop(picture);
}

document.addEventListener("error", (event) => drop(event.target), true);
document.addEventListener("swapped", look);
look();
