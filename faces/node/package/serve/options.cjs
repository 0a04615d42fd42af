"use strict";
// The options of `serve`: what each may be.

const DEFAULT_PORT = 3000;
const MAX_BODY = 128 * 1024 * 1024;
/** Native code has the length of a body as a signed number of 32 bits. */
const MAX_BODY_LIMIT = 0x7fffffff;
const HANDLER_SECONDS = 30;
const KNOWN = [
  "port", "hostname", "routes", "fetch", "error", "maxBody", "maxRequestBodySize", "maxConnections", "idleTimeout", "handlerTimeout", "signal",
  "development", "websocket", "tls",
];
/** What a reload can change. */
const RELOADED = ["routes", "fetch", "error", "development", "websocket"];
/** Names that other servers have. */
const HINTS = {
  static: 'there is no option "static": routes takes a Response too',
  host: 'there is no option "host": it is called hostname',
  handler: 'there is no option "handler": it is called fetch',
};

function fail(text) {
  throw new TypeError(`serve: ${text}`);
}

/** A value in an error: short, and never the reason of another error. */
function shown(value) {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 80));
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" ? "a function" : String(value);
}

/** Whether an object is one of names and values, and no list or other class. */
function isPlainObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) && typeof value[Symbol.iterator] !== "function";
}

/** A number from `min` to `max`, or nothing. `label` names it in the error. */
function number(options, name, min, max, label = name) {
  const value = options[name];
  if (value === undefined) return undefined;
  const found = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof found !== "number" || !(found >= min && found <= max)) fail(`${label} must be a number from ${min} to ${max}, not ${shown(value)}`);
  return found;
}

/** Seconds as whole milliseconds: none become 0, which native code takes for the default or refuses. */
function millis(seconds) {
  return seconds > 0 ? Math.max(1, Math.round(seconds * 1000)) : 0;
}

function aFunction(options, name) {
  const value = options[name];
  if (value !== undefined && typeof value !== "function") fail(`${name} must be a function`);
  return value;
}

/** Throws for what no option is, with the name that was meant. */
function checkNames(options) {
  const proto = Object.getPrototypeOf(options);
  const isApp = typeof options.fetch === "function" && ((proto !== Object.prototype && proto !== null) || Array.isArray(options.routes));
  for (const name of Object.keys(options)) {
    if (KNOWN.includes(name) && !(isApp && name === "routes")) continue;
    if (isApp) fail("this is an app, not the options: write serve({ fetch: app.fetch })");
    fail(HINTS[name] ?? `there is no option ${JSON.stringify(name)}; there are ${KNOWN.join(", ")}`);
  }
}

function portOf(options) {
  const given = number(options, "port", 0, 65535);
  const port = given ?? number({ port: process.env.PORT || undefined }, "port", 0, 65535, "PORT of the environment") ?? DEFAULT_PORT;
  if (!Number.isInteger(port)) fail(`${given === undefined ? "PORT of the environment" : "port"} must be a whole number, not ${port}`);
  return port;
}

function checkOptions(options) {
  if (options === null || typeof options !== "object") fail("give an object of options: serve({ port: 3000, fetch(req) { ... } })");
  checkNames(options);
  const port = portOf(options);
  const hostname = options.hostname ?? "0.0.0.0";
  if (typeof hostname !== "string" || hostname === "") fail("hostname must be a name or an address");
  const { signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) fail("signal must be an AbortSignal");
  const routes = options.routes ?? {};
  if (!isPlainObject(routes)) fail("routes must be an object of patterns: { \"/users/:id\": handler }");
  const fetch = aFunction(options, "fetch");
  if (fetch === undefined && Object.keys(routes).length === 0) fail("give routes, or fetch(request), or both");
  const [maxBody, alias] = ["maxBody", "maxRequestBodySize"].map((name) => number(options, name, 0, MAX_BODY_LIMIT));
  if (maxBody !== undefined && alias !== undefined) fail("maxBody and maxRequestBodySize mean the same: give one of them");
  const handlerSeconds = number(options, "handlerTimeout", 0, 86_400) ?? 0;
  return {
    port,
    hostname,
    signal,
    routes,
    fetch,
    error: aFunction(options, "error"),
    maxBody: maxBody ?? alias ?? MAX_BODY,
    maxConnections: number(options, "maxConnections", 1, 1_000_000),
    idleMillis: millis(number(options, "idleTimeout", 0, 86_400) ?? 0),
    handlerMillis: millis(handlerSeconds || HANDLER_SECONDS),
    development: options.development === true,
  };
}

/** The options of a running server with those that a reload names. `given` is what the server was started with, `port` where it listens. */
function reloaded(given, next, port) {
  if (next === null || typeof next !== "object") fail("reload takes an object of options: server.reload({ routes, fetch, error })");
  const named = {};
  for (const [name, value] of Object.entries(next)) {
    if (value === undefined) continue;
    if (RELOADED.includes(name)) named[name] = value;
    else if (!KNOWN.includes(name)) checkNames({ [name]: value });
    else if (value !== given[name] && !(name === "port" && Number(value) === port)) {
      fail(`reload cannot change ${name}: it can change ${RELOADED.join(", ")}`);
    }
  }
  return { ...given, ...named };
}

/** The options alone, also where an object of a class has them. */
function optionsOf(options) {
  return Object.fromEntries(KNOWN.map((name) => [name, options[name]]).filter(([, value]) => value !== undefined));
}

module.exports = { checkOptions, optionsOf, reloaded, fail, shown, isPlainObject };
