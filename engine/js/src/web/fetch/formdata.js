// FormData (XMLHttpRequest standard, section 5) and its two encodings in both directions.
(function formdata({ p, load, native, tag, need, usv, concat }) {
  const { Blob, File, bytesOf } = load("blob");
  const { parseMultipart, parseUrlencoded, boundary } = native("form");
  const { TypeError } = p;
  let entriesOf;

  function fileOf(value, filename) {
    if (value instanceof File && filename === undefined) return value;
    const name = filename ?? (value instanceof File ? value.name : "blob");
    const options = { type: value.type };
    if (value instanceof File) options.lastModified = value.lastModified;
    return new File([value], name, options);
  }

  function entry(count, name, value, filename) {
    if (bytesOf(value) !== undefined) {
      return [usv(name), fileOf(value, filename === undefined ? undefined : usv(filename))];
    }
    if (count > 2) throw new TypeError("FormData: a file name needs a Blob as its value");
    return [usv(name), usv(value)];
  }

  class FormData {
    #entries = [];

    static {
      entriesOf = (value) =>
        typeof value === "object" && value !== null && #entries in value ? value.#entries : undefined;
    }

    constructor(form = undefined) {
      if (form !== undefined) throw new TypeError("FormData: there are no form elements here");
    }
    append(name, value, filename = undefined) {
      need(2, arguments, "FormData.append");
      p.push(this.#entries, entry(arguments.length, name, value, filename));
    }
    set(name, value, filename = undefined) {
      need(2, arguments, "FormData.set");
      const fresh = entry(arguments.length, name, value, filename);
      const kept = [];
      let placed = false;
      for (let i = 0; i < this.#entries.length; i++) {
        if (this.#entries[i][0] !== fresh[0]) p.push(kept, this.#entries[i]);
        else if (!placed) {
          p.push(kept, fresh);
          placed = true;
        }
      }
      if (!placed) p.push(kept, fresh);
      this.#entries = kept;
    }
    delete(name) {
      need(1, arguments, "FormData.delete");
      name = usv(name);
      const kept = [];
      for (let i = 0; i < this.#entries.length; i++) {
        if (this.#entries[i][0] !== name) p.push(kept, this.#entries[i]);
      }
      this.#entries = kept;
    }
    get(name) {
      need(1, arguments, "FormData.get");
      name = usv(name);
      for (let i = 0; i < this.#entries.length; i++) if (this.#entries[i][0] === name) return this.#entries[i][1];
      return null;
    }
    getAll(name) {
      need(1, arguments, "FormData.getAll");
      name = usv(name);
      const values = [];
      for (let i = 0; i < this.#entries.length; i++) {
        if (this.#entries[i][0] === name) p.push(values, this.#entries[i][1]);
      }
      return values;
    }
    has(name) {
      need(1, arguments, "FormData.has");
      return this.get(name) !== null;
    }
    forEach(callback, thisArg = undefined) {
      if (typeof callback !== "function") throw new TypeError("FormData.forEach: the argument must be a function");
      for (let i = 0; i < this.#entries.length; i++) {
        p.apply(callback, thisArg, [this.#entries[i][1], this.#entries[i][0], this]);
      }
    }
    *entries() {
      for (let i = 0; i < this.#entries.length; i++) yield [this.#entries[i][0], this.#entries[i][1]];
    }
    *keys() {
      for (let i = 0; i < this.#entries.length; i++) yield this.#entries[i][0];
    }
    *values() {
      for (let i = 0; i < this.#entries.length; i++) yield this.#entries[i][1];
    }
  }
  p.defineProperty(FormData.prototype, Symbol.iterator, {
    value: FormData.prototype.entries, writable: true, configurable: true,
  });
  tag(FormData, "FormData");

  // HTML, "multipart/form-data encoding algorithm": every line end in a name or a text value is CRLF.
  function crlf(text) {
    return p.replaceAll(p.replaceAll(p.replaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n", "\r\n");
  }
  // A name cannot end its quoted string or its line.
  function quote(text) {
    return p.replaceAll(p.replaceAll(p.replaceAll(text, "\r", "%0D"), "\n", "%0A"), '"', "%22");
  }

  // The body of a FormData and its Content-Type; undefined for anything else.
  function encode(form) {
    const entries = entriesOf(form);
    if (entries === undefined) return undefined;
    const { utf8 } = load("encoding");
    const mark = boundary();
    const parts = [];
    for (let i = 0; i < entries.length; i++) {
      const name = entries[i][0];
      const value = entries[i][1];
      let head = `--${mark}\r\nContent-Disposition: form-data; name="${quote(crlf(name))}"`;
      if (typeof value === "string") {
        p.push(parts, utf8(`${head}\r\n\r\n${crlf(value)}\r\n`));
      } else {
        head += `; filename="${quote(value.name)}"\r\nContent-Type: ${value.type || "application/octet-stream"}\r\n\r\n`;
        p.push(parts, utf8(head), bytesOf(value), utf8("\r\n"));
      }
    }
    p.push(parts, utf8(`--${mark}--\r\n`));
    return { bytes: concat(parts), type: `multipart/form-data; boundary=${mark}` };
  }

  // Bodies of either encoding, by their Content-Type. Native code parses and holds the limits. What is wrong with the
  // body of a client is the client's fault, and says so by its status.
  function decode(bytes, contentType, isClients) {
    const fault = (status, text) => {
      const error = new TypeError(`formData: ${text}`);
      return isClients ? p.defineProperty(error, "status", { value: status, writable: true, configurable: true }) : error;
    };
    const form = new FormData();
    const entries = entriesOf(form);
    const essence = mimeEssence(contentType);
    if (essence === "multipart/form-data") {
      const flat = parseMultipart(p.pack(bytes), p.wellFormed(contentType));
      if (typeof flat === "string") throw fault(400, flat);
      for (let i = 0; i < flat.length; i += 4) {
        const filename = flat[i + 1];
        const value = filename === undefined ? flat[i + 3] : new File([flat[i + 3]], filename, { type: flat[i + 2] });
        p.push(entries, [flat[i], value]);
      }
    } else if (essence === "application/x-www-form-urlencoded") {
      const pairs = parseUrlencoded(load("encoding").text(bytes));
      if (typeof pairs === "string") throw fault(400, pairs);
      for (let i = 0; i < pairs.length; i += 2) p.push(entries, [pairs[i], pairs[i + 1]]);
    } else {
      throw fault(415, "the Content-Type is neither multipart/form-data nor application/x-www-form-urlencoded");
    }
    return form;
  }
  function mimeEssence(contentType) {
    if (contentType === null) return "";
    const end = p.stringIndexOf(contentType, ";");
    let essence = end === -1 ? contentType : p.substring(contentType, 0, end);
    while (essence !== "" && p.charCode(essence, essence.length - 1) <= 0x20) essence = p.substring(essence, 0, essence.length - 1);
    return p.lower(essence);
  }

  return { FormData, encode, decode };
})
