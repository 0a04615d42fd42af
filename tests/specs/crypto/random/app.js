import { app, crypto } from "sampan";

app.get("/", () => {
  const a = crypto.randomBytes(16), b = crypto.randomBytes(16);
  const token = crypto.token(), long = crypto.token(64);
  return {
    lengths: [a.length, crypto.randomBytes(65536).length, token.length, long.length],
    differ: a.join() !== b.join() && token !== crypto.token(),
    is_plain: /^[\w-]+$/.test(token),
  };
});
app.get("/few", () => crypto.token(15));
app.get("/none", () => crypto.randomBytes(0).length);
app.get("/many", () => crypto.randomBytes(65537).length);
