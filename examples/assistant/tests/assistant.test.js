import { t } from "sampan";

const API = "POST http://127.0.0.1:8090/v1/chat/completions";

const chunk = (content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;

// The events of an answer to a question: what was shown of it, and how it ended.
async function ask(question = "Hello") {
  const answer = await t.post("/answer", { json: { messages: [{ role: "user", content: question }] } });
  t.equal(answer.headers["content-type"], "text/event-stream");
  let shown = "";
  const ends = [];
  for (const event of answer.body.split("\n\n").slice(0, -1)) {
    const { text } = JSON.parse(event.match(/data: (.*)$/)[1]);
    const [, name] = event.match(/^event: (\w+)/) ?? [];
    if (name) ends.push(text ? `${name}: ${text}` : name);
    else shown += text;
  }
  return [shown, ends];
}

t.test("an answer is passed on, wherever its chunks end", async () => {
  const whole = `${chunk("Hel")}: a comment\n\n${chunk("lo Zurich\n\n2")}data: [DONE]\n\n`;
  const mock = t.fetchMock(API, { chunks: [whole.slice(0, 9), whole.slice(9, 70), whole.slice(70)] });
  t.equal(await ask("Hello?"), ["Hello Zurich\n\n2", ["done"]]);
  const [call] = mock.calls();
  t.equal(call.headers.authorization, "Bearer test-key");
  t.equal(call.json, { model: "test", stream: true, messages: [{ role: "user", content: "Hello?" }] });
});

t.test("errors of the API are told in words", async () => {
  for (const [status, words] of [[401, "does not accept the key"], [429, "too much to do"], [500, "cannot be reached"]]) {
    t.fetchMock(API, { status, json: { error: { message: "private" } } });
    const [shown, ends] = await ask();
    t.equal(shown, "");
    t.contains(ends[0], words);
    t.ok(!ends[0].includes("private"));
  }
});

t.test("a server that is not there, or is too slow, is told", async () => {
  t.fetchMock(API, { error: "connect" });
  t.equal(await ask(), ["", ["fault: The model cannot be reached. Ask again later."]]);
  t.fetchMock(API, { error: "timeout" });
  t.equal(await ask(), ["", ["fault: The model takes too long. Ask again later."]]);
});

t.test("an answer that breaks off is told, and its beginning shown", async () => {
  t.fetchMock(API, { chunks: [chunk("Half an ")] });
  t.equal(await ask(), ["Half an ", ["fault: The answer broke off. Ask again."]]);
  t.fetchMock(API, { chunks: [chunk("Half an "), 'data: {}\n\ndata: {"cho\n\n'] });
  const [shown, ends] = await ask();
  t.equal(shown, "Half an ");
  t.contains(ends[0], "fault: ");
});

t.test("a conversation has a form and a limit", async () => {
  const mock = t.fetchMock(API, { chunks: [] });
  for (const messages of [
    [], Array(40).fill({ role: "user", content: "Hello" }), [{ role: "system", content: "Hello" }],
    [{ role: "user", content: "a".repeat(8001) }],
  ]) {
    t.equal((await t.post("/answer", { json: { messages } })).status, 422);
  }
  t.equal(mock.count(), 0);
});
