// A part of a page marked `data-refresh` is asked for again after so many seconds; it stops when it comes without the mark.

function follow() {
  const part = document.querySelector("[data-refresh][id]");
  if (part) setTimeout(() => refresh(part).catch(follow), Number(part.dataset.refresh) * 1000);
}

async function refresh(part) {
  if (!document.hidden && !document.querySelector("dialog[open]") && !part.querySelector("td.pick input:checked")) {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    // Signed out, or gone: the page itself says so.
    if (answer.redirected || answer.status === 404) return location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = answer.ok && page.getElementById(part.id);
    if (fresh) {
      const held = part.contains(document.activeElement) && document.activeElement.id;
      part.replaceWith(document.adoptNode(fresh));
      if (held) document.getElementById(held)?.focus();
      if (fresh.querySelector("td.pick")) document.dispatchEvent(new Event("swapped"));
    }
  }
  follow();
}

follow();
