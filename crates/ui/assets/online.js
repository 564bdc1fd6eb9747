// Opens the editor of the office server in its frame, and goes back when the editor is closed. The messages are those of
// Collabora's and Microsoft's interface for the page around an editor.
const form = document.getElementById("editor-form");
const frame = document.querySelector("iframe[name=editor]");
const { origin, back } = form.dataset;

function say(message, values = {}) {
  frame.contentWindow.postMessage(JSON.stringify({ MessageId: message, SendTime: Date.now(), Values: values }), origin);
}

function read(data) {
  try {
    return typeof data === "string" ? JSON.parse(data) : data;
  } catch {
    return undefined;
  }
}

addEventListener("message", (event) => {
  if (event.origin !== origin || event.source !== frame.contentWindow) return;
  const message = read(event.data);
  if (message?.MessageId === "App_LoadingStatus" && message.Values?.Status === "Frame_Ready") say("Host_PostmessageReady");
  if (["UI_Close", "close"].includes(message?.MessageId)) location.assign(back);
});

form.submit();
