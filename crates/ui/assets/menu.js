// One menu serves all rows of a listing: it is copied from a template for the row whose button is pressed. Without
// script the button is a link to the page of the item, which offers the same.

function fill(menu, row) {
  for (const entry of menu.querySelectorAll("[data-for]")) {
    if (!entry.dataset.for.split(" ").includes(row.dataset.kind)) entry.remove();
  }
  const can = (row.dataset.can ?? "").split(" ");
  for (const entry of menu.querySelectorAll("[data-right]")) {
    if (!can.includes(entry.dataset.right)) entry.remove();
  }
  const ending = row.querySelector(".item > a")?.textContent.toLowerCase().split(".").slice(1).pop();
  for (const entry of menu.querySelectorAll("[data-ext]")) {
    if (!entry.dataset.ext.split(" ").includes(ending)) entry.remove();
  }
  for (const line of menu.querySelectorAll("hr")) {
    if (!line.nextElementSibling || line.nextElementSibling.matches("hr")) line.remove();
  }
  for (const entry of menu.querySelectorAll("a, button")) {
    for (const name of ["href", "formaction", "data-copy-link"]) {
      const address = entry.getAttribute(name);
      if (address) entry.setAttribute(name, address.replaceAll("ITEM", row.dataset.id).replaceAll("CONTENT", row.dataset.content ?? ""));
    }
  }
}

/** Shows the menu of a row at its button, or where the pointer is. */
function show(button, template, pointer) {
  document.querySelector(".menu.of-row")?.remove();
  const menu = document.createElement("div");
  menu.className = "menu of-row";
  menu.popover = "auto";
  menu.append(template.content.cloneNode(true));
  fill(menu, button.closest("[data-id]"));
  button.closest("td").append(menu);
  menu.addEventListener("toggle", (event) => {
    if (event.newState === "closed") menu.remove();
  });
  menu.showPopover({ source: button });
  if (pointer) {
    const { width, height } = menu.getBoundingClientRect();
    Object.assign(menu.style, {
      positionArea: "none",
      inset: "auto",
      left: `${Math.max(0, Math.min(pointer.clientX, innerWidth - width))}px`,
      top: `${Math.max(0, Math.min(pointer.clientY, innerHeight - height))}px`,
    });
  }
  // At once, for who types ahead: the event comes later, and would take the focus back.
  menu.querySelector("a, button")?.focus({ focusVisible: false });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("a[data-menu]");
  const template = button && document.getElementById(button.dataset.menu);
  if (!template || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(button, template);
});

// The right button shows the same menu; with Shift, and on what was selected as text, that of the browser.
document.addEventListener("contextmenu", (event) => {
  const row = event.target.closest("[data-listing] tr[data-id]");
  const button = row?.querySelector("a[data-menu]");
  const template = button && document.getElementById(button.dataset.menu);
  if (!template || event.shiftKey || String(getSelection()) || event.target.closest("input, textarea, .menu")) return;
  event.preventDefault();
  show(button, template, event);
});

// Arrow keys move inside any open menu.
document.addEventListener("keydown", (event) => {
  const menu = document.activeElement?.closest(".menu") ?? document.querySelector(".menu:popover-open");
  if (!menu || !["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
  const entries = [...menu.querySelectorAll("a, button")];
  const at = entries.indexOf(document.activeElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  entries.at(next % entries.length)?.focus();
  event.preventDefault();
});
