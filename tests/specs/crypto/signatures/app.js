import { app, codec, crypto } from "sampan";
import { certificates, privateKeys, signatures } from "./keys.js";

const DATA = "Hello, World!";
const KEY_OF = { RS256: "rsa", PS512: "rsa", ES256: "ec", EdDSA: "ed" };

app.get("/foreign/:algorithm", (req) => {
  const { algorithm } = req.params;
  const signature = codec.base64urlDecode(signatures[algorithm]);
  const verify = (key, text) => crypto.verify(algorithm, key, text, signature);
  const name = KEY_OF[algorithm];
  return [verify(certificates[name], DATA), verify(privateKeys[name], DATA), verify(privateKeys[name], "other")];
});
app.get("/own/:algorithm", (req) => {
  const { algorithm } = req.params;
  const name = KEY_OF[algorithm];
  const signature = crypto.sign(algorithm, privateKeys[name], DATA);
  return [signature.length, crypto.verify(algorithm, certificates[name], DATA, signature)];
});
app.get("/pem", () => {
  const keys = crypto.ed25519Keypair();
  return [crypto.verify("EdDSA", keys.publicKey, DATA, crypto.sign("EdDSA", keys.privateKey, DATA))];
});
app.get("/der", () => {
  const key = certificates.ec;
  const foreign = codec.base64urlDecode(signatures.ES256_der);
  const own = crypto.sign("ES256", privateKeys.ec, DATA, { der: true });
  return [
    crypto.verify("ES256", key, DATA, foreign, { der: true }), crypto.verify("ES256", key, DATA, foreign),
    crypto.verify("ES256", key, DATA, own, { der: true }), crypto.verify("ES256", key, DATA, "", { der: true }),
  ];
});
app.get("/other_type", () => crypto.verify("RS256", privateKeys.ec, DATA, "signature"));
app.get("/other_certificate", () => crypto.verify("RS256", certificates.ec, DATA, "signature"));
app.get("/hmac", () => crypto.sign("HS256", "a secret of more than 32 bytes, or so", DATA));
app.get("/der_of_rsa", () => crypto.sign("RS256", privateKeys.rsa, DATA, { der: true }));
app.get("/no_key", () => crypto.verify("RS256", undefined, DATA, "signature"));
