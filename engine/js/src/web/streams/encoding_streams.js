// TextEncoderStream and TextDecoderStream: the encoders of `encoding` as transform streams.
(function encodingStreams({ p, load, tag, view }) {
  const { TextDecoder, utf8 } = load("encoding");
  const { TransformStream } = load("transform");

  const isHigh = (unit) => unit >= 0xd800 && unit <= 0xdbff;

  class TextEncoderStream {
    #transform;

    constructor() {
      // A chunk may end between the two halves of a surrogate pair.
      let pending = "";
      this.#transform = new TransformStream({
        transform(chunk, controller) {
          let text = pending + `${chunk}`;
          pending = "";
          const last = text.length - 1;
          if (last >= 0 && isHigh(p.charCode(text, last))) {
            pending = p.substring(text, last);
            text = p.substring(text, 0, last);
          }
          if (text !== "") controller.enqueue(utf8(p.wellFormed(text)));
        },
        flush(controller) {
          if (pending !== "") controller.enqueue(utf8(p.wellFormed(pending)));
        },
      });
    }
    get encoding() {
      return "utf-8";
    }
    get readable() {
      return this.#transform.readable;
    }
    get writable() {
      return this.#transform.writable;
    }
  }
  tag(TextEncoderStream, "TextEncoderStream");

  class TextDecoderStream {
    #decoder;
    #transform;

    constructor(label = "utf-8", options = {}) {
      const decoder = (this.#decoder = new TextDecoder(label, options));
      const emit = (controller, text) => {
        if (text !== "") controller.enqueue(text);
      };
      this.#transform = new TransformStream({
        transform(chunk, controller) {
          if (view(chunk) === undefined) throw new p.TypeError("TextDecoderStream: a chunk must be bytes");
          emit(controller, decoder.decode(chunk, { stream: true }));
        },
        flush(controller) {
          emit(controller, decoder.decode());
        },
      });
    }
    get encoding() {
      return this.#decoder.encoding;
    }
    get fatal() {
      return this.#decoder.fatal;
    }
    get ignoreBOM() {
      return this.#decoder.ignoreBOM;
    }
    get readable() {
      return this.#transform.readable;
    }
    get writable() {
      return this.#transform.writable;
    }
  }
  tag(TextDecoderStream, "TextDecoderStream");

  return { TextEncoderStream, TextDecoderStream };
})
