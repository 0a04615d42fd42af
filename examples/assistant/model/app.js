// A stand-in for the API of a language model, for trying examples/assistant.   sampan run examples/assistant/model/app.js
// It speaks the protocol of OpenAI's chat completions, and answers with the words of the question.
import { app, json, stream, time } from "sampan";

const KEY = "test-key";
let streams = 0; // answers that are being sent

const refuse = (status, message, headers = {}) =>
  json({ error: { message, type: "invalid_request_error" } }, { status, headers });

const chunk = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

app.post("/v1/chat/completions", async (req) => {
  if (req.headers.get("authorization") !== `Bearer ${KEY}`) return refuse(401, "Incorrect API key provided.");
  const call = await req.json();
  const question = call.messages.at(-1).content;
  if (question.includes("too many")) return refuse(429, "Rate limit reached.", { "retry-after": "20" });
  if (!call.stream) return refuse(400, "This server only streams.");
  const answer = question.includes("long") ? "word ".repeat(10_000) : `You said: “${question}”. I only repeat it.`;

  return stream(async (write) => {
    streams += 1;
    try {
      await write(chunk({ role: "assistant", content: "" }));
      for (const word of answer.match(/\S+\s*/g)) {
        if (word.includes("break")) throw new Error("the model broke down");
        await write(chunk({ content: word }));
        await time.sleep(0.05);
      }
      await write(chunk({}, "stop"));
      await write("data: [DONE]\n\n");
    } finally {
      streams -= 1;
    }
  }, { headers: { "content-type": "text/event-stream" } });
});

app.get("/streams", () => streams);
