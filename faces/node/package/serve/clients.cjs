"use strict";
// What a server knows of clients that may leave: the signals of requests, and the streams of answers.

/** The reason for sources and handlers of a server that has ended. */
const ENDED = "the server has ended";

/** The signals that handlers have asked for, until their requests are answered. */
class Signals {
  /** By the request's place, which a later request takes over: so there are never more than open requests. */
  #controllers = new Map();

  /** The signal that is aborted when the client of a request leaves. */
  of(place, serial) {
    const controller = new AbortController();
    this.#controllers.set(place, { serial, controller });
    return controller.signal;
  }

  /** That of a request, which is no longer kept. */
  take(place, serial) {
    const found = this.#controllers.get(place);
    if (found?.serial !== serial) return undefined;
    this.#controllers.delete(place);
    return found.controller;
  }

  /** The server has ended. */
  leaveAll() {
    for (const { controller } of this.#controllers.values()) controller.abort(aborted(ENDED));
    this.#controllers.clear();
  }

  get size() {
    return this.#controllers.size;
  }
}

/** An answer that is sent piece by piece. */
class Stream {
  #controller;

  constructor([place, serial], reader, controller) {
    this.place = place;
    this.serial = serial;
    this.reader = reader;
    this.#controller = controller;
    /** True if nothing more can be sent: the client has left, or the server has cut the stream. */
    this.isGone = false;
    /** True once the stream has ended in any way. */
    this.isOver = false;
    this.goOn = undefined;
  }

  /** The signal of the request that it answers. */
  get signal() {
    return (this.#controller ??= new AbortController()).signal;
  }

  /** Waits until the client has taken what was written, or has left. */
  drained() {
    return new Promise((resolve) => {
      this.goOn = resolve;
    });
  }

  leave(why) {
    this.isGone = true;
    this.goOn?.();
    this.#controller?.abort(aborted(why));
    this.reader.cancel(why).catch(() => {});
  }
}

class Streams {
  /** By serial number: a place is taken over before the end of the stream that had it is told. */
  #streams = new Map();

  /** `controller` is that of the request's signal, if somebody has asked for it. */
  begin(key, reader, controller) {
    const stream = new Stream(key, reader, controller);
    this.#streams.set(stream.serial, stream);
    return stream;
  }

  end(stream) {
    stream.isOver = true;
    if (this.#streams.get(stream.serial) === stream) this.#streams.delete(stream.serial);
  }

  /** The client of a stream has taken what was written. */
  drained(place, serial) {
    this.#find(place, serial)?.goOn?.();
  }

  /** A stream can be sent no more: its source is told why, also while it is waited for. */
  left(place, serial, why = "the client left") {
    const stream = this.#find(place, serial);
    if (stream !== undefined) this.#leave(stream, why);
  }

  /** The server has ended. */
  leaveAll() {
    for (const stream of this.#streams.values()) this.#leave(stream, ENDED);
  }

  #leave(stream, why) {
    this.end(stream);
    stream.leave(why);
  }

  #find(place, serial) {
    const stream = this.#streams.get(serial);
    return stream?.place === place ? stream : undefined;
  }
}

function aborted(why) {
  return new DOMException(why, "AbortError");
}

/** The reason of a signal whose request's time was up. */
function timeUp(why) {
  return new DOMException(why, "TimeoutError");
}

module.exports = { Signals, Streams, ENDED, aborted, timeUp };
