"use strict";
// `serve`: the server in the form that `Bun.serve` has.

const { Wire, HEAD, REQUEST, EVENT } = require("./wire.cjs");
const globals = require("./globals.cjs");
const { ServedRequest, Request, title } = require("./request.cjs");
const { Response } = require("./response.cjs");
const { Answers } = require("./answers.cjs");
const { checkOptions, optionsOf, reloaded } = require("./options.cjs");
const { addRoutes } = require("./routes.cjs");
const { Signals, Streams, ENDED, aborted, timeUp } = require("./clients.cjs");
const { statusOf, textOf, stackOf, listenError } = require("./failures.cjs");
const { checkSockets } = require("./options/sockets.cjs");
const { checkTls } = require("./options/tls.cjs");
const { Sockets } = require("./sockets/registry.cjs");
const { showAs } = require("./inspect.cjs");
const { TEXT, JSON_TYPE } = require("./wire.cjs");

/** So long the server's own work may keep the program from its timers, in milliseconds. */
const RUN_MILLIS_MAX = 2;
const STOP_LOOK_MILLIS = 20;
/** So often the server looks for requests before it waits to be woken. */
const LOOKS_MAX = 4;

const MORE_PERHAPS = 1;
const MORE_NOW = 2;

const CLIENT_LEFT = 1;
const DRAINED = 2;
const TIME_UP = 4;
const STREAMS_CUT = 5;

const NO_NAMES = [];

class Server {
  constructor(native, options) {
    const checked = checkOptions(options);
    const sockets = checkSockets(options.websocket);
    const tls = checkTls(options.tls);
    this.native = native;
    this.id = listen(native, checked, tls, () => this.run());
    this.protocol = tls === undefined ? "http" : "https";
    /** What it was started with, and what reloads have put in the place. */
    this.given = optionsOf(options);
    this.handlerSeconds = checked.handlerMillis / 1000;
    this.signals = new Signals();
    this.streams = new Streams();
    this.wire = new Wire(native, this.id, this.signals);
    this.answers = new Answers(this);
    this.hostname = checked.hostname;
    this.port = native.port(this.id);
    this.authority = `${authorityOf(checked.hostname)}:${this.port}`;
    this.sockets = new Sockets(this);
    this.isOver = false;
    this.isRunning = false;
    this.isScheduled = false;
    this.isStopping = false;
    /** True if the program wants the end at once: then no stream that ends is reported. */
    this.isForced = false;
    /** True if the server keeps the program alive. */
    this.isHeld = true;
    /** The timer by which it looks whether it has stopped. */
    this.lookTimer = undefined;
    this.looks = 0;
    /** Whether a handler of this round waits, so that promises must get their turn. */
    this.waits = false;
    /** What was replaced by a reload, for requests that were routed before it. */
    this.olderTables = new Map();
    this.stopped = new Promise((resolve) => {
      this.tellStopped = resolve;
    });
    this.runSoon = () => {
      this.isScheduled = false;
      this.run();
    };
    try {
      this.configure(checked);
      this.sockets.configure(sockets);
    } catch (error) {
      native.drop(this.id);
      throw error;
    }
    this.signal = checked.signal;
    this.onAbort = () => this.stop(true);
    if (this.signal?.aborted) this.stop(true);
    else this.signal?.addEventListener("abort", this.onAbort, { once: true });
    // Not at once: handlers may use what `serve` is about to return.
    this.schedule();
  }

  configure(checked) {
    const { generation, handlers, names } = addRoutes(this.native, this.id, checked);
    if (this.table !== undefined) this.olderTables.set(this.table.generation, this.table);
    this.table = { generation, handlers, names, fetch: checked.fetch };
    this.onError = checked.error;
    this.development = checked.development;
  }

  get url() {
    return new URL(`${this.protocol}://${this.authority}/`);
  }

  get pendingWebSockets() {
    return this.sockets.count;
  }

  get pendingRequests() {
    return this.isOver ? 0 : this.native.pending(this.id);
  }

  /** Other routes and handlers, for all requests to come. What is not named stays, and so do port and limits. */
  reload(options) {
    const given = reloaded(this.given, options, this.port);
    const sockets = checkSockets(given.websocket);
    this.configure(checkOptions({ ...given, port: this.port }));
    this.sockets.configure(sockets);
    this.given = given;
    return this;
  }

  /**
   * Stops accepting, and ends when the requests in flight are answered, for which there is as much time as for their handlers and ten seconds
   * more; at once if `closeActiveConnections`.
   */
  stop(closeActiveConnections = false) {
    if (!this.isOver && (!this.isStopping || closeActiveConnections)) {
      this.isStopping = true;
      this.isForced = closeActiveConnections === true;
      this.native.stop(this.id, closeActiveConnections === true);
      this.schedule();
    }
    return this.stopped;
  }

