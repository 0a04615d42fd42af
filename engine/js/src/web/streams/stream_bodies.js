// Streams as bodies: over content that is at hand, read whole, or chunk by chunk for the engine.
(function streamBodies({ p, symbols, load, native, copy }) {
  const {
    stateOf, create, acquire, readRequest, readPromise, canReadDirectly, readDirectly, cancelStream, handled, nothing,
  } = load("readable");
  const { TypeError } = p;
  const SOURCE = symbols.source;
  const noArguments = p.freeze([]);

  // A stream over a string or bytes that we own. Until it is read or locked its `sampan.source` tells
  // native code that the whole content is at hand, so that it need not be streamed.
  function fromSource(source) {
    const stream = create({
      highWaterMark: 0,
      pull(controller) {
        const bytes = typeof source === "string" ? load("encoding").utf8(p.wellFormed(source)) : copy(source);
        if (p.typedLength(bytes) > 0) controller.enqueue(bytes);
        controller.close();
      },
    });
    stream[SOURCE] = source;
    return stream;
  }

  // The body of a native request that is read as it comes.
  function fromRequest(request) {
    const method = request[symbols.read];
    return fromReads(() => {
      try {
        return p.apply(method, request, noArguments);
      } catch (error) {
        return p.rejected(error);
      }
    });
  }
  // A stream of what native code gives: a promise of a `Uint8Array` each time, or of null at the end.
  function fromReads(read, cancel = undefined) {
    return create({
      highWaterMark: 0,
      read,
      cancel,
      pull: (controller) => p.then(read(), (bytes) => {
        if (bytes === null) controller.close();
        else controller.enqueue(bytes);
      }),
    });
  }

  function bytesOrThrow(value) {
    if (p.typedTag(value) === "Uint8Array") return value;
    throw new TypeError("a body stream must give Uint8Array chunks");
  }

  // All bytes of a stream, as a list of chunks.
  async function readAll(stream) {
    const reader = acquire(stateOf(stream));
    const chunks = [];
    for (;;) {
      const { value, done } = await readPromise(reader);
      if (done) return chunks;
      try {
        p.push(chunks, bytesOrThrow(value));
      } catch (error) {
        handled(cancelStream(stateOf(stream), error));
        throw error;
      }
    }
  }

  // Locks a stream for the engine's response writer. Gives a function for that, which gives the next chunk each time: bytes, or null at
  // the end; a promise of that where it is not there yet. It does what a read does.
  function openForHost(stream) {
    const s = stateOf(stream);
    if (s === undefined) throw new TypeError("the body is not a ReadableStream");
    if (s.disturbed) throw new TypeError("a part of the body stream has been read already");
    acquire(s);
    s.disturbed = true;
    return native("streams").reader(s.controller.native);
  }
  // The next chunk where nothing is in the queue. The source may still give one while it is asked.
  function chunkOnDemand(reader) {
    if (canReadDirectly(reader)) return p.then(readDirectly(reader), ({ value, done }) => (done ? null : bytesOrThrow(value)));
    let given;
    let wake = nothing;
    const give = (outcome) => {
      given = outcome;
      wake();
    };
    readRequest(reader, {
      chunk: (value) => give(() => bytesOrThrow(value)),
      close: () => give(() => null),
      error: (error) => give(() => { throw error; }),
    });
    if (given !== undefined) return given();
    return p.then(new p.Promise((resolve) => { wake = resolve; }), () => given());
  }
  // The client has gone: whoever feeds the stream is told, and what it then throws is nobody's concern.
  function cancelForHost(stream, reason) {
    const s = stateOf(stream);
    if (s !== undefined) handled(cancelStream(s, reason));
  }

  return { fromSource, fromRequest, fromReads, readAll, openForHost, chunkOnDemand, cancelForHost };
})
