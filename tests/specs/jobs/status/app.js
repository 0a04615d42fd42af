import { app, db, time } from "sampan";

const assert = (holds) => { if (!holds) throw new Error("not as expected"); };

app.job("count", { attempts: 1 }, async (_, job) => {
  job.progress(50, "half");
  // It is written soon, apart from the job.
  let seen;
  do {
    await time.sleep(0.005);
    seen = await app.jobStatus(job.id);
  } while (seen.progress !== 50);
  assert(seen.state === "running" && seen.attempts === 1 && seen.progressText === "half");
  assert(seen.started >= seen.added && seen.ended === null);
});
app.job("fail", { attempts: 2, backoff: 0 }, (_, job) => { throw new Error(`attempt ${job.attempt}`); });
app.job("steps", (_, job) => {
  for (let percent = 10; percent <= 100; percent += 10) job.progress(percent, `${percent} %`);
});
app.job("wait", { queue: "others" }, () => {});

const shown = (job) => ({
  state: job.state,
  name: job.name,
  queue: job.queue,
  attempts: job.attempts,
  has_begun: job.started !== null,
  has_ended: job.ended !== null,
  error: job.error ?? "none",
});

app.post("/add/:name", async (req) => { await app.enqueue(req.params.name); });
app.get("/status/:name", async (req) => {
  const row = await db.one("SELECT id FROM _sampan_jobs WHERE name = ?", [req.params.name]);
  return shown(await app.jobStatus(row.id));
});
app.get("/progress", async () => {
  const row = await db.one("SELECT id FROM _sampan_jobs WHERE name = 'steps'");
  const job = await app.jobStatus(row.id);
  return { state: job.state, progress: job.progress, text: job.progressText };
});
app.post("/wait", async () => {
  const id = await app.enqueue("wait", null, { delay: "1 h" });
  const job = await app.jobStatus(id);
  const answer = {
    ...shown(job),
    delay: Math.round(job.due - job.added),
    is_now: Math.abs(job.added - time.now()) < 600,
  };
  await app.cancelJob(id);
  return { ...answer, after: shown(await app.jobStatus(id)) };
});
app.post("/transaction", async () => await db.transaction(async (tx) => {
  // In Node.js and Bun whose transaction it is cannot be told.
  if (globalThis.process?.versions?.node !== undefined) return { inside: "scheduled" };
  const id = await tx.enqueue("wait", null, { delay: "1 h" });
  return { inside: (await app.jobStatus(id)).state };
}));
app.get("/unknown", async () => {
  for (const id of [1, -5, 1.5, 1e300]) {
    if (await app.jobStatus(id) !== null) return { is_nothing: false };
  }
  return { is_nothing: await app.jobStatus(NaN) === null };
});
app.get("/wrong", async () => {
  try {
    await app.jobStatus("7");
    return "found";
  } catch (error) {
    return error.message;
  }
});
