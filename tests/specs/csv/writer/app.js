import { app, csv, stream, time } from "sampan";

let kept;

let early;
try {
  csv.writer();
} catch (error) {
  early = error.message;
}

app.get("/early", () => early);
app.get("/stream", () => {
  const writer = csv.writer();
  return stream(async (write) => {
    for (let i = 1; i <= 3; i++) {
      writer.add({ id: i, name: `n${i}` });
      if (i > 1) await write(writer.take());
      await time.sleep(0.001);
    }
    await write(`${writer.take()}end`);
  });
});
const works = (fn) => { try { fn(); return true; } catch { return false; } };
app.get("/fault", () => {
  const writer = csv.writer();
  const first = works(() => writer.add({ a: {} }));
  writer.add({ b: 1 });
  const second = works(() => writer.add({ b: {} }));
  writer.add({ b: 2 });
  return { first, second, text: writer.take(), again: writer.take() };
});
app.get("/inside", () => {
  const writer = csv.writer({ columns: ["a"] });
  let said;
  try {
    writer.add({ get a() { writer.take(); return 1; } });
  } catch (error) {
    said = error.message;
  }
  if (said !== "this CsvWriter writes a row at the moment") throw new Error(said);
  writer.add({ a: 1 });
  return writer.take();
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
  const writer = csv.writer(), line = ["x".repeat(1000000)];
  for (let rows = 1; ; rows++) {
    try {
      writer.add(line);
    } catch (error) {
      return `${rows} ${error.message}`;
    }
  }
});
app.get("/all", () => {
  const kept = [], line = ["x".repeat(900000)];
  for (let i = 1; i <= 1000; i++) {
    const writer = csv.writer();
    kept.push(writer);
    writer.add(line);
  }
});
app.get("/many", () => {
  for (let i = 1; i <= 20000; i++) csv.writer().add([i]);
  return "many";
});
app.get("/wrong", () => csv.writer().add());
app.get("/leaves", () => {
  const writer = csv.writer();
  return stream(async (write) => {
    kept = writer;
    for (;;) {
      writer.add([1]);
      await write(writer.take());
      await time.sleep(0.005);
    }
  });
});
app.onError((_, err) => ({ error: err.message }));
