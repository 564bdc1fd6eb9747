// Whether the browser keeps files that are being uploaded, so that a page knows without opening their store.
const KEY = "strongroom-uploads";

export const isKept = () => localStorage.getItem(KEY) !== null;

/** Notes that there are some, or none any more. */
export function note(areThere) {
  if (areThere) localStorage.setItem(KEY, "yes");
  else localStorage.removeItem(KEY);
}
