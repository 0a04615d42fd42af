// Streams as bodies: over content that is at hand, read whole, or chunk by chunk for the engine.
(function streamBodies({ p, symbols, load, copy, host }) {
  const {
    stateOf, create, acquire, readRequest, readPromise, canReadDirectly, readDirectly, wantsPull, startPull, dequeue, endController,
    cancelStream, handled, nothing,
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
    const read = () => {
      try {
        return p.apply(method, request, noArguments);
      } catch (error) {
        return p.rejected(error);
      }
    };
    return create({
      highWaterMark: 0,
      read,
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

  // Locks a stream for the engine's response writer, and gives what that asks for chunks.
  function openForHost(stream) {
    const s = stateOf(stream);
    if (s === undefined) throw new TypeError("the body is not a ReadableStream");
    if (s.disturbed) throw new TypeError("a part of the body stream has been read already");
    const reader = acquire(s);
    s.disturbed = true;
    return { __proto__: null, reader, controller: s.controller };
  }

  // One chunk: bytes, or null at the end; a promise of that where it is not there yet. Does what a read does, without its promise.
  function nextChunk(opened) {
    const c = opened.controller;
    if (c.length === 0) return chunkOnDemand(opened.reader);
    const chunk = dequeue(c);
    if (c.closeRequested) {
      if (c.length === 0) endController(c);
    } else if (wantsPull(c) && startPull(c)) {
      // Jobs run when this returns. If there is no other, this one may run now.
      if (host.idle()) c.pulled();
      else p.queueMicrotask(c.pulled);
    }
    // The engine looks closer.
    return p.isView(chunk) ? chunk : bytesOrThrow(chunk);
  }
  // The same where nothing is in the queue. The source may still give a chunk while it is asked.
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

  return { fromSource, fromRequest, readAll, openForHost, nextChunk, cancelForHost };
})
