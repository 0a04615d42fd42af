import { app, files } from "sampan";

const shown = (value) =>
  typeof value === "string" ? value : { name: value.name, type: value.type, size: value.size };

const all = async (req) => {
  const seen = {};
  for (const [name, value] of Object.entries(await req.form())) {
    seen[name] = Array.isArray(value) ? value.map(shown) : shown(value);
  }
  return seen;
};

app.post("/form", all);
app.post("/streamed", { stream: true }, all);
app.post("/twice", { stream: true }, async (req) => {
  const { a } = await req.form();
  return [a, a];
});
app.post("/save", { stream: true }, async (req) => {
  const file = (await req.form()).f;
  const path = `uploads/${file.name}`;
  await file.save(path);
  return {
    text: await file.text(), bytes: (await file.bytes()).length, saved: files.read(path), path, again: await file.save("copy"),
  };
});
app.post("/pieces", { stream: true, bodyBytesMax: "10 MB" }, async (req) => {
  const file = (await req.form()).f;
  let pieces = 0, bytes = 0;
  for (let piece; (piece = await file.read()); ) {
    pieces++;
    bytes += piece.length;
  }
  await file.save("large");
  return { pieces, bytes, size: file.size, saved: files.stat("large").size, names: files.list() };
});
app.post("/set", async (req) => { (await req.form()).f.name = "x"; });
let kept;
app.post("/keep", async (req) => { kept = (await req.form()).f; return "kept"; });
app.get("/kept", () => kept.name);
app.post("/keyed", async (req) => {
  const file = (await req.form()).f;
  let set = true;
  try {
    file.set("name", "x");
  } catch {
    set = false;
  }
  const piece = await file.read();
  return { name: file.get("name"), keys: file.keys().length, set, read: piece !== null };
});
app.post("/again", async (req) => app.renderString("[{{ form.f }}{% if form.f %}+{% endif %}]", { form: await req.form() }));
