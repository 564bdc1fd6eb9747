// Buttons marked `data-confirm` ask before they do what cannot be undone.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-confirm]");
  if (button && !confirm(button.dataset.confirm)) event.preventDefault();
});
