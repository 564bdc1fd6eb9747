// The page of a link: its form is answered with a download, which leaves the page as it is. What was said of the password
// before is not true any more.
document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-shared]")) event.target.querySelector(".note")?.remove();
});
