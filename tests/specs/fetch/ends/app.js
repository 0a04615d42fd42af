import { app, stream, time } from "sampan";

const up = (req, path) => `http://${req.headers.get("host")}/up/${path}`;

// Requests that never end by themselves, and how they ended.
const counts = { begun: 0, given_up: 0 };
const counted = async (fn) => {
  counts.begun += 1;
  try {
    await fn();
  } catch (error) {
    counts.given_up += 1;
    throw error;
  }
};
app.get("/up/silent", () => counted(() => time.sleep(600)));
app.get("/up/endless", () => stream((write) => counted(async () => {
  for (;;) {
    await write("x");
    await time.sleep(0.002);
  }
})));
app.get("/counts", () => counts);

app.get("/waits", (req) => fetch(up(req, "silent")));
app.get("/reads", async (req) => (await fetch(up(req, "endless"))).text());
app.get("/passes", (req) => fetch(up(req, "endless")));
app.get("/ignores", async (req) => {
  await fetch(up(req, "endless"));
  return "not read";
});
const kept = [];
app.get("/keeps", async (req) => {
  kept.push(req, await fetch(up(req, "endless")));
  return "kept";
});
app.get("/late", async (req) => {
  try {
    await fetch(up(req, "silent"), { sampan: { total: "30ms" } });
  } catch (error) {
    return error.cause.code;
  }
});
app.get("/many", async (req) => {
  const kept = [];
  let said, code;
  try {
    for (let i = 0; i < 200; i++) kept.push(await fetch(up(req, "endless")));
  } catch (error) {
    said = error.message.match(/are under way already/)?.[0];
    code = error.cause.code;
  }
  return { count: kept.length, said, code };
});

// What only JavaScript has.
let whole = "";
app.get("/up/slow", () => stream(async (write) => {
  await write("a ");
  await time.sleep(0.03);
  await write("b");
}));
const readLater = async (res) => {
  await time.sleep(0.01);
  whole = await res.text();
};
app.get("/later", async (req) => {
  readLater(await fetch(up(req, "slow")));
  return whole;
});
app.get("/whole", () => whole);
app.get("/aborts", async (req) => {
  const controller = new AbortController();
  const { signal } = controller;
  const waiting = fetch(up(req, "silent"), { signal }).catch((error) => `${error.name} ${error === signal.reason}`);
  while (counts.begun === counts.given_up) await time.sleep(0.002);
  controller.abort();
  const never = await fetch(up(req, "silent"), { signal: AbortSignal.abort("a reason") }).catch((reason) => reason);
  const late = await fetch(up(req, "silent"), { signal: AbortSignal.timeout(20) }).catch((error) => error.name);
  return [await waiting, never, late];
});
app.get("/aborts-body", async (req) => {
  const controller = new AbortController();
  const res = await fetch(up(req, "endless"), { signal: controller.signal });
  const reader = res.body.getReader();
  const first = await reader.read();
  const rest = (async () => { while (!(await reader.read()).done); })().catch((error) => error.name);
  controller.abort();
  return [first.value.length > 0, await rest];
});
app.get("/cancels", async (req) => {
  const res = await fetch(up(req, "endless"));
  await res.body.cancel();
  return [res.bodyUsed];
});
