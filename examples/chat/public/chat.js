// The page of a room. Messages, people and who is typing come by a WebSocket; without it the form and a reload do.

const RETRY_MILLIS_MIN = 500, RETRY_MILLIS_MAX = 30_000;
const TYPING_SENT_MILLIS = 2_000, TYPING_SHOWN_MILLIS = 5_000;

const find = (selector) => document.querySelector(selector);
const log = find(".messages"), list = find(".messages ol"), newer = find(".newer"), form = find(".say"), text = find("#text");
const { name: ownName, messagesMax } = find(".room").dataset;

let socket, retry;
let isReady = false; // the socket is open, and what was missed has come
let attempts = 0;
// Texts that the user has sent and that have not come back.
const unconfirmed = [];

// Messages

function localTime(time) {
  const at = new Date(time.dateTime);
  const isToday = at.toDateString() === new Date().toDateString();
  time.textContent = isToday ? at.toLocaleTimeString([], { timeStyle: "short" })
    : at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

function showEnd() {
  log.scrollTop = log.scrollHeight;
  newer.hidden = true;
}

const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 40;

// Shows a message once, at its place: two workers may send theirs in another order.
function show(message) {
  const id = `m${message.id}`;
  if (document.getElementById(id)) return;
  const wasAtEnd = isAtEnd(), isOwn = message.name === ownName;
  const item = find("template").content.firstElementChild.cloneNode(true);
  item.id = id;
  item.classList.toggle("own", isOwn);
  item.querySelector("b").textContent = message.name;
  item.querySelector(".text").textContent = message.text;
  item.querySelector("time").dateTime = message.at;
  localTime(item.querySelector("time"));
  const before = [...list.children].findLast((one) => Number(one.id.slice(1)) < message.id);
  if (before) before.after(item);
  else list.prepend(item);
  const sent = isOwn ? unconfirmed.indexOf(message.text) : -1;
  if (sent >= 0) unconfirmed.splice(sent, 1);
  if (wasAtEnd || isOwn) showEnd();
  else newer.hidden = false;
  showTyping(message.name, false);
}

// People

// Names by the ids of the members: a user with two pages is two of them.
const people = new Map();

function showPeople() {
  const names = [...new Set(people.values())].sort((one, other) => one.localeCompare(other));
  find(".people").replaceChildren(...names.map((name) => {
    const item = document.createElement("li");
    item.textContent = name;
    return item;
  }));
}

// Typing

const typing = new Map();

function showTyping(name, isTyping) {
  clearTimeout(typing.get(name));
  typing.delete(name);
  if (isTyping) typing.set(name, setTimeout(() => showTyping(name, false), TYPING_SHOWN_MILLIS));
  const names = [...typing.keys()];
  find(".typing").textContent = names.length === 0 ? ""
    : names.length === 1 ? `${names[0]} is typing…`
    : names.length === 2 ? `${names[0]} and ${names[1]} are typing…` : "Several people are typing…";
}

// The connection

function showState() {
  find(".state").textContent = isReady ? "" : attempts === 0 ? "Connecting…"
    : unconfirmed.length ? "No connection. Your message is sent when it is back." : "No connection. Connecting again…";
}

function receive(event) {
  const told = JSON.parse(event.data);
  if (told.message) show(told.message);
  if (told.typing && told.typing !== ownName) showTyping(told.typing, true);
  if (told.event === "join") people.set(told.member.id, told.member.data.name);
  if (told.event === "leave") {
    people.delete(told.member.id);
    showTyping(told.member.data.name, false);
  }
  if (told.people) {
    people.clear();
    for (const member of told.people) people.set(member.id, member.data.name);
  }
  if (told.event || told.people) showPeople();
  if (told.missed) {
    isReady = true;
    attempts = 0;
    showState();
    // More may be missing than was sent.
    if (told.missed.length >= messagesMax) list.replaceChildren();
    told.missed.forEach(show);
    // These were written without a connection, or it broke before they arrived.
    for (const one of unconfirmed) socket.send(one);
  }
}

function connect() {
  clearTimeout(retry);
  const url = new URL(`${location.pathname}/socket`, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.searchParams.set("after", list.lastElementChild?.id.slice(1) ?? 0);
  socket = new WebSocket(url);
  socket.onmessage = receive;
  socket.onclose = () => {
    isReady = false;
    const longest = Math.min(RETRY_MILLIS_MAX, RETRY_MILLIS_MIN * 2 ** attempts++);
    showState();
    retry = setTimeout(connect, longest * (0.5 + Math.random() / 2));
  };
}

addEventListener("online", () => {
  if (socket.readyState === WebSocket.CLOSED) connect();
});

// A browser may keep a page that was left, for the way back. Its user is not here meanwhile.
addEventListener("pagehide", () => socket.close());
addEventListener("pageshow", (event) => {
  if (event.persisted) connect();
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = text.value.trim();
  if (!typed) return;
  unconfirmed.push(typed);
  if (isReady) socket.send(typed);
  else showState();
  text.value = "";
});

text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

let toldTyping = 0;
text.addEventListener("input", () => {
  if (!text.value || Date.now() - toldTyping < TYPING_SENT_MILLIS || !isReady) return;
  toldTyping = Date.now();
  socket.send("");
});

newer.addEventListener("click", showEnd);
log.addEventListener("scroll", () => {
  if (isAtEnd()) newer.hidden = true;
});
list.querySelectorAll("time").forEach(localTime);
showEnd();
showState();
connect();
