import { app, codec, crypto } from "sampan";

const [hex, bytes] = [codec.hexEncode, codec.hexDecode];

app.get("/hkdf", () => {
  const options = { salt: bytes("000102030405060708090a0b0c"), info: bytes("f0f1f2f3f4f5f6f7f8f9"), length: 42 };
  return [hex(crypto.hkdf("sha256", new Uint8Array(22).fill(11), options))];
});
app.get("/hkdf_lengths", () => ["sha256", "sha384", "sha512", "sha1"].map((name) =>
  [crypto.hkdf(name, "key").length, crypto.hkdf(name, "key", { length: 1 }).length]));
app.get("/hkdf_info", () =>
  [hex(crypto.hkdf("sha256", "key", { info: "a" })) !== hex(crypto.hkdf("sha256", "key", { info: "b" }))]);
app.get("/hkdf_long", () => crypto.hkdf("sha256", "key", { length: 8161 }));
app.get("/hkdf_none", () => crypto.hkdf("sha256", "key", { length: 0 }));
app.get("/hkdf_empty", () => crypto.hkdf("sha256", ""));
app.get("/hkdf_swapped", () => crypto.hkdf("a secret that nobody may see", "sha256"));
app.get("/hkdf_hash", () => crypto.hkdf("md5", "key"));
app.get("/hkdf_option", () => crypto.hkdf("sha256", "key", { iterations: 2 }));
app.get("/pbkdf2", async () => [
  hex(await crypto.pbkdf2("sha1", "password", { salt: "salt", iterations: 4096, length: 20 })),
  hex(await crypto.pbkdf2("sha256", "passwd", { salt: "salt", iterations: 1, length: 64 })),
]);
app.get("/pbkdf2_salt", () => crypto.pbkdf2("sha256", "password", { iterations: 1000 }));
app.get("/pbkdf2_iterations", () => crypto.pbkdf2("sha256", "password", { salt: "salt" }));
app.get("/pbkdf2_many", () => crypto.pbkdf2("sha256", "password", { salt: "salt", iterations: 5000001 }));
app.get("/pbkdf2_long", () => crypto.pbkdf2("sha256", "password", { salt: "salt", iterations: 1, length: 1025 }));
app.get("/pbkdf2_blocks", () =>
  crypto.pbkdf2("sha256", "password", { salt: "salt", iterations: 200000, length: 1024 }));
