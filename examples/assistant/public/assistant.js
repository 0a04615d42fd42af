// The page of the assistant: sends the conversation, and shows the answer as its events come.

const find = (selector) => document.querySelector(selector);
const talk = find(".talk"), form = find("form"), text = find("#text"), state = find(".state");
const send = find(".ask"), stop = find(".stop");
const { messagesMax, charsMax } = document.body.dataset;

// The messages so far, as the API takes them: a question, an answer, and so on.
const messages = [];
// Ends the answer that is being read; nothing while there is none.
let reading;

const isAtEnd = () => talk.scrollHeight - talk.scrollTop - talk.clientHeight < 40;
const showEnd = () => { talk.scrollTop = talk.scrollHeight; };

const copyOf = (name) => find(`template#${name}`).content.firstElementChild.cloneNode(true);

function show(role, content) {
  find(".empty")?.remove();
  const article = copyOf("message");
  article.classList.add(role);
  article.querySelector("h2").textContent = role === "user" ? "You" : "Assistant";
  article.querySelector(".text").textContent = content;
  talk.append(article);
  showEnd();
  return article;
}

// The events of an answer, by the format of server-sent events. EventSource could not send a conversation.
async function* eventsOf(answer) {
  let rest = "";
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + chunk).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const fields = Object.fromEntries(event.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
      if (fields.data) yield { name: fields.event ?? "message", data: JSON.parse(fields.data) };
    }
  }
}

// Reads an answer into an article. Returns why it is not whole, if it is not.
async function read(article, signal) {
  const body = JSON.stringify({ messages: messages.slice(-messagesMax) });
  const answer = await fetch("/answer", { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
  if (answer.status === 429) return "You asked a lot in a short time. Ask again in a minute.";
  if (!answer.ok) return "The question could not be sent. Ask again.";
  const shown = article.querySelector(".text");
  for await (const { name, data } of eventsOf(answer)) {
    const wasAtEnd = isAtEnd();
    if (name === "fault") return data.text;
    if (name === "done") return undefined;
    shown.append(data.text);
    if (wasAtEnd) showEnd();
  }
  return "The connection was lost. Ask again.";
}

function showFault(article, why) {
  const fault = copyOf("fault");
  fault.querySelector("p").textContent = why;
  fault.querySelector("button").onclick = () => {
    article.remove();
    text.focus();
    ask();
  };
  article.append(fault);
}

// Asks for the answer to the last question.
async function ask() {
  const article = show("assistant", "");
  // A screen reader reads the answer when it is whole, not each word.
  article.setAttribute("aria-busy", "true");
  reading = new AbortController();
  // The button that is pressed goes, so the focus must not be on it.
  if (document.activeElement === send) text.focus();
  [send.hidden, stop.hidden] = [true, false];
  state.textContent = "The assistant is writing…";
  const why = await read(article, reading.signal).catch((error) =>
    (error.name === "AbortError" ? "You stopped the answer." : "The connection was lost. Ask again."));
  reading = undefined;
  if (document.activeElement === stop) text.focus();
  [send.hidden, stop.hidden] = [false, true];
  article.removeAttribute("aria-busy");
  state.textContent = why ? "" : "The answer is complete.";
  if (why) showFault(article, why);
  else messages.push({ role: "assistant", content: article.querySelector(".text").textContent.slice(0, charsMax) });
  if (isAtEnd() || why) showEnd();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const content = text.value.trim();
  if (!content || reading) return;
  // A question whose answer failed is replaced by the next one.
  if (messages.at(-1)?.role === "user") messages.pop();
  talk.querySelectorAll(".fault button").forEach((button) => button.remove());
  messages.push({ role: "user", content });
  show("user", content);
  text.value = "";
  ask();
});

text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

stop.addEventListener("click", () => reading?.abort());
