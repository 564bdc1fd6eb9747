// The exact time that is shown on pointing, in the reader's own time zone.

const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "full", timeStyle: "medium" });

document.addEventListener("pointerover", (event) => {
  const time = event.target.closest?.("time[datetime]:not([data-local])");
  const moment = time && new Date(time.dateTime);
  if (!moment || Number.isNaN(moment.getTime())) return;
  time.title = format.format(moment);
  time.dataset.local = "";
});
