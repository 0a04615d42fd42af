import { app, time } from "sampan";
const sleep = time.sleep;

app.get("/pcall", async () => {
  try {
    await sleep(0.002);
    return { ok: true, value: "inside" };
  } catch {
    return { ok: false };
  }
});
app.get("/error", async () => {
  try {
    await sleep(0.002);
    throw new Error("after");
  } catch (error) {
    return { ok: false, err: error.message };
  }
});
app.get("/coroutine", async () => {
  async function* slowly() {
    for (let i = 1; i <= 3; i++) {
      await sleep(0.002);
      yield i;
    }
  }
  const all = [];
  for await (const i of slowly()) all.push(i);
  return all;
});
app.get("/iterator", async () => {
  const all = await Promise.all([1, 2, 3, 4].map(async (i) => {
    await sleep(0.002);
    return i;
  }));
  return { sum: all.reduce((a, b) => a + b, 0) };
});
app.get("/metamethod", async () => {
  const lazy = new Proxy({}, { get: async (_, key) => {
    await sleep(0.002);
    return `${key}!`;
  } });
  return { value: await lazy.field };
});
