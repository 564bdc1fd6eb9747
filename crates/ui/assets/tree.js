// Sites in the side bar and on the home page open in place: a button before the link shows what is in the site.

const OPEN = "strongroom-open-sites";
const read = () => JSON.parse(sessionStorage.getItem(OPEN) ?? "[]");

function write(id, isOpen) {
  const others = read().filter((one) => one !== id);
  sessionStorage.setItem(OPEN, JSON.stringify(isOpen ? [...others, id] : others));
}

async function expand(line, button) {
  button.setAttribute("aria-busy", "true");
  const answer = await fetch(`/items/${line.dataset.insideOf}/inside`, { headers: { accept: "text/html" } }).catch(() => undefined);
  button.removeAttribute("aria-busy");
  const list = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("ul");
  // The link of the site says what is the matter.
  if (!list || line.querySelector(":scope > ul")) return;
  line.append(document.adoptNode(list));
  button.setAttribute("aria-expanded", "true");
  prepare(list);
}

function prepare(root) {
  const store = document.getElementById("twist");
  if (!store) return;
  const open = read();
  for (const line of root.querySelectorAll("li[data-inside-of]")) {
    if (line.querySelector(":scope > button")) continue;
    const button = store.content.firstElementChild.cloneNode(true);
    const name = line.querySelector("a").textContent.trim();
    button.querySelector(".unseen").textContent = store.dataset.label.replace("{0}", () => name);
    button.addEventListener("click", () => {
      const list = line.querySelector(":scope > ul");
      write(line.dataset.insideOf, !list);
      if (!list) return expand(line, button);
      list.remove();
      return button.setAttribute("aria-expanded", "false");
    });
    line.prepend(button);
    if (open.includes(line.dataset.insideOf)) expand(line, button);
  }
}

prepare(document);
document.addEventListener("swapped", () => prepare(document));
