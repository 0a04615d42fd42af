import { app, codec, time } from "sampan";

const form = (id, version) => new RegExp(`^[0-9a-f]{8}-[0-9a-f]{4}-${version}[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).test(id);

app.get("/", () => {
  let sorted = true, last = "";
  for (let i = 0; i < 5000; i++) {
    const id = codec.uuidV7();
    sorted &&= id > last;
    last = id;
  }
  const millis = Number.parseInt(last.slice(0, 8) + last.slice(9, 13), 16);
  return {
    v4: form(codec.uuidV4(), "4"), v7: form(last, "7"), differ: codec.uuidV4() !== codec.uuidV4(), sorted,
    now: Math.abs(millis - time.now() * 1000) < 5000,
  };
});
