// What an editor keeps of a text is forgotten once the server has confirmed that this text was saved, and when somebody signs
// out. The page after a save is the first one that is loaded then.
const SENT = "sent-text";
const sent = sessionStorage.getItem(SENT);
sessionStorage.removeItem(SENT);
if (sent && document.querySelector("[data-toast][data-saved-text]")) sessionStorage.removeItem(sent);

document.addEventListener("submit", (event) => {
  if (event.target.getAttribute("action") !== "/sign-out") return;
  for (const key of Object.keys(sessionStorage).filter((one) => one.startsWith("text:"))) sessionStorage.removeItem(key);
});
