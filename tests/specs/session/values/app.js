import { app } from "sampan";

app.get("/set", (req) => {
  const session = req.session;
  session.user_id = 7;
  session.name = 'Größe "x"';
  session.big = 9007199254740993n;
  session.ratio = 1.5;
  session.yes = true;
  session.cart = [{ id: 1, tags: ["a", "b"] }, { id: 2, tags: [] }];
  session["odd key"] = { a: { b: { c: 1 } } };
  return [session.user_id, session.name, session.cart[0].tags[1]];
});

app.get("/get", (req) => {
  const s = req.session;
  return { user_id: s.user_id, name: s.name, big: s.big, ratio: s.ratio, yes: s.yes, cart: s.cart, odd: s["odd key"],
    none: s.none === undefined, keys: s.keys() };
});

app.get("/change", (req) => {
  const s = req.session, session = s;
  delete s.user_id;
  session.set("name", null);
  session.set("user_id", session.get("name"));
  s.big = s.ratio = s.yes = undefined;
  delete s["odd key"];
  const cart = s.cart;
  cart[0].id = 100;
  s.copied = s.cart[0].id;
  s.cart = cart;
  return Object.keys(s);
});

app.get("/all", (req) => Object.entries(req.session));

app.get("/refused/:what", (req) => {
  const session = req.session;
  switch (req.params.what) {
    case "function": session.f = () => 1; break;
    case "bytes": session.b = new Uint8Array([255]); break;
    case "nan": session.n = NaN; break;
    case "method": session.clear = 1; break;
    case "own": session._flash = 1; break;
    case "large": session.large = "x".repeat(2000); break;
    case "session": session.session = session; break;
  }
});

app.get("/caught", (req) => {
  req.session.small = 1;
  let message = "";
  try { req.session.large = "x".repeat(2000); } catch (error) { message = error.message; }
  return { ok: message === "", message, large: req.session.large === undefined, small: req.session.small };
});
