"use strict";
// What a server knows of clients that may leave: the signals of requests, and the streams of answers.

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
    for (const { controller } of this.#controllers.values()) controller.abort(aborted("the server has ended"));
    this.#controllers.clear();
  }

  get size() {
    return this.#controllers.size;
  }
}

/** An answer that is sent piece by piece. */
class Stream {
  constructor([place, serial], reader, controller) {
    this.place = place;
    this.serial = serial;
    this.reader = reader;
    this.controller = controller;
    /** Whether the client has left. */
    this.isGone = false;
    this.goOn = undefined;
  }

  /** Waits until the client has taken what was written, or has left. */
  drained() {
    return new Promise((resolve) => {
      this.goOn = resolve;
    });
  }
}

class Streams {
  #streams = new Map();

  /** `controller` is that of the request's signal, if somebody has asked for it. */
  begin(key, reader, controller) {
    const stream = new Stream(key, reader, controller);
    this.#streams.set(stream.place, stream);
    return stream;
  }

  end(stream) {
    if (this.#streams.get(stream.place) === stream) this.#streams.delete(stream.place);
  }

  /** The client of a stream has taken what was written. */
  drained(place, serial) {
    this.#find(place, serial)?.goOn?.();
  }

  /** The client of a stream has left: its source is told, also while it is waited for. */
  left(place, serial) {
    const stream = this.#find(place, serial);
    if (stream === undefined) return;
    this.#leave(stream, "the client left");
  }

  /** The server has ended. */
  leaveAll() {
    for (const stream of this.#streams.values()) this.#leave(stream, "the server has ended");
  }

  #leave(stream, why) {
    this.end(stream);
    stream.isGone = true;
    stream.goOn?.();
    stream.controller?.abort(aborted(why));
    stream.reader.cancel(why).catch(() => {});
  }

  #find(place, serial) {
    const stream = this.#streams.get(place);
    return stream?.serial === serial ? stream : undefined;
  }
}

function aborted(why) {
  return new DOMException(why, "AbortError");
}

/** The reason of a signal whose request's time was up. */
function timeUp(why) {
  return new DOMException(why, "TimeoutError");
}

module.exports = { Signals, Streams, aborted, timeUp };
