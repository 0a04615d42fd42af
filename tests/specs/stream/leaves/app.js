import { app, time } from "sampan";

const options = { stream: true, bodyBytesMax: "10 MB" };
const seen = {};
const shown = (error) => `${error.status ?? 0} ${error.message}`;

const note = (name, fn) => async (req) => {
  seen[name] = "runs";
  try {
    await fn(req);
    seen[name] = "whole";
  } catch (error) {
    seen[name] = shown(error);
    throw error;
  }
  return "end";
};
const drain = async (req) => {
  for await (const _ of req.body);
};

app.post("/count", options, note("count", drain));
app.post("/text", options, note("text", (req) => req.text()));
app.post("/echo", options, (req) => {
  seen.echo = "runs";
  const reader = req.body.getReader();
  return new Response(new ReadableStream({
    async pull(controller) {
      try {
        const { value, done } = await reader.read();
        if (done) {
          seen.echo = "whole";
          controller.close();
        } else {
          controller.enqueue(value);
        }
      } catch (error) {
        seen.echo = shown(error);
        controller.close();
      }
    },
  }));
});
app.post("/busy", options, async (req) => {
  const reader = req.body.getReader();
  await reader.read();
  seen.busy = "sleeps";
  await time.sleep(0.15);
  try {
    while (!(await reader.read()).done);
    seen.busy = "whole";
  } catch (error) {
    seen.busy = error.message;
  }
  return "end";
});
app.get("/seen/:name", (req) => seen[req.params.name] ?? "nothing");
