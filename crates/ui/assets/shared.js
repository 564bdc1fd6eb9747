// The page of a link: its form is answered with a download, which leaves the page as it is. What was said of the password
// before is not true any more. A form that sends files says so until it is answered.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-shared]")) return;
  form.querySelector(".note")?.remove();
  if (!form.dataset.sending) return;
  const button = event.submitter;
  button.textContent = form.dataset.sending;
  button.setAttribute("aria-disabled", "true");
  button.setAttribute("aria-live", "polite");
});
