// Buttons marked `data-copy` put the text of another element on the clipboard, where the browser lets pages do that.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.lastChild.textContent = button.dataset.done;
  });
}
