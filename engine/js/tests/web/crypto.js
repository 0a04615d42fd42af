// crypto: published vectors (FIPS 180-4 examples, RFC 4231, RFC 2202).
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const utf8 = (text) => new TextEncoder().encode(text);

test("digests", async () => {
  const table = {
    "SHA-1": "a9993e364706816aba3e25717850c26c9cd0d89d",
    "SHA-256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "SHA-384": "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
    "SHA-512": "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
  };
  for (const [name, expected] of Object.entries(table)) {
    equal(hex(await crypto.subtle.digest(name, utf8("abc"))), expected);
    equal(hex(await crypto.subtle.digest({ name: name.toLowerCase() }, utf8("abc").buffer)), expected);
  }
  equal(hex(await crypto.subtle.digest("SHA-1", new Uint8Array(0))), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  ok((await crypto.subtle.digest("SHA-1", bytes(1))) instanceof ArrayBuffer);
  await rejects("NotSupportedError", crypto.subtle.digest("MD5", bytes()));
  await rejects(TypeError, crypto.subtle.digest("SHA-1", "text"));
});
test("a view is digested, not its buffer", async () => {
  const whole = utf8("xabcx");
  equal(hex(await crypto.subtle.digest("SHA-1", whole.subarray(1, 4))), "a9993e364706816aba3e25717850c26c9cd0d89d");
});
const importKey = (secret, hash, usages = ["sign", "verify"]) =>
  crypto.subtle.importKey("raw", secret, { name: "HMAC", hash }, true, usages);
test("HMAC", async () => {
  const key = new Uint8Array(20).fill(0x0b);
  const table = {
    "SHA-1": "b617318655057264e28bc0b6fb378c8ef146be00",
    "SHA-256": "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    "SHA-384": "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6",
    "SHA-512": "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
  };
  for (const [hash, expected] of Object.entries(table)) {
    const imported = await importKey(key, hash);
    const signature = await crypto.subtle.sign("HMAC", imported, utf8("Hi There"));
    equal(hex(signature), expected, hash);
    equal(await crypto.subtle.verify({ name: "hmac" }, imported, signature, utf8("Hi There")), true);
    const forged = new Uint8Array(signature);
    forged[0] ^= 1;
    equal(await crypto.subtle.verify("HMAC", imported, forged, utf8("Hi There")), false);
    equal(await crypto.subtle.verify("HMAC", imported, forged.subarray(1), utf8("Hi There")), false);
    equal(await crypto.subtle.verify("HMAC", imported, signature, utf8("Hi there")), false);
  }
  const jefe = await importKey(utf8("Jefe"), { name: "SHA-256" });
  equal(hex(await crypto.subtle.sign("HMAC", jefe, utf8("what do ya want for nothing?"))),
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
});
test("keys keep their rules", async () => {
  const key = await importKey(bytes(1, 2, 3), "SHA-256", ["verify"]);
  equal([key.type, key.extractable, key.usages, key.algorithm], ["secret", true, ["verify"], { name: "HMAC", hash: { name: "SHA-256" }, length: 24 }]);
  await rejects("InvalidAccessError", crypto.subtle.sign("HMAC", key, bytes()));
  key.usages.push("sign");
  await rejects("InvalidAccessError", crypto.subtle.sign("HMAC", key, bytes()), "usages are a copy");
  await rejects("SyntaxError", importKey(bytes(1), "SHA-1", ["encrypt"]));
  await rejects("SyntaxError", importKey(bytes(1), "SHA-1", []));
  await rejects("DataError", importKey(bytes(), "SHA-1"));
  await rejects("NotSupportedError", crypto.subtle.importKey("raw", bytes(1), "AES-GCM", false, ["sign"]));
  await rejects("NotSupportedError", crypto.subtle.importKey("pkcs8", bytes(1), { name: "HMAC", hash: "SHA-1" }, false, ["sign"]));
  await rejects(TypeError, crypto.subtle.sign("HMAC", {}, bytes()));
  throws(TypeError, () => new CryptoKey());
  const hidden = await crypto.subtle.importKey("raw", bytes(1), { name: "HMAC", hash: "SHA-1" }, false, ["sign"]);
  await rejects("InvalidAccessError", crypto.subtle.exportKey("raw", hidden));
});
test("keys as JWK and generated ones", async () => {
  const key = await importKey(bytes(0xfb, 0xff, 1), "SHA-512");
  const jwk = await crypto.subtle.exportKey("jwk", key);
  equal(jwk, { kty: "oct", k: "-_8B", alg: "HS512", key_ops: ["sign", "verify"], ext: true });
  const back = await crypto.subtle.importKey("jwk", jwk, { name: "HMAC", hash: "SHA-512" }, true, ["sign"]);
  equal(hex(await crypto.subtle.exportKey("raw", back)), "fbff01");
  await rejects("DataError", crypto.subtle.importKey("jwk", jwk, { name: "HMAC", hash: "SHA-256" }, true, ["sign"]));
  await rejects("DataError", crypto.subtle.importKey("jwk", { kty: "oct", k: "*" }, { name: "HMAC", hash: "SHA-1" }, true, ["sign"]));
  const made = await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-384" }, true, ["sign"]);
  equal((await crypto.subtle.exportKey("raw", made)).byteLength, 128);
});
test("getRandomValues", () => {
  const array = new Uint8Array(64);
  ok(crypto.getRandomValues(array) === array);
  ok(array.some((byte) => byte !== 0));
  const part = new Uint32Array(8);
  crypto.getRandomValues(part.subarray(2, 6));
  equal([part[0], part[1], part[6], part[7]], [0, 0, 0, 0]);
  ok(part[2] | part[3] | part[4] | part[5]);
  throws("TypeMismatchError", () => crypto.getRandomValues(new Float64Array(1)));
  throws("TypeMismatchError", () => crypto.getRandomValues([]));
  throws("QuotaExceededError", () => crypto.getRandomValues(new Uint8Array(65537)));
  crypto.getRandomValues(new Uint8Array(65536));
});
test("randomUUID", () => {
  const seen = new Set();
  for (let i = 0; i < 100; i++) {
    const id = crypto.randomUUID();
    ok(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id), id);
    seen.add(id);
  }
  equal(seen.size, 100);
});
test("the classes cannot be made", () => {
  throws(TypeError, () => new Crypto());
  throws(TypeError, () => new SubtleCrypto());
  ok(crypto instanceof Crypto && crypto.subtle === crypto.subtle);
});
