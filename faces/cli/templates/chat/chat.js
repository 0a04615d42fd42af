// New messages come by a WebSocket. Without this file the form and a reload do.

const find = (selector) => document.querySelector(selector);
const list = find("#messages"), form = find("form"), state = find("#state");
let attempts = 0;

function show(message) {
  if (document.getElementById(`m${message.id}`)) return;
  const item = find("template").content.firstElementChild.cloneNode(true);
  item.id = `m${message.id}`;
  item.querySelector("b").textContent = message.name;
  item.querySelector("span").textContent = message.text;
  list.append(item);
  form.scrollIntoView({ block: "nearest" });
}

function connect() {
  const url = new URL("/live", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.searchParams.set("after", list.lastElementChild?.id.slice(1) ?? 0);
  const socket = new WebSocket(url);
  socket.onopen = () => {
    attempts = 0;
    state.textContent = "";
  };
  socket.onmessage = (event) => show(JSON.parse(event.data));
  socket.onclose = () => {
    state.textContent = "The connection is gone. Connecting again…";
    const longest = Math.min(30_000, 500 * 2 ** attempts++);
    setTimeout(connect, longest * (0.5 + Math.random() / 2));
  };
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form));
  try {
    const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
    // Anything but the redirect is a page about what is wrong.
    if (answer.type !== "opaqueredirect") form.submit();
    else form.text.value = "";
  } catch {
    state.textContent = "The message was not sent. Try again.";
  }
});

connect();
