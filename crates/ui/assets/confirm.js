// Questions before what cannot be undone: those of buttons marked `data-confirm`, and those of scripts.

const agreed = new WeakSet();

/**
 * Asks, and returns whether the answer was yes.
 *
 * @param {string} question
 * @param {string} [word] Label of the button for yes, which otherwise says "Continue".
 */
export function ask(question, word) {
  const store = document.getElementById("question");
  if (!store) return Promise.resolve(confirm(question));
  const dialog = store.content.firstElementChild.cloneNode(true);
  dialog.querySelector("p").textContent = question;
  if (word) dialog.querySelector("button[value=yes]").textContent = word;
  document.body.append(dialog);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-confirm]");
  if (!button || agreed.delete(button)) return;
  event.preventDefault();
  if (!await ask(button.dataset.confirm, button.textContent.trim())) return;
  agreed.add(button);
  button.click();
});
