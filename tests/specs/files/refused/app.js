import { app, db, files } from "sampan";

const tried = async (fn) => {
  try {
    await fn();
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code };
  }
};
app.post("/read", async (req) => {
  const path = await req.json();
  return tried(() => files.read(path));
});
app.post("/write", async (req) => {
  const path = await req.json();
  return tried(() => files.write(path, "x"));
});
app.get("/overlong", () => "no such text");
app.get("/said", () => files.read("../app.lua"));
app.get("/none", () => files.read("none.txt"));
app.get("/option", () => files.read("a", { form: "project" }));
app.get("/option/async", () => files.readAsync("a", { form: "project" }));
app.get("/from", () => files.read("a", { from: "home" }));
app.get("/batch", () => db.batch(() => files.write("a", "x")));
