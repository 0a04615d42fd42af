// crypto: random values, UUIDs and the part of SubtleCrypto that web frameworks use (digest, HMAC).
// The arithmetic is native (RustCrypto); signatures are compared in constant time there.
(function crypto({ p, native, tag, view, copy, bufferOf }) {
  const { random, uuid, digest, hmacSign, hmacVerify, base64urlEncode, base64urlDecode } = native("crypto");
  const { TypeError, DOMException } = p;
  const INTERNAL = Symbol("internal");
  // What one call of getRandomValues may fill (Web Crypto, section 10.1.1).
  const RANDOM_BYTES_MAX = 65536;
  // Block sizes in bits: the length of a generated key.
  const HASHES = { __proto__: null, "SHA-1": 512, "SHA-256": 512, "SHA-384": 1024, "SHA-512": 1024 };
  const JWK_ALGORITHMS = { __proto__: null, "SHA-1": "HS1", "SHA-256": "HS256", "SHA-384": "HS384", "SHA-512": "HS512" };
  const USAGES = ["sign", "verify"];
  let secretOf;

  function domError(name, message) {
    return new DOMException(message, name);
  }
  function bytesOf(value, what) {
    const bytes = view(value);
    if (bytes === undefined) throw new TypeError(`${what} must be an ArrayBuffer or a view`);
    return bytes;
  }
  function hashName(value) {
    const name = p.upper(`${typeof value === "object" && value !== null ? value.name : value}`);
    if (!(name in HASHES)) throw domError("NotSupportedError", `the hash ${name} is not supported (SHA-1, SHA-256, SHA-384, SHA-512 are)`);
    return name;
  }
  function hmacOf(algorithm) {
    const name = p.upper(`${typeof algorithm === "object" && algorithm !== null ? algorithm.name : algorithm}`);
    if (name !== "HMAC") throw domError("NotSupportedError", `crypto.subtle has no ${name} yet: there are HMAC and digests, and JWTs with other algorithms by crypto.jwtVerify of the module sampan`);
    return algorithm;
  }

  class CryptoKey {
    #secret;
    #algorithm;
    #extractable;
    #usages;

    static {
      secretOf = (value) =>
        typeof value === "object" && value !== null && #secret in value ? value.#secret : undefined;
    }
    constructor(key, secret, hash, extractable, usages) {
      if (key !== INTERNAL) throw new TypeError("Illegal constructor");
      this.#secret = { bytes: secret, hash, usages };
      this.#algorithm = { name: "HMAC", hash: { name: hash }, length: p.typedLength(secret) * 8 };
      this.#extractable = extractable;
      this.#usages = p.slice(usages, 0);
    }
    get type() {
      return "secret";
    }
    get algorithm() {
      return this.#algorithm;
    }
    get extractable() {
      return this.#extractable;
    }
    get usages() {
      return this.#usages;
    }
  }
  tag(CryptoKey, "CryptoKey");

  function makeKey(secret, hash, extractable, usages) {
    const list = [];
    for (const usage of usages) {
      if (p.indexOf(USAGES, usage) === -1) throw domError("SyntaxError", `the key usage ${usage} is not one of HMAC`);
      if (p.indexOf(list, usage) === -1) p.push(list, usage);
    }
    if (list.length === 0) throw domError("SyntaxError", "a secret key needs a usage");
    if (p.typedLength(secret) === 0) throw domError("DataError", "the key is empty");
    return new CryptoKey(INTERNAL, secret, hash, !!extractable, list);
  }
  function secretFor(key, usage) {
    const secret = secretOf(key);
    if (secret === undefined) throw new TypeError("the key must be a CryptoKey");
    if (p.indexOf(secret.usages, usage) === -1) throw domError("InvalidAccessError", `the key may not ${usage}`);
    return secret;
  }
  function jwkSecret(jwk, hash) {
    if (typeof jwk !== "object" || jwk === null || jwk.kty !== "oct" || typeof jwk.k !== "string") {
      throw domError("DataError", "the JWK must be an object with kty \"oct\" and a string k");
    }
    if (jwk.alg !== undefined && jwk.alg !== JWK_ALGORITHMS[hash]) throw domError("DataError", `the JWK is for ${jwk.alg}`);
    const secret = base64urlDecode(p.wellFormed(jwk.k));
    if (secret === undefined) throw domError("DataError", "the k of the JWK is not base64url");
    return secret;
  }

  class SubtleCrypto {
    constructor(key) {
      if (key !== INTERNAL) throw new TypeError("Illegal constructor");
    }
    async digest(algorithm, data) {
      return bufferOf(digest(hashName(algorithm), p.pack(bytesOf(data, "digest: the data"))));
    }
    async importKey(format, keyData, algorithm, extractable, usages) {
      const hash = hashName(hmacOf(algorithm).hash);
      if (format === "raw") return makeKey(copy(bytesOf(keyData, "importKey: the key")), hash, extractable, usages);
      if (format === "jwk") return makeKey(jwkSecret(keyData, hash), hash, extractable, usages);
      throw domError("NotSupportedError", `the key format ${format} is not supported (raw and jwk are)`);
    }
    async exportKey(format, key) {
      const secret = secretOf(key);
      if (secret === undefined) throw new TypeError("exportKey: the key must be a CryptoKey");
      if (!key.extractable) throw domError("InvalidAccessError", "the key is not extractable");
      if (format === "raw") return bufferOf(copy(secret.bytes));
      if (format !== "jwk") throw domError("NotSupportedError", `the key format ${format} is not supported (raw and jwk are)`);
      return {
        kty: "oct", k: base64urlEncode(p.pack(secret.bytes)), alg: JWK_ALGORITHMS[secret.hash],
        key_ops: p.slice(secret.usages, 0), ext: true,
      };
    }
    async generateKey(algorithm, extractable, usages) {
      const hash = hashName(hmacOf(algorithm).hash);
      const bits = algorithm.length === undefined ? HASHES[hash] : p.Number(algorithm.length);
      if (!(bits > 0 && bits <= RANDOM_BYTES_MAX * 8) || bits % 8 !== 0) {
        throw domError("OperationError", "the length of a key must be a positive multiple of 8 bits");
      }
      return makeKey(random(bits / 8), hash, extractable, usages);
    }
    async sign(algorithm, key, data) {
      hmacOf(algorithm);
      const { bytes, hash } = secretFor(key, "sign");
      return bufferOf(hmacSign(hash, p.pack(bytes), p.pack(bytesOf(data, "sign: the data"))));
    }
    async verify(algorithm, key, signature, data) {
      hmacOf(algorithm);
      const { bytes, hash } = secretFor(key, "verify");
      const given = p.pack(bytesOf(signature, "verify: the signature"));
      return hmacVerify(hash, p.pack(bytes), given, p.pack(bytesOf(data, "verify: the data")));
    }
  }
  tag(SubtleCrypto, "SubtleCrypto");

  class Crypto {
    #subtle = new SubtleCrypto(INTERNAL);
    constructor(key) {
      if (key !== INTERNAL) throw new TypeError("Illegal constructor");
    }
    get subtle() {
      return this.#subtle;
    }
    getRandomValues(array) {
      const kind = p.typedTag(array);
      if (kind === undefined || kind === "Float32Array" || kind === "Float64Array" || kind === "Float16Array") {
        throw domError("TypeMismatchError", "getRandomValues: the argument must be an integer typed array");
      }
      const length = p.typedBytes(array);
      if (length > RANDOM_BYTES_MAX) {
        throw domError("QuotaExceededError", `getRandomValues: ${length} bytes are more than ${RANDOM_BYTES_MAX}`);
      }
      p.setBytes(view(array), random(length));
      return array;
    }
    randomUUID() {
      return uuid();
    }
  }
  tag(Crypto, "Crypto");

  return { crypto: new Crypto(INTERNAL), Crypto, CryptoKey, SubtleCrypto };
})
