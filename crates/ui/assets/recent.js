// The searches of a person on this browser. They are kept here alone, until the person signs out.

/** Limit on the searches that are kept. */
const MOST = 20;
/** Limit on the characters of one. */
const LONGEST = 300;
const key = `strongroom-searches:${document.getElementById("suggestions")?.dataset.login ?? ""}`;

function write(searches) {
  try {
    if (searches.length) localStorage.setItem(key, JSON.stringify(searches));
    else localStorage.removeItem(key);
  } catch {
    // No room, or a window that keeps nothing.
  }
}

/** The searches, newest first. */
export function recent() {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? "[]");
    // A text with half a surrogate pair cannot be a part of an address.
    const isUsable = (text) => typeof text === "string" && text.isWellFormed();
    return Array.isArray(kept) ? kept.filter(isUsable).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** Keeps a search as the newest. */
export function remember(text) {
  const wanted = text.trim();
  if (!wanted || wanted.length > LONGEST) return;
  const same = (other) => other.toLocaleLowerCase() === wanted.toLocaleLowerCase();
  write([wanted, ...recent().filter((other) => !same(other))].slice(0, MOST));
}

/** Removes a search. */
export const forget = (text) => write(recent().filter((other) => other !== text));

/** Removes all searches. */
export const clear = () => write([]);

// The next person at this browser must not see them.
document.querySelector("form[action='/sign-out']")?.addEventListener("submit", clear);
