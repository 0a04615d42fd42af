// ReadableStream, WritableStream, TransformStream and pipes.
const collect = async (stream) => {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
};
const numbers = (count) => {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      if (next === count) controller.close();
      else controller.enqueue(next++);
    },
  });
};

test("start, enqueue, close, read", async () => {
  const stream = new ReadableStream({
    start(controller) {
      equal(controller.desiredSize, 1);
      controller.enqueue("a");
      equal(controller.desiredSize, 0);
      controller.enqueue("b");
      controller.close();
      throws(TypeError, () => controller.enqueue("c"));
      throws(TypeError, () => controller.close());
    },
  });
  const reader = stream.getReader();
  equal(stream.locked, true);
  throws(TypeError, () => stream.getReader());
  equal([await reader.read(), await reader.read(), await reader.read()],
    [{ value: "a", done: false }, { value: "b", done: false }, { value: undefined, done: true }]);
  await reader.closed;
  reader.releaseLock();
  equal(stream.locked, false);
});
test("pull is called on demand and not while it runs", async () => {
  let running = 0;
  let most = 0;
  let pulls = 0;
  const stream = new ReadableStream({
    async pull(controller) {
      pulls++;
      most = Math.max(most, ++running);
      await undefined;
      controller.enqueue(pulls);
      running--;
    },
  }, { highWaterMark: 2 });
  await ticks();
  equal([pulls, most], [2, 1]);
  const reader = stream.getReader();
  equal((await reader.read()).value, 1);
  await ticks();
  equal(pulls, 3);
});
test("errors reach the reader", async () => {
  const error = new RangeError("broken");
  const stream = new ReadableStream({ pull: () => Promise.reject(error) });
  const reader = stream.getReader();
  await rejects(RangeError, reader.read());
  await rejects(RangeError, reader.closed);
  throws(RangeError, () => new ReadableStream({ start() { throw error; } }));
  const sized = new ReadableStream({ start: (c) => throws(RangeError, () => c.enqueue(1)) }, { size: () => -1 });
  await rejects(RangeError, sized.getReader().read());
});
test("cancel runs the source's cancel once", async () => {
  const reasons = [];
  const stream = new ReadableStream({ cancel: (reason) => void reasons.push(reason) });
  await stream.cancel("done");
  await stream.cancel("again");
  equal(reasons, ["done"]);
  equal((await stream.getReader().read()).done, true);
  const locked = numbers(1);
  locked.getReader();
  await rejects(TypeError, locked.cancel());
});
test("a released reader is of no use", async () => {
  const reader = new ReadableStream().getReader();
  const pending = reader.read();
  reader.releaseLock();
  await rejects(TypeError, pending);
  await rejects(TypeError, reader.read());
  await rejects(TypeError, reader.closed);
  await rejects(TypeError, reader.cancel());
});
test("async iteration", async () => {
  equal(await collect(numbers(4)), [0, 1, 2, 3]);
  let cancelled;
  const stream = new ReadableStream({ pull: (c) => c.enqueue(1), cancel: (reason) => void (cancelled = { reason }) });
  for await (const chunk of stream) {
    equal(chunk, 1);
    break;
  }
  equal([cancelled, stream.locked], [{ reason: undefined }, false]);
  const kept = numbers(3);
  for await (const _ of kept.values({ preventCancel: true })) break;
  equal(await collect(kept), [1, 2]);
});
test("ReadableStream.from", async () => {
  equal(await collect(ReadableStream.from([1, Promise.resolve(2)])), [1, 2]);
  let finished = false;
  const stream = ReadableStream.from((async function* () {
    try {
      yield 1;
      yield 2;
    } finally {
      finished = true;
    }
  })());
  for await (const _ of stream) break;
  equal(finished, true);
  throws(TypeError, () => ReadableStream.from({}));
});
test("tee gives both the same chunks at their own pace", async () => {
  const [left, right] = numbers(5).tee();
  const first = left.getReader();
  equal([(await first.read()).value, (await first.read()).value], [0, 1]);
  equal(await collect(right), [0, 1, 2, 3, 4]);
  equal((await first.read()).value, 2);
  const [a, b] = new ReadableStream({ start: (c) => c.error(new RangeError("x")) }).tee();
  await rejects(RangeError, collect(a));
  await rejects(RangeError, collect(b));
  let reason;
  const [c, d] = new ReadableStream({ cancel: (value) => void (reason = value) }).tee();
  const one = c.cancel("c");
  await ticks();
  equal(reason, undefined);
  await Promise.all([one, d.cancel("d")]);
  equal(reason, ["c", "d"]);
});
test("constructor checks", () => {
  throws(TypeError, () => new ReadableStream(null));
  throws(TypeError, () => new ReadableStream({ type: "no" }));
  throws(TypeError, () => new ReadableStream({ pull: 1 }));
  throws(RangeError, () => new ReadableStream({}, { highWaterMark: -1 }));
  throws(TypeError, () => new ReadableStream().getReader({ mode: "byob" }));
  throws(TypeError, () => ReadableStream.prototype.getReader.call({}));
});
test("a controller is one of a stream", () => {
  let controller;
  new ReadableStream({ start: (c) => void (controller = c) });
  ok(controller instanceof ReadableStreamDefaultController);
  equal(Object.prototype.toString.call(controller), "[object ReadableStreamDefaultController]");
  equal(Reflect.ownKeys(controller), []);
  throws(TypeError, () => new ReadableStreamDefaultController());
  const { enqueue, close, error } = ReadableStreamDefaultController.prototype;
  for (const self of [undefined, {}, new ReadableStream(), Object.create(controller)]) {
    throws(TypeError, () => enqueue.call(self, controller));
    throws(TypeError, () => close.call(self));
    throws(TypeError, () => error.call(self));
    throws(TypeError, () => Reflect.get(ReadableStreamDefaultController.prototype, "desiredSize", self));
  }
});
test("the sizes of a strategy are added up", async () => {
  let controller;
  const stream = new ReadableStream({ start: (c) => void (controller = c) }, { highWaterMark: 10, size: (chunk) => chunk });
  const sizes = [];
  for (const size of [4, 5.5, 3, 0]) {
    controller.enqueue(size);
    sizes.push(controller.desiredSize);
  }
  const reader = stream.getReader();
  for (let i = 0; i < 4; i++) {
    await reader.read();
    sizes.push(controller.desiredSize);
  }
  equal(sizes, [6, 0.5, -2.5, -2.5, 1.5, 7, 10, 10]);
  controller.close();
  equal([controller.desiredSize, (await reader.read()).done], [0, true]);
});
test("a byte stream takes bytes only", async () => {
  const stream = new ReadableStream({
    type: "bytes",
    start(controller) {
      throws(TypeError, () => controller.enqueue("text"));
      throws(TypeError, () => controller.enqueue(new Uint8Array(0)));
      controller.enqueue(bytes(1));
      controller.close();
    },
  });
  equal([...(await collect(stream))[0]], [1]);
});
test("WritableStream writes in order and closes", async () => {
  const seen = [];
  const stream = new WritableStream({
    start: () => void seen.push("start"),
    async write(chunk) {
      await undefined;
      seen.push(chunk);
    },
    close: () => void seen.push("close"),
  });
  const writer = stream.getWriter();
  equal(writer.desiredSize, 1);
  writer.write("a");
  equal(writer.desiredSize, 0);
  writer.write("b");
  await writer.close();
  equal(seen, ["start", "a", "b", "close"]);
  await writer.closed;
  await rejects(TypeError, writer.write("c"));
  await rejects(TypeError, writer.close());
});
test("ready follows backpressure", async () => {
  let finish;
  const writer = new WritableStream({ write: () => new Promise((resolve) => void (finish = resolve)) }).getWriter();
  await writer.ready;
  writer.write("a");
  let ready = false;
  writer.ready.then(() => void (ready = true));
  await ticks();
  equal(ready, false);
  finish();
  await writer.ready;
  equal(ready, true);
});
test("a failed write errors the stream", async () => {
  const writer = new WritableStream({ write: () => Promise.reject(new RangeError("w")) }).getWriter();
  await rejects(RangeError, writer.write(1));
  await rejects(RangeError, writer.write(2));
  await rejects(RangeError, writer.closed);
  await rejects(RangeError, writer.ready);
});
test("abort tells the sink and its signal", async () => {
  const seen = [];
  let signal;
  const stream = new WritableStream({
    start: (controller) => void (signal = controller.signal),
    abort: (reason) => void seen.push(reason),
  });
  const writer = stream.getWriter();
  const closed = writer.closed.catch((error) => seen.push(`closed ${error}`));
  await writer.abort("why");
  await closed;
  equal(seen, ["why", "closed why"]);
  equal([signal.aborted, signal.reason], [true, "why"]);
});
test("TransformStream maps, adds and flushes", async () => {
  const transform = new TransformStream({
    start: (controller) => controller.enqueue("start"),
    transform(chunk, controller) {
      controller.enqueue(chunk * 2);
      controller.enqueue(-chunk);
    },
    flush: (controller) => controller.enqueue("end"),
  });
  equal(await collect(numbers(3).pipeThrough(transform)), ["start", 0, -0, 2, -1, 4, -2, "end"]);
});
test("an identity TransformStream between a writer and a reader", async () => {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const reader = readable.getReader();
  const written = writer.write("a");
  equal(await reader.read(), { value: "a", done: false });
  await written;
  const closing = writer.close();
  equal((await reader.read()).done, true);
  await closing;
});
test("a transform waits for its reader", async () => {
  const { readable, writable } = new TransformStream({}, undefined, { highWaterMark: 1 });
  const writer = writable.getWriter();
  await writer.write("fits");
  let written = false;
  const second = writer.write("waits").then(() => void (written = true));
  await ticks();
  equal(written, false);
  const reader = readable.getReader();
  equal((await reader.read()).value, "fits");
  await second;
  equal(written, true);
});
test("a transform's error reaches both sides", async () => {
  const { readable, writable } = new TransformStream({ transform: () => { throw new RangeError("t"); } });
  const writer = writable.getWriter();
  const reading = rejects(RangeError, readable.getReader().read());
  await rejects(RangeError, writer.write(1));
  await reading;
  await rejects(RangeError, writer.closed);
});
test("cancelling the readable side stops the writer", async () => {
  let reason;
  const { readable, writable } = new TransformStream({ cancel: (value) => void (reason = value) });
  const writer = writable.getWriter();
  await readable.cancel("gone");
  equal(reason, "gone");
  let failed;
  await writer.write("x").catch((error) => void (failed = error));
  equal(failed, "gone");
});
test("terminate closes one side and errors the other", async () => {
  const { readable, writable } = new TransformStream({ start: (controller) => controller.terminate() });
  equal(await collect(readable), []);
  await rejects(TypeError, writable.getWriter().write(1));
});
test("pipeTo moves everything and closes", async () => {
  const seen = [];
  const destination = new WritableStream({ write: (chunk) => void seen.push(chunk), close: () => void seen.push("close") });
  const source = numbers(3);
  await source.pipeTo(destination);
  equal(seen, [0, 1, 2, "close"]);
  equal([source.locked, destination.locked], [false, false]);
  const open = new WritableStream({ write: (chunk) => void seen.push(chunk) });
  await numbers(1).pipeTo(open, { preventClose: true });
  await open.getWriter().write("more");
  equal(seen, [0, 1, 2, "close", 0, "more"]);
});
test("pipeTo carries errors both ways", async () => {
  let aborted;
  const failing = new ReadableStream({ pull: () => Promise.reject(new RangeError("source")) });
  await rejects(RangeError, failing.pipeTo(new WritableStream({ abort: (reason) => void (aborted = reason.message) })));
  equal(aborted, "source");
  let cancelled;
  const endless = new ReadableStream({ pull: (c) => c.enqueue(1), cancel: (reason) => void (cancelled = reason.message) });
  await rejects(RangeError, endless.pipeTo(new WritableStream({ write: () => { throw new RangeError("sink"); } })));
  equal(cancelled, "sink");
});
test("pipeTo stops at a signal", async () => {
  const controller = new AbortController();
  let cancelled;
  const endless = new ReadableStream({
    async pull(c) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      c.enqueue(1);
    },
    cancel: (reason) => void (cancelled = reason),
  });
  setTimeout(() => controller.abort("enough"), 20);
  let failed;
  await endless.pipeTo(new WritableStream(), { signal: controller.signal }).catch((error) => void (failed = error));
  equal([failed, cancelled], ["enough", "enough"]);
  const early = numbers(1);
  await rejects("AbortError", early.pipeTo(new WritableStream(), { signal: AbortSignal.abort() }));
});
test("a slow sink slows the source", async () => {
  let pulled = 0;
  const source = new ReadableStream({ pull: (c) => c.enqueue(pulled++) }, { highWaterMark: 1 });
  source.pipeTo(new WritableStream({ write: () => new Promise(() => {}) }));
  await ticks(200);
  ok(pulled < 6, `${pulled} chunks were pulled into a sink that takes none`);
});
