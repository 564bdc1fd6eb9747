// Parts marked `data-counts` are shown without the numbers of new documents, which take longer to find: they are asked for
// afterwards, and stand beside the saved searches that they belong to.

async function show(part) {
  const answer = await fetch(part.dataset.counts, { headers: { accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const count of page.querySelectorAll("[data-search]")) {
    part.querySelector(`[data-search="${count.dataset.search}"]`)?.append(...document.adoptNode(count).childNodes);
  }
}

/** Asks for the numbers of the parts in an element. Without an answer, the parts stay as they are. */
export function showCounts(element) {
  for (const part of element.querySelectorAll("[data-counts]")) show(part).catch(() => {});
}

showCounts(document);