  ref() {
    this.#hold(true);
  }

  unref() {
    this.#hold(false);
  }

  #hold(isHeld) {
    if (this.isOver) return;
    this.isHeld = isHeld;
    this.native.hold(this.id, isHeld);
    if (isHeld) this.lookTimer?.ref();
    else this.lookTimer?.unref();
  }

  /** Address, family and port of a request's client; `null` once the request is over. */
  requestIP(request) {
    if (this.isOver || !(request instanceof ServedRequest)) return null;
    try {
      const peer = this.native.peer(this.id, request.place, request.serial);
      return peer === undefined ? null : { address: peer[0], port: peer[1], family: peer[0].includes(":") ? "IPv6" : "IPv4" };
    } catch {
      return null;
    }
  }

  /** Answers a request by a WebSocket, with the option `websocket`. False if it asks for none: answer it then. */
  upgrade(request, options) {
    if (!(request instanceof ServedRequest)) throw new TypeError("server.upgrade takes the request that the handler got");
    return !this.isOver && this.sockets.upgrade(request, request, options);
  }

  /** Sends a message to all WebSockets that have subscribed to a topic. */
  publish(topic, data, compress) {
    return this.sockets.publish(topic, data, compress);
  }

  /** How many WebSockets have subscribed to a topic. */
  subscriberCount(topic) {
    return this.sockets.subscriberCount(topic);
  }

  [Symbol.dispose]() {
    this.stop(true);
  }

  /** Gives answers and takes requests, until there is nothing to do or the program must get its turn. */
  run() {
    if (this.isOver || this.isRunning) return;
    this.isRunning = true;
    this.waits = false;
    const { wire } = this;
    const begun = performance.now();
    // Whatever is thrown here: the server goes on.
    let isThrown = true;
    try {
      for (;;) {
        const count = wire.turn();
        if (wire.numbers[1] > 0) this.takeEvents(HEAD + count * REQUEST, wire.numbers[1]);
        const older = this.olderTables;
        // This batch has the last of their requests.
        if (older.size > 0 && wire.more < MORE_NOW) this.olderTables = new Map();
        for (let at = HEAD, end = HEAD + count * REQUEST; at < end; at += REQUEST) this.handle(at, older);
        const hasMessages = wire.hasSocketEvents && this.sockets.takeEvents();
        if (this.waits) {
          this.schedule();
          break;
        }
        if (count === 0 && !hasMessages && wire.answerCount === 0 && wire.more < MORE_NOW) {
          // Where clients were busy just now, to look a few times more costs less than to be woken.
          if (wire.more === MORE_PERHAPS) this.looks = LOOKS_MAX;
          if (this.looks-- > 0 && !this.isStopping) this.schedule();
          else this.rest();
          break;
        }
        if (performance.now() - begun > RUN_MILLIS_MAX) {
          this.schedule();
          break;
        }
      }
      isThrown = false;
    } finally {
      this.isRunning = false;
      if (isThrown) this.schedule();
    }
  }

  rest() {
    if (this.isStopping && this.native.hasEnded(this.id)) {
      while (this.sockets.takeEvents());
      this.sockets.leaveAll();
      this.isOver = true;
      clearTimeout(this.lookTimer);
      this.signal?.removeEventListener("abort", this.onAbort);
      this.native.drop(this.id);
      this.wire.end();
      this.signals.leaveAll();
      this.streams.leaveAll();
      this.tellStopped();
      return;
    }
    this.native.arm(this.id);
    if (this.isStopping && this.lookTimer === undefined) this.lookLater();
  }

  /** Looks again whether it has stopped: nothing tells when the last connection has ended. */
  lookLater() {
    this.lookTimer = setTimeout(() => {
      this.lookTimer = undefined;
      this.run();
    }, STOP_LOOK_MILLIS);
    if (!this.isHeld) this.lookTimer.unref();
  }

  /** Runs soon, after promises and before timers that are due later. */
  schedule() {
    if (this.isScheduled || this.isOver) return;
    this.isScheduled = true;
    setImmediate(this.runSoon);
  }

  /** Runs the handler of a request in the batch. `older` has tables that were replaced after the request had come. */
  handle(at, older) {
    const { numbers } = this.wire;
    const route = numbers[at + 2];
    const generation = numbers[at + 17];
    const table = generation === this.table.generation ? this.table : older.get(generation) ?? this.olderTables.get(generation);
    const request = new ServedRequest(this, at, route < 0 ? NO_NAMES : table.names[route]);
    const { place, serial } = request;
    try {
      const value = route < 0 ? table.fetch.call(this, request, this) : table.handlers[route].call(this, request, this);
      if (value instanceof Promise || typeof value?.then === "function") this.awaitAnswer(request, value);
      else {
        const pending = this.answers.give(place, serial, value, request);
        if (pending !== undefined) this.waits = true;
      }
    } catch (error) {
      this.failed(place, serial, error, request);
    }
  }

  async awaitAnswer(request, promise) {
    this.waits = true;
    request.keep();
    const { place, serial } = request;
    try {
      const value = await promise;
      if (this.isOver) return;
      this.answers.give(place, serial, value, request);
    } catch (error) {
      if (!this.isOver) this.failed(place, serial, error, request);
    }
    if (!this.isRunning) this.schedule();
  }

  /** Runs something that answers, outside of a round. */
  later(answer) {
    if (this.isOver) return;
    answer();
    if (!this.isRunning) this.schedule();
  }

  /** The answer to a request whose handler failed: that of the option `error`, or one that tells the status. */
  failed(place, serial, error, request) {
    if (this.onError === undefined) return this.failedPlainly(place, serial, error, request);
    const give = (value) => {
      if (this.isOver) return;
      if (value === undefined || value === null) this.failedPlainly(place, serial, error, request);
      else this.later(() => this.answers.give(place, serial, value, request, statusOf(error)));
    };
    const failedToo = (second) => {
      this.report(`${request[title]} (error)`, second);
      this.failedPlainly(place, serial, error, request);
    };
    try {
      const value = this.onError.call(this, error, request);
      if (typeof value?.then === "function") {
        this.waits = true;
        value.then(give).catch(failedToo);
      } else give(value);
    } catch (second) {
      failedToo(second);
    }
    return undefined;
  }

  failedPlainly(place, serial, error, request) {
    const status = statusOf(error);
    // Below 500 it is the client's fault, and an answer like others.
    if (status >= 500) this.report(request[title], error);
    const stack = this.development ? stackOf(error) : "";
    this.later(() => {
      if (stack === "") this.wire.answer(place, serial, status, JSON_TYPE, "", textOf(status, error));
      else this.wire.answer(place, serial, status, TEXT, "", stack);
    });
  }

  report(place, error) {
    try {
      console.error(`sampan: ${place}:`, error);
    } catch {
      console.error(`sampan: ${place}: an error that cannot be shown`);
    }
  }

  takeEvents(at, count) {
    const { numbers } = this.wire;
    for (let index = 0; index < count; index++, at += EVENT) {
      const [kind, place, serial] = [numbers[at], numbers[at + 1], numbers[at + 2]];
      if (kind === CLIENT_LEFT) this.signals.take(place, serial)?.abort(aborted("the client left"));
      else if (kind === DRAINED) this.streams.drained(place, serial);
      else if (kind === TIME_UP) this.takeLate();
      else if (kind === STREAMS_CUT) this.takeCut();
      else this.streams.left(place, serial);
    }
  }

  /** The streams that the server has cut: above a limit, or with another length than they had named. */
  takeCut() {
    const cut = this.native.takeCut(this.id);
    for (let at = 0; at < cut.length; at += 4) {
      const why = this.isForced ? ENDED : cut[at + 3];
      if (!this.isForced) console.error(`sampan: ${cut[at + 2]} (stream): ${why}`);
      this.streams.left(cut[at], cut[at + 1], why);
    }
  }

  /** The requests whose time was up: their clients have 504. */
  takeLate() {
    const late = this.native.takeLate(this.id);
    const why = `no answer after ${this.handlerSeconds} s: given up (handlerTimeout)`;
    for (let at = 0; at < late.length; at += 3) {
      console.error(`sampan: ${late[at + 2]}: ${why}`);
      this.signals.take(late[at], late[at + 1])?.abort(timeUp(why));
    }
  }
}

showAs(Server.prototype, "Server", (server) => ({ url: server.url.href, pendingRequests: server.pendingRequests }));

/** Begins to listen; `run` is called when there is something to do. Returns the number that native code knows the server by. */
function listen(native, { hostname, port, maxBody, handlerMillis, idleMillis, maxConnections }, tls, run) {
  const secured = tls === undefined ? [] : [tls.texts, tls.authorities, tls.isRequired];
  try {
    return native.start(hostname, port, maxBody, handlerMillis, idleMillis, maxConnections, run, ...secured);
  } catch (error) {
    if (tls !== undefined && error.message.startsWith("tls")) throw new TypeError(`serve: ${error.message}`);
    throw listenError(error, hostname, port);
  }
}

function authorityOf(hostname) {
  if (hostname === "0.0.0.0" || hostname === "::") return "localhost";
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

function makeServe(native) {
  // Handlers make their answers with the global classes.
  globals.install();
  return (options) => new Server(native, options);
}

module.exports = { makeServe, Server, Response, Request };
