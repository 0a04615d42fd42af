import { app, crypto } from "sampan";

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

app.get("/digests", () => ({
  sha256: hex(crypto.sha256("abc")), sha384: hex(crypto.sha384("abc")), sha512: hex(crypto.sha512("abc")),
  sha1: hex(crypto.sha1("abc")), md5: hex(crypto.md5("abc")),
}));
app.get("/bytes", () => ({ empty: hex(crypto.sha256("")), binary: hex(crypto.sha256(new Uint8Array([0, 255]))) }));
app.get("/hmac", () => {
  const tags = {};
  for (const name of ["sha256", "sha384", "sha512", "sha1"]) {
    tags[name] = hex(crypto.hmac(name, "Jefe", new TextEncoder().encode("what do ya want for nothing?")));
  }
  return tags;
});
app.get("/equal", () => [
  crypto.equal("secret", "secret"), crypto.equal("secret", "secreT"), crypto.equal("secret", "secret1"),
  crypto.equal("", ""), crypto.equal(new Uint8Array([255, 0]), new Uint8Array([255, 0])),
]);
app.get("/unknown", () => hex(crypto.hmac("md5", "k", "x")));
app.get("/swapped_short", () => hex(crypto.hmac("hunter" + 2, "sha256", "x")));
app.get("/misspelt", () => hex(crypto.hmac("SHA-256", "k", "x")));
app.get("/swapped", () => hex(crypto.hmac("a secret that nobody may see", "sha256", "x")));
app.get("/number", () => hex(crypto.sha256(7)));
