import { app } from "sampan";

app.post("/echo", (req) => req.json());
app.post("/changed", async (req) => {
  const list = await req.json();
  list[1].added = true;
  delete list[2].a;
  Object.freeze(list[3]);
  list[4].a = { b: list[4].b };
  return list;
});
