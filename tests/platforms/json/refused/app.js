import { app, json, stream } from "sampan";

const values = {
  generator: () => ({ x: (function* () { yield 1; })() }),
  asyncGenerator: () => ({ x: (async function* () { yield 1; })() }),
  iterator: () => ({ x: new Map([[1, 2]]).keys() }),
  regexp: () => ({ x: /x/ }),
  weak: () => ({ x: new WeakMap() }),
};
app.get("/returned/:case", (req) => values[req.params.case]());
app.get("/built/:case", (req) => json(values[req.params.case]()));
app.get("/stream", () => stream(function* (write) { yield write("x"); }));
app.get("/locked", () => {
  const response = new Response("x");
  response.body.getReader();
  return response;
});
