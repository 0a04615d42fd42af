import { app, crypto } from "sampan";
import { certificates, privateKeys, publicKeys, tokens } from "./keys.js";

const { rsa, ec, ed } = publicKeys;
const SET = { keys: [rsa, ec, ed, publicKeys.enc, { kty: "AKP", kid: "later" }] };
const ACCEPTED = { algorithms: ["PS256", "PS384", "PS512", "RS256", "ES256", "EdDSA"] };

app.get("/foreign/:name", (req) => [crypto.jwtVerify(tokens[req.params.name], SET, ACCEPTED).sub]);
app.get("/own/:kid/:algorithm", (req) => {
  const key = { ...privateKeys[req.params.kid], alg: req.params.algorithm };
  const token = crypto.jwtSign({ sub: "9" }, key, { expiresIn: 60 });
  const { header } = crypto.jwtDecode(token);
  return [crypto.jwtVerify(token, SET, ACCEPTED).sub, header.alg, header.kid];
});
app.get("/chosen", () => {
  const token = crypto.jwtSign({ sub: "9" }, { algorithm: "PS384", key: privateKeys.rsa, kid: "mine" });
  return [crypto.jwtVerify(token, { algorithm: "PS384", key: rsa, kid: "mine" }).sub];
});
app.get("/certificate", () => [
  crypto.jwtVerify(tokens.PS256, { algorithm: "PS256", key: certificates.rsa }).sub,
  crypto.jwtVerify(tokens.ES256, { algorithm: "ES256", key: certificates.ec + certificates.rsa }).sub,
  crypto.jwtVerify(tokens.EdDSA, { algorithm: "EdDSA", key: certificates.ed }).sub,
]);
app.get("/code/:name", (req) => {
  try {
    crypto.jwtVerify(tokens[req.params.name], SET, ACCEPTED);
    return "accepted";
  } catch (fault) {
    return { code: fault.code, status: fault.status };
  }
});
app.get("/other_algorithm", () => crypto.jwtVerify(tokens.RS256, SET, { algorithms: ["PS256", "HS256"] }));
app.get("/own_algorithm", () => crypto.jwtVerify(tokens.RS256, { ...rsa, alg: "PS256" }, ACCEPTED));
app.get("/malformed_keys", () => {
  const point = { ...ec, y: ec.x };
  const modulus = { kty: "RSA", n: "AAAA", e: "AQAB" };
  const keys = { keys: [point, modulus, ec, rsa] };
  return ["ES256", "nameless", "RS256"].map((name) => crypto.jwtVerify(tokens[name], keys, ACCEPTED).sub);
});
app.get("/no_common_algorithm", () => crypto.jwtVerify(tokens.ES256, { keys: [ec, ed] }, { algorithms: "RS256" }));
app.get("/decode", () => crypto.jwtDecode(tokens.expired));
app.get("/no_token", () => crypto.jwtDecode("no token"));
app.get("/no_algorithm", () => crypto.jwtVerify(tokens.RS256, rsa));
app.get("/encryption", () => crypto.jwtVerify(tokens.ES256, publicKeys.enc));
app.get("/sign_by_public", () => crypto.jwtSign({}, { ...ec, key_ops: ["verify"] }));
app.get("/public_as_secret", () => crypto.jwtVerify(tokens.by_public, { algorithm: "HS256", key: rsa }));
app.get("/nothing_fits", () => crypto.jwtVerify(tokens.ES256, { keys: [publicKeys.enc] }));
