// TextEncoder and TextDecoder (WHATWG Encoding), decoded natively by encoding_rs. A streaming decoder
// is a native function that keeps its state between calls.
(function encoding({ p, native, tag, usv, view }) {
  const { encode, encodeInto, decode, decoder, labelName } = native("encoding");
  const { TypeError, RangeError } = p;

  class TextEncoder {
    get encoding() {
      return "utf-8";
    }
    encode(input = "") {
      return encode(usv(input));
    }
    encodeInto(source, destination) {
      if (p.typedTag(destination) !== "Uint8Array") {
        throw new TypeError("TextEncoder.encodeInto: the destination must be a Uint8Array");
      }
      const [bytes, read] = encodeInto(usv(source), p.typedLength(destination));
      p.setBytes(destination, bytes);
      return { read, written: p.typedLength(bytes) };
    }
  }
  tag(TextEncoder, "TextEncoder");

  class TextDecoder {
    #name;
    #fatal;
    #ignoreBOM;
    #stream = undefined;

    constructor(label = "utf-8", options = {}) {
      const name = labelName(usv(label));
      if (name === undefined) throw new RangeError(`TextDecoder: unknown encoding ${p.stringify(`${label}`)}`);
      this.#name = name;
      this.#fatal = !!options?.fatal;
      this.#ignoreBOM = !!options?.ignoreBOM;
    }
    get encoding() {
      return this.#name;
    }
    get fatal() {
      return this.#fatal;
    }
    get ignoreBOM() {
      return this.#ignoreBOM;
    }
    decode(input = undefined, options = undefined) {
      const bytes = input === undefined ? new p.Uint8Array(0) : view(input);
      if (bytes === undefined) throw new TypeError("TextDecoder.decode: the input must be an ArrayBuffer or a view");
      const more = !!options?.stream;
      let text;
      if (!more && this.#stream === undefined) {
        text = decode(this.#name, p.pack(bytes), this.#fatal, this.#ignoreBOM);
      } else {
        const step = (this.#stream ??= decoder(this.#name, this.#fatal, this.#ignoreBOM));
        if (!more) this.#stream = undefined;
        text = step(p.pack(bytes), !more);
      }
      if (text === undefined) {
        this.#stream = undefined;
        throw new TypeError(`TextDecoder: the input is not valid ${this.#name}`);
      }
      return text;
    }
  }
  tag(TextDecoder, "TextDecoder");

  return { TextEncoder, TextDecoder, utf8: encode, text: (bytes) => decode("utf-8", p.pack(bytes), false, false) };
})
