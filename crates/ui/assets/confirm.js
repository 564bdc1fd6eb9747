// Questions before what cannot be undone: those of buttons marked `data-confirm`, and those of scripts.

const agreed = new WeakSet();

/**
 * Asks, and returns whether the answer was yes.
 *
 * @param {string} question
 * @param {string} [word] Label of the button for yes, if something is lost by it. Otherwise it says "Continue", and has the focus.
 */
export function ask(question, word) {
  const store = document.getElementById("question");
  if (!store) return Promise.resolve(confirm(question));
  const dialog = store.content.firstElementChild.cloneNode(true);
  dialog.querySelector("p").textContent = question;
  const yes = dialog.querySelector("button[value=yes]");
  if (word) {
    yes.textContent = word;
  } else {
    yes.classList.replace("danger", "main");
    yes.autofocus = true;
    dialog.querySelector("button[value=no]").autofocus = false;
  }
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
