import { app, crypto, time } from "sampan";
import { privateKeys, publicKeys, tokens } from "./tokens.js";

const SECRET = { algorithm: "HS256", key: "a secret of more than 32 bytes for HS256" };
const NAMED = [
  { algorithm: "HS256", key: SECRET.key, kid: "a" },
  { algorithm: "HS256", key: "the secret of the key with the name b...", kid: "b" },
];
const keyOf = (algorithm, half) => ({ algorithm, key: half[algorithm] ?? SECRET.key + SECRET.key });

app.get("/verify/:name", (req) =>
  crypto.jwtVerify(tokens[req.params.name], SECRET,
    Object.fromEntries(Object.entries(req.query).filter(([name]) => name === "audience" || name === "issuer"))));
app.get("/code/:name", (req) => {
  try {
    crypto.jwtVerify(tokens[req.params.name], SECRET);
    return "accepted";
  } catch (fault) {
    return { code: fault.code, status: fault.status };
  }
});
app.get("/foreign/:algorithm", (req) => {
  const { algorithm } = req.params;
  const key = algorithm.startsWith("HS") ? { algorithm, key: SECRET.key } : keyOf(algorithm, publicKeys);
  return [crypto.jwtVerify(tokens[algorithm], key).sub];
});
app.get("/own/:algorithm", (req) => {
  const { algorithm } = req.params;
  const token = crypto.jwtSign({ sub: "9", user_id: 7 }, keyOf(algorithm, privateKeys), { expiresIn: 60 });
  const claims = crypto.jwtVerify(token, keyOf(algorithm, publicKeys), { leeway: 10 });
  return [claims.sub, claims.user_id, claims.exp - claims.iat];
});
app.get("/named/:name", (req) => crypto.jwtVerify(tokens[req.params.name], NAMED));
app.get("/leeway", () => {
  const token = crypto.jwtSign({ exp: Math.floor(time.now()) - 10 }, SECRET);
  let ok = true;
  try { crypto.jwtVerify(token, SECRET, { leeway: 5 }); } catch { ok = false; }
  return [ok, crypto.jwtVerify(token, SECRET, { leeway: 60 }) !== null];
});
app.get("/sent", (req) => crypto.jwtVerify(req.headers.get("authorization"), SECRET));
app.get("/confused", () => crypto.jwtVerify(tokens.hs_by_public, { algorithm: "HS256", key: publicKeys.RS256 }));
app.get("/by_public", () => crypto.jwtVerify(tokens.hs_by_public, keyOf("RS256", publicKeys)));
app.get("/no_algorithm", () => crypto.jwtVerify(tokens.HS256, { key: SECRET.key }));
app.get("/none_key", () => crypto.jwtVerify(tokens.none, { algorithm: "none", key: SECRET.key }));
app.get("/bare", () => crypto.jwtVerify(tokens.HS256, SECRET.key));
app.get("/weak", () => crypto.jwtSign({}, { algorithm: "HS256", key: "secret" }));
app.get("/wrong_key", () => crypto.jwtSign({}, { algorithm: "RS256", key: privateKeys.ES256 }));
app.get("/no_claims", () => crypto.jwtSign([1, 2], SECRET));
