// Times in the time zone of the page, the cookie that tells the server the zone of the browser, and the list of zones on the
// page of the account.
const page = document.documentElement;
const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
const known = document.cookie.split("; ").find((pair) => pair.startsWith("strongroom_zone="))?.slice("strongroom_zone=".length);
if (own && known !== encodeURIComponent(own)) {
  document.cookie = `strongroom_zone=${encodeURIComponent(own)}; Path=/; Max-Age=31536000; SameSite=Lax`;
}

/** The formatter of the page's zone. A browser that does not know the zone shows its own. */
function formatter() {
  const style = { dateStyle: "full", timeStyle: "long" };
  try {
    return new Intl.DateTimeFormat(page.lang, { ...style, timeZone: page.dataset.zone });
  } catch {
    return new Intl.DateTimeFormat(page.lang, style);
  }
}

let format;

document.addEventListener("pointerover", (event) => {
  const time = event.target.closest?.("time[datetime]:not([data-local])");
  const moment = time && new Date(time.dateTime);
  if (!moment || Number.isNaN(moment.getTime())) return;
  format ??= formatter();
  time.title = format.format(moment);
  time.dataset.local = "";
});

// The names of all time zones, for the field of the account.
const zones = document.getElementById("zones");
for (const name of zones ? Intl.supportedValuesOf("timeZone") : []) zones.append(new Option(name, name));
