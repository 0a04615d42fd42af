import { app, files } from "sampan";

const project = { from: "project" };
const atStart = files.read("data/cities.txt", project);

app.get("/start", () => atStart);
app.get("/lines", async () => {
  const all = [];
  const count = await files.lines("data/cities.txt", (line) => { all.push(line); }, project);
  return { count, all };
});
app.get("/stops", async () => {
  let seen = 0;
  const count = await files.lines("data/cities.txt", () => ++seen < 2, project);
  return { count, seen };
});
app.get("/throws", async () => { await files.lines("data/cities.txt", () => { throw new Error("boom"); }, project); });
app.get("/list", () => files.list("data", project));
app.get("/storage", () => [files.exists("data/cities.txt"), files.exists("app.lua"), files.exists("app.lua", project)]);
