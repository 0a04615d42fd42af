import { app } from "sampan";

const mark = (name) => async (req, next) => {
  req.state.trail = (req.state.trail ?? "") + name + ">";
  const res = await next(req);
  res.headers.set("x-trail", (res.headers.get("x-trail") ?? "") + "<" + name);
  return res;
};

app.use(mark("a"));
app.get("/", (req) => req.state.trail);
app.use(mark("b"));
app.use("/deep/*", mark("c"));
app.use("/deep/exact", mark("d"));
app.use("/:one/exact", mark("e"));
app.get("/deep/:x", (req) => req.state.trail);
app.get("/other/exact", (req) => req.state.trail);
