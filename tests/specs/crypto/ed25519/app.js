import { app, codec, crypto } from "sampan";

app.get("/pair", () => {
  const keys = crypto.ed25519Keypair();
  const signature = crypto.ed25519Sign("message", keys.privateKey);
  return {
    private: /^-+BEGIN PRIVATE KEY-+\n/.test(keys.privateKey), public: /^-+BEGIN PUBLIC KEY-+\n/.test(keys.publicKey),
    bytes: signature.length,
    right: crypto.ed25519Verify("message", signature, keys.publicKey),
    other_message: crypto.ed25519Verify("messagf", signature, keys.publicKey),
    other_key: crypto.ed25519Verify("message", signature, crypto.ed25519Keypair().publicKey),
    cut: crypto.ed25519Verify("message", signature.subarray(0, 63), keys.publicKey),
  };
});
app.get("/rfc", () => {
  const seed = codec.hexDecode("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
  const key = codec.hexDecode("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const message = new Uint8Array([0x72]);
  const signature = crypto.ed25519Sign(message, seed);
  return { signature: codec.hexEncode(signature), right: crypto.ed25519Verify(message, signature, key) };
});
// Under a key of small order this signature would hold for every message: it is the neutral element, and zero.
const neutral = (last) => { const bytes = new Uint8Array(32); bytes[0] = 1; bytes[31] = last; return bytes; };
const forged = new Uint8Array(64);
forged[0] = 1;
app.get("/small/:last", (req) => crypto.ed25519Verify("any message", forged, neutral(Number(req.params.last))));
// The bytes behind the key are not a part of it.
app.get("/behind/:function", (req) => {
  const der = codec.hexDecode(`302a300506032b657003210001${"00".repeat(31)}${"55".repeat(32)}`);
  const key = `-----BEGIN PUBLIC KEY-----\n${codec.base64Encode(der)}\n-----END PUBLIC KEY-----`;
  if (req.params.function === "verify") return [crypto.verify("EdDSA", key, "any message", forged)];
  return [crypto.ed25519Verify("any message", forged, key)];
});
app.get("/swapped", () => crypto.ed25519Sign("message", crypto.ed25519Keypair().publicKey));
app.get("/text", () => crypto.ed25519Verify("message", "signature", "no key"));
