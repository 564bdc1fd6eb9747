// The page of a link: its form is answered with a download, which leaves the page as it is. What was said of the password
// before is not true any more. A form that sends files says so until it is answered, and is sent once.
/** Milliseconds after which a form can be sent again although there is no answer. */
const LONGEST = 60_000;

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-link-form]")) return;
  const button = event.submitter;
  if (button?.getAttribute("aria-disabled") === "true") {
    event.preventDefault();
    return;
  }
  form.querySelector(".note")?.remove();
  if (!form.dataset.sending || !button) return;
  const label = button.textContent;
  const allow = () => {
    button.textContent = label;
    button.removeAttribute("aria-disabled");
  };
  // Nobody tells a page that its form was stopped; and it may be shown again from the history.
  addEventListener("pageshow", allow, { once: true });
  setTimeout(allow, LONGEST);
  button.textContent = form.dataset.sending;
  button.setAttribute("aria-disabled", "true");
  button.setAttribute("aria-live", "polite");
});
