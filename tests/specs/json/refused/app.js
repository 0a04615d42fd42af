import { app, json, text } from "sampan";

const values = {
  function: () => ({ x: () => {} }),
  cycle: () => { const o = {}; o.o = o; return o; },
  deep: () => { let o = {}; for (let i = 0; i < 200; i++) o = [o]; return o; },
  nan: () => ({ x: 0 / 0 }),
  holes: () => [1, , 3, , , 6],
  mixed: () => Object.assign([1], { x: 2 }),
  key: () => ({ [Symbol("s")]: 1 }),
  bytes: () => ({ x: new Uint8Array([255]) }),
  map: () => ({ x: new Map([[1, 2]]) }),
};
app.get("/request", (req) => req);
app.get("/request/member", (req) => ({ req }));
app.get("/returned/:case", (req) => values[req.params.case]());
app.get("/built/:case", (req) => json(values[req.params.case]()));
app.get("/encoded/:case", (req) => text(json.encode(values[req.params.case]())));
