import { app, codec, crypto, time } from "sampan";

const KEY = "k".repeat(32);
const text = (bytes) => bytes && new TextDecoder().decode(bytes);

app.get("/seal", () => {
  const sealed = crypto.seal(new Uint8Array([117, 0, 255]), "unsubscribe");
  const forged = (sealed[0] === "A" ? "B" : "A") + sealed.slice(1);
  return {
    same: crypto.open(sealed, "unsubscribe").join() === "117,0,255", is_plain: /^[\w-]+$/.test(sealed),
    other: crypto.open(sealed, "login") === null, forged: crypto.open(forged, "unsubscribe") === null,
    differs: crypto.seal("a", "b") !== crypto.seal("a", "b"),
  };
});
app.get("/encrypt", () => {
  const sealed = crypto.encrypt("secret", KEY);
  const bound = crypto.encrypt("secret", KEY, "row 7");
  return {
    bytes: sealed.length, same: text(crypto.decrypt(sealed, KEY)), bound: text(crypto.decrypt(bound, KEY, "row 7")),
    other_key: crypto.decrypt(sealed, "l".repeat(32)) === null, other_extra: crypto.decrypt(bound, KEY, "row 8") === null,
    short: crypto.decrypt(sealed.subarray(0, 11), KEY) === null, cut: crypto.decrypt(sealed.subarray(0, -1), KEY) === null,
  };
});
app.get("/foreign", () => text(crypto.decrypt(codec.hexDecode("03b93cb5664c15a7c2bdda31545bb977d439ca090079c8c62845f6ad772251eb379aa85f2746d68c9a4a"), KEY, "row 7")));
app.get("/key", () => crypto.encrypt("secret", "short"));
app.get("/cookie", (req) => text(crypto.open(req.cookies.card, "cookie card")) ?? "none");
app.get("/expires", async () => {
  const sealed = crypto.seal("user 7", "reset", { maxAge: 1 });
  const before = text(crypto.open(sealed, "reset"));
  const others = crypto.open(sealed, "login") === null && text(crypto.open(crypto.seal("x", "reset"), "reset"));
  await time.sleep(1.1);
  return { before, after: crypto.open(sealed, "reset") === null, others };
});
app.get("/age", () => crypto.seal("a", "b", { maxAge: 0 }));
app.get("/option", () => crypto.seal("a", "b", { maxage: 1 }));
