// What is selected in a listing: the boxes that are ticked, and hidden fields for rows that are not shown. A field can hold many
// identifiers, separated by commas.

const split = (input) => (input.value ? input.value.split(",") : []);

/** The fields for rows that are not shown. */
export const awayFields = (form) => [...form.querySelectorAll("input[data-away]")];

/** The identifiers of selected rows that are not shown. */
export const away = (form) => awayFields(form).flatMap(split);

/** The identifiers of all selected rows. */
export const chosen = (form) => [...[...form.querySelectorAll("td.pick input:checked")].map((box) => box.value), ...away(form)];

/** Keeps these rows selected although they are not shown, and only these. */
export function setAway(form, ids) {
  for (const field of awayFields(form)) field.remove();
  if (ids.length === 0) return;
  const field = Object.assign(document.createElement("input"), { type: "hidden", name: "ids", value: ids.join() });
  field.dataset.away = "";
  form.prepend(field);
}

const KEPT = "strongroom-selected";

/** Keeps these rows selected for the next load of this page. */
export function keepSelected(ids) {
  if (ids.length) sessionStorage.setItem(KEPT, JSON.stringify({ place: location.pathname, ids }));
}

/** The rows that were kept selected for this page, once. */
export function takeSelected() {
  const { place, ids = [] } = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
  sessionStorage.removeItem(KEPT);
  return place === location.pathname ? ids : [];
}

/** The identifiers of rows that are unloaded, among these bodies of the table. */
export const unloaded = (bodies) => bodies.flatMap((body) => (body.dataset.ids ? body.dataset.ids.split(",") : []));
