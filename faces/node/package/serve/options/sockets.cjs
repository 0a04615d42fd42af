"use strict";
// The option `websocket`: handlers and limits.

const { constants } = require("node:buffer");
const { fail, shown, isPlainObject } = require("../options.cjs");

const HANDLERS = ["open", "message", "drain", "close", "ping", "pong"];
const SETTINGS = [
  "maxPayloadLength", "backpressureLimit", "closeOnBackpressureLimit", "idleTimeout", "sendPings", "perMessageDeflate", "publishToSelf",
];
const MEBIBYTE = 1024 * 1024;
const BYTES_MAX = 0x7fffffff;
/** The platform makes no longer text of a message. */
const PAYLOAD_MAX = Math.min(BYTES_MAX, constants.MAX_STRING_LENGTH);

function bytesSetting(options, name, max) {
  const value = options[name] ?? 16 * MEBIBYTE;
  if (!Number.isInteger(value) || value < 1 || value > max) {
    fail(`websocket.${name} must be a number of bytes from 1 to ${max}, not ${shown(value)}`);
  }
  return value;
}

function boolSetting(options, name, preset) {
  const value = options[name] ?? preset;
  if (typeof value !== "boolean") fail(`websocket.${name} must be true or false, not ${shown(value)}`);
  return value;
}

/** Whether messages may be compressed. No window is kept between messages, which Bun calls "shared". */
function deflateSetting(value = false) {
  if (typeof value === "boolean") return value;
  if (!isPlainObject(value)) fail(`websocket.perMessageDeflate must be true, false or an object, not ${shown(value)}`);
  for (const [name, part] of Object.entries(value)) {
    if (name !== "compress" && name !== "decompress") fail(`websocket.perMessageDeflate has no ${JSON.stringify(name)}`);
    if (part !== true && part !== "shared") {
      fail(`websocket.perMessageDeflate.${name} can be true or "shared": no window is kept between messages, not ${shown(part)}`);
    }
  }
  return true;
}

/** The option `websocket`, checked; `undefined` where there is none. */
function checkSockets(options) {
  if (options === undefined) return undefined;
  if (!isPlainObject(options)) fail(`websocket must be an object of handlers: { message(ws, message) { ... } }, not ${shown(options)}`);
  const handlers = {};
  for (const name of Object.keys(options)) {
    if (HANDLERS.includes(name)) {
      if (typeof options[name] !== "function" && options[name] !== undefined) fail(`websocket.${name} must be a function`);
      handlers[name] = options[name];
    } else if (!SETTINGS.includes(name) && name !== "data") {
      fail(`websocket has no ${JSON.stringify(name)}; it has ${[...HANDLERS, ...SETTINGS].join(", ")}`);
    }
  }
  if (handlers.message === undefined) fail("websocket needs a function message(ws, message)");
  const idleTimeout = options.idleTimeout ?? 120;
  if (typeof idleTimeout !== "number" || !(idleTimeout >= 0 && idleTimeout <= 86_400)) {
    fail(`websocket.idleTimeout must be a number of seconds from 0 to 86400, not ${shown(idleTimeout)}`);
  }
  return {
    handlers,
    maxPayload: bytesSetting(options, "maxPayloadLength", PAYLOAD_MAX),
    backpressure: bytesSetting(options, "backpressureLimit", BYTES_MAX),
    closes: boolSetting(options, "closeOnBackpressureLimit", false),
    idleMillis: Math.ceil(idleTimeout * 1000),
    sendsPings: boolSetting(options, "sendPings", true),
    compress: deflateSetting(options.perMessageDeflate),
    toSelf: boolSetting(options, "publishToSelf", false),
  };
}

module.exports = { checkSockets };
