// What an editor keeps of a text is forgotten once the server has confirmed that it was saved, and when somebody signs out.
function drop(fits) {
  for (const key of Object.keys(sessionStorage).filter((one) => one.startsWith("text:"))) {
    if (fits(JSON.parse(sessionStorage.getItem(key)))) sessionStorage.removeItem(key);
  }
}

if (document.querySelector("[data-toast][data-saved-text]")) drop(({ sent }) => sent);
document.addEventListener("submit", (event) => {
  if (event.target.getAttribute("action") === "/sign-out") drop(() => true);
});
