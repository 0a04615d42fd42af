"use strict";
// The options of `serve`: what each may be, and how routes become numbers that native code knows.

const { PlatformResponse } = require("./response.cjs");
const { fixed } = require("./answers.cjs");

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const DEFAULT_PORT = 3000;
const MAX_BODY = 128 * 1024 * 1024;
const KNOWN = [
  "port", "hostname", "routes", "static", "fetch", "error", "websocket", "maxBody", "maxRequestBodySize", "maxConnections",
  "idleTimeout", "handlerTimeout", "signal", "development",
];

function fail(text) {
  throw new TypeError(`serve: ${text}`);
}

/** A number from `min` to `max`, or nothing. */
function number(options, name, min, max) {
  const value = options[name];
  if (value === undefined) return undefined;
  const found = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof found !== "number" || !(found >= min && found <= max)) fail(`${name} must be a number from ${min} to ${max}, not ${String(value)}`);
  return found;
}

function aFunction(options, name) {
  const value = options[name];
  if (value !== undefined && typeof value !== "function") fail(`${name} must be a function`);
  return value;
}

function checkOptions(options) {
  if (options === null || typeof options !== "object") fail("give an object of options: serve({ port: 3000, fetch(req) { ... } })");
  if (options.websocket !== undefined) fail("websocket is not there yet");
  for (const name of Object.keys(options)) {
    if (!KNOWN.includes(name)) fail(`there is no option ${JSON.stringify(name)}; there are ${KNOWN.filter((one) => one !== "websocket").join(", ")}`);
  }
  const port = number(options, "port", 0, 65535) ?? number({ port: process.env.PORT || undefined }, "port", 0, 65535) ?? DEFAULT_PORT;
  if (!Number.isInteger(port)) fail(`port must be a whole number, not ${port}`);
  const hostname = options.hostname ?? "0.0.0.0";
  if (typeof hostname !== "string" || hostname === "") fail("hostname must be a name or an address");
  const { signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) fail("signal must be an AbortSignal");
  const routes = { ...options.static, ...options.routes };
  const fetch = aFunction(options, "fetch");
  if (fetch === undefined && Object.keys(routes).length === 0) fail("give routes, or fetch(request), or both");
  return {
    port,
    hostname,
    signal,
    routes,
    fetch,
    error: aFunction(options, "error"),
    maxBody: number(options, "maxBody", 0, Number.MAX_SAFE_INTEGER)
      ?? number(options, "maxRequestBodySize", 0, Number.MAX_SAFE_INTEGER) ?? MAX_BODY,
    maxConnections: number(options, "maxConnections", 1, 1_000_000),
    idleMillis: (number(options, "idleTimeout", 0, 86_400) ?? 0) * 1000,
    handlerMillis: (number(options, "handlerTimeout", 0, 86_400) ?? 0) * 1000,
    development: options.development === true,
  };
}

/** The names of the parameters in a pattern, in its order. */
function namesOf(pattern) {
  const names = [];
  for (const part of pattern.split("/")) {
    if (part.startsWith(":")) names.push(part.slice(1));
    else if (part.startsWith("*")) names.push(part.length > 1 ? part.slice(1) : "*");
  }
  return names;
}

/** Puts the routes in place. Returns which generation they are, and the handlers and the names of their parameters by the numbers that native code has for them. */
function addRoutes(native, id, { routes, fetch }) {
  const handlers = [];
  const names = [];
  const add = (method, pattern, value) => {
    if (value instanceof PlatformResponse) {
      const parts = fixed(value);
      if (parts !== undefined) return native.addAnswer(id, method, pattern, parts.status, parts.headers, parts.body);
      // The platform keeps its body to itself: it is copied for each request.
      return add(method, pattern, () => value.clone());
    }
    if (typeof value !== "function") {
      fail(`routes[${JSON.stringify(pattern)}] must be a function, a Response, or an object of those by method, not ${typeof value}`);
    }
    native.addRoute(id, method, pattern, handlers.length);
    handlers.push(value);
    names.push(namesOf(pattern));
    return undefined;
  };
  try {
    for (const [pattern, value] of Object.entries(routes)) {
      if (value === null || typeof value !== "object" || value instanceof PlatformResponse) {
        add("", pattern, value);
        continue;
      }
      for (const [method, handler] of Object.entries(value)) {
        const name = method.toUpperCase();
        if (name === "HEAD") continue;
        if (!METHODS.includes(name)) fail(`routes[${JSON.stringify(pattern)}]: ${JSON.stringify(method)} is no method; there are ${METHODS.join(", ")}`);
        add(name, pattern, handler);
      }
    }
  } catch (error) {
    native.setRoutes(id, false, true);
    throw error instanceof TypeError ? error : new TypeError(`serve: ${error.message}`);
  }
  return { generation: native.setRoutes(id, fetch !== undefined, false), handlers, names };
}

module.exports = { checkOptions, addRoutes };
