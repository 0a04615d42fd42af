// Blob and File (File API). The bytes are held in one array that nothing else can write to, so a slice
// shares them.
(function blob({ p, load, tag, usv, view, copy, concat, bufferOf }) {
  const { TypeError } = p;
  const INTERNAL = Symbol("internal");
  let bytesOf;

  // A type with a character outside U+0020 to U+007E is no type.
  function typeOf(value) {
    const type = `${value}`;
    for (let i = 0; i < type.length; i++) {
      const unit = p.charCode(type, i);
      if (unit < 0x20 || unit > 0x7e) return "";
    }
    return p.lower(type);
  }

  // The parts as bytes and texts. All are looked at before the options are.
  function gather(parts) {
    if (parts === undefined) return [];
    if (parts === null || typeof parts !== "object" || typeof parts[Symbol.iterator] !== "function") {
      throw new TypeError("Blob: the parts must be an iterable object");
    }
    const list = [];
    for (const part of parts) p.push(list, bytesOf(part) ?? view(part) ?? usv(part));
    return list;
  }
  function encoded(list, isNative) {
    for (let i = 0; i < list.length; i++) {
      if (typeof list[i] !== "string") continue;
      const text = isNative ? p.replaceAll(p.replaceAll(list[i], "\r\n", "\n"), "\r", "\n") : list[i];
      list[i] = load("encoding").utf8(text);
    }
    return concat(list);
  }

  function position(value, size) {
    const number = p.Number(value);
    if (!(number === number)) return 0;
    const whole = number < 0 ? -p.floor(-number) : p.floor(number);
    return whole < 0 ? p.min(size, size + whole < 0 ? 0 : size + whole) : p.min(size, whole);
  }

  class Blob {
    #bytes;
    #type = "";

    static {
      bytesOf = (value) =>
        typeof value === "object" && value !== null && #bytes in value ? value.#bytes : undefined;
    }

    constructor(parts = undefined, options = undefined) {
      if (parts === INTERNAL) {
        this.#bytes = options.bytes;
        this.#type = options.type;
        return;
      }
      const list = gather(parts);
      const given = options?.endings;
      const endings = given === undefined ? "transparent" : `${given}`;
      if (endings !== "transparent" && endings !== "native") {
        throw new TypeError(`Blob: endings must be "transparent" or "native", not ${p.stringify(endings)}`);
      }
      this.#bytes = encoded(list, endings === "native");
      const type = options?.type;
      if (type !== undefined) this.#type = typeOf(type);
    }
    get size() {
      return p.typedLength(this.#bytes);
    }
    get type() {
      return this.#type;
    }
    slice(start = 0, end = undefined, type = "") {
      const size = p.typedLength(this.#bytes);
      const from = position(start, size);
      const to = end === undefined ? size : position(end, size);
      const bytes = new p.Uint8Array(p.typedBuffer(this.#bytes), p.typedOffset(this.#bytes) + from, to > from ? to - from : 0);
      return make(bytes, typeOf(type));
    }
    async arrayBuffer() {
      return bufferOf(copy(this.#bytes));
    }
    async bytes() {
      return copy(this.#bytes);
    }
    async text() {
      return load("encoding").text(this.#bytes);
    }
    stream() {
      return load("stream_bodies").fromSource(this.#bytes);
    }
  }
  tag(Blob, "Blob");

  class File extends Blob {
    #name;
    #lastModified;

    constructor(parts, name, options = undefined) {
      if (arguments.length < 2) throw new TypeError("File: parts and a name are needed");
      super(parts, options);
      this.#name = usv(name);
      const modified = options?.lastModified;
      this.#lastModified = modified === undefined ? p.now() : p.floor(p.Number(modified)) || 0;
    }
    get name() {
      return this.#name;
    }
    get lastModified() {
      return this.#lastModified;
    }
  }
  tag(File, "File");

  // A Blob over bytes that are ours, and of a type that is already lower case.
  const make = (bytes, type) => new Blob(INTERNAL, { bytes, type });

  return { Blob, File, make, bytesOf, typeOf };
})
