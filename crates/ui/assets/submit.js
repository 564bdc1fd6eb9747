// A field that does something by itself is sent once a pointer has chosen an option. By keyboard its button is pressed, since
// the arrow keys go through all options.
let byPointer = false;
addEventListener("pointerdown", () => { byPointer = true; }, true);
addEventListener("keydown", () => { byPointer = false; }, true);

document.addEventListener("change", (event) => {
  const field = event.target;
  if (byPointer && field.matches?.("select[data-submit]")) field.form.requestSubmit(field.form.querySelector("button"));
});
