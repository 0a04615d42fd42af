import { app, files } from "sampan";

let seen = "nothing";
app.post("/form", { stream: true, bodyBytesMax: "10 MB" }, async (req) => {
  seen = "runs";
  try {
    await req.form();
    seen = "whole";
  } catch (error) {
    seen = `${error.status ?? 0} ${error.message}`;
    throw error;
  }
  return "read";
});
app.get("/seen", () => ({ seen, files: files.list() }));
