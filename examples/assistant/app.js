// Assistant: a page that shows the answer of a language model as it comes.   sampan dev examples/assistant/app.js
import { app, env, json, log, sse } from "sampan";

// Any API with the protocol of OpenAI's chat completions. Without these variables it is the one in model/.
const URL = env.get("ASSISTANT_URL") ?? "http://127.0.0.1:8090/v1";
const KEY = env.get("ASSISTANT_KEY") ?? "test-key";
const MODEL = env.get("ASSISTANT_MODEL") ?? "test";
const TIMEOUT = { head: "60s", idle: "30s", total: "5min" };

// The most messages of a conversation, and the most characters of one.
const MESSAGES_MAX = 39, CHARS_MAX = 8000;
const CONVERSATION = {
  messages: { type: "list", required: true, max: MESSAGES_MAX, items: { type: "object", fields: {
    role: { required: true, enum: ["user", "assistant"] },
    content: { required: true, max: CHARS_MAX },
  } } },
};

// What users can do about an error, by the status of the answer or the code of the error. The log has the cause.
const BROKEN = "The answer broke off. Ask again.";
const ADVICE = {
  401: "The model does not accept the key of this site. Tell the people who run it.",
  429: "The model has too much to do. Ask again in a minute.",
  fetch_closed: BROKEN,
  fetch_timeout: "The model takes too long. Ask again later.",
};
const advice = (cause) => ADVICE[cause] ?? "The model cannot be reached. Ask again later.";

app.use(app.secureHeaders({ csp: "default-src 'self'" }));
app.use("/answer", app.rateLimit({ limit: 20, per: 60 })); // each answer costs money

app.get("/", (req) => req.render("page.html", { messages_max: MESSAGES_MAX, chars_max: CHARS_MAX }));

// The data of each event of an answer. A chunk may end in the middle of a line.
async function* eventsOf(res) {
  let rest = "";
  for await (const chunk of res.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const [, data] = line.match(/^data: ?(.*?)\r?$/) ?? [];
      if (data !== undefined) yield data;
    }
  }
}

// Passes an answer on, piece by piece. When the visitor leaves, its waits fail, and the request to the model ends.
async function answer(events, messages) {
  const res = await fetch(`${URL}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ model: MODEL, messages, stream: true }),
    sampan: TIMEOUT,
  });
  if (!res.ok) {
    log.warn("the model refused", { status: res.status, answer: (await res.text()).slice(0, 500) });
    return events.send({ event: "fault", data: { text: advice(res.status) } });
  }
  for await (const data of eventsOf(res)) {
    if (data === "[DONE]") return events.send({ event: "done", data: {} });
    const text = JSON.parse(data).choices?.[0]?.delta.content;
    if (text) await events.send({ data: { text } });
  }
  log.warn("the answer of the model has no end");
  return events.send({ event: "fault", data: { text: BROKEN } });
}

app.post("/answer", async (req) => {
  const { data, errors } = app.validate(await req.json(), CONVERSATION);
  if (errors) return json({ errors }, 422);
  return sse(async (events) => {
    try {
      await answer(events, data.messages);
    } catch (error) {
      const code = error.code ?? error.cause?.code;
      if (code === "cancelled") throw error; // the visitor has left
      log.warn("no answer of the model", { error: String(error), code });
      await events.send({ event: "fault", data: { text: advice(code) } });
    }
  });
});
