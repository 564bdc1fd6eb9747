// Fields for a user or group suggest whom the typed letters fit, by login and by name.
const PAUSE = 150;
let timer;

async function suggest(field) {
  const words = new URLSearchParams({ search: field.value, limit: 20 });
  const answer = await fetch(`/api/v1/principals?${words}`, { headers: { accept: "application/json" } });
  if (!answer.ok || !field.list) return;
  const { items } = await answer.json();
  field.list.replaceChildren(...items.map((one) => {
    const option = document.createElement("option");
    option.value = one.login ?? one.name;
    option.label = one.name;
    return option;
  }));
}

document.addEventListener("input", (event) => {
  const field = event.target;
  if (!field.matches?.("input[list][data-people]")) return;
  clearTimeout(timer);
  // What was suggested was chosen.
  if ([...field.list.options].some((option) => option.value === field.value)) return;
  timer = setTimeout(() => suggest(field).catch(() => {}), PAUSE);
});
