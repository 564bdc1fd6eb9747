// Links marked `data-dialog` lead to a page with a form; here the form is shown over the present page instead.

async function open(link) {
  const answer = await fetch(link.href, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const form = page.getElementById("form");
  if (!answer.ok || !form) {
    location.href = link.href;
    return;
  }
  const dialog = document.createElement("dialog");
  const title = form.querySelector("h1");
  title.id = "dialog-title";
  dialog.setAttribute("aria-labelledby", title.id);
  dialog.append(document.adoptNode(form));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    const cancelled = event.target.closest("[data-cancel]");
    if (cancelled) event.preventDefault();
    if (cancelled || event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  const first = form.querySelector("input:not([type=hidden]), select, textarea, button");
  first?.focus();
  if (first?.type === "text") selectStem(first);
}

// A new name usually keeps its extension.
function selectStem(field) {
  const dot = field.value.lastIndexOf(".");
  field.setSelectionRange(0, dot > 0 ? dot : field.value.length);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-dialog]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open(link).catch(() => { location.href = link.href; });
});
