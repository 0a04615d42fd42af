import { app, csv, stream, time } from "sampan";

let kept;

app.get("/stream", () => {
  const out = csv.writer();
  return stream(async (write) => {
    for (let i = 1; i <= 3; i++) {
      out.add({ id: i, name: `n${i}` });
      if (i > 1) await write(out.take());
      await time.sleep(0.001);
    }
    await write(`${out.take()}end`);
  });
});
const works = (fn) => { try { fn(); return true; } catch { return false; } };
app.get("/fault", () => {
  const out = csv.writer();
  const first = works(() => out.add({ a: {} }));
  out.add({ b: 1 });
  const second = works(() => out.add({ b: {} }));
  out.add({ b: 2 });
  return { first, second, text: out.take(), again: out.take() };
});
app.get("/inside", () => {
  const out = csv.writer({ columns: ["a"] });
  let said;
  try {
    out.add({ get a() { out.take(); return 1; } });
  } catch (error) {
    said = error.message;
  }
  if (said !== "this CsvWriter writes a row at the moment") throw new Error(said);
  out.add({ a: 1 });
  return out.take();
});
app.get("/keep", () => {
  kept = csv.writer();
  kept.add([1]);
  return "kept";
});
app.get("/after", () => {
  try {
    kept.add([1]);
    return "true";
  } catch (error) {
    return `false ${error.message}`;
  }
});
app.get("/full", () => {
  const out = csv.writer(), line = ["x".repeat(1000000)];
  for (let rows = 1; ; rows++) {
    try {
      out.add(line);
    } catch (error) {
      return `${rows} ${error.message}`;
    }
  }
});
app.get("/many", () => {
  for (let i = 1; i <= 20000; i++) csv.writer().add([i]);
  return "many";
});
app.get("/wrong", () => csv.writer().add());
app.get("/leaves", () => {
  const out = csv.writer();
  return stream(async (write) => {
    kept = out;
    for (;;) {
      out.add([1]);
      await write(out.take());
      await time.sleep(0.005);
    }
  });
});
app.onError((_, err) => ({ error: err.message }));
