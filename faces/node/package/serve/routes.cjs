"use strict";
// How routes become numbers that native code knows.

const { PlatformResponse } = require("./response.cjs");
const { fixed } = require("./fixed.cjs");
const { fail, shown, isPlainObject } = require("./options.cjs");

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** A parameter, beside text too. Behind what ends a word a colon is text, as native code reads it. */
const PARAM = /(?<![\p{Alphabetic}\p{N}_:}]):(\w+)/gu;

/** The names of the parameters in a pattern that native code has taken, in its order. */
function namesOf(pattern) {
  const names = [];
  for (const part of pattern.split("/")) {
    if (part.startsWith("*")) names.push(part.length > 1 ? part.slice(1) : "*");
    else for (const [, name] of part.matchAll(PARAM)) names.push(name);
  }
  return names;
}

/** The handlers and answers of one route: pairs of a method, which is empty for all, and a value. `place` names it in errors. */
function byMethod(place, value) {
  if (value === null || typeof value !== "object" || value instanceof PlatformResponse) return [["", value]];
  if (typeof value.then === "function") fail(`${place} is a promise: await it before, or give a function`);
  if (!isPlainObject(value)) fail(`${place} must be a function, a Response, or an object of those by method`);
  const given = Object.entries(value).filter(([, handler]) => handler !== undefined);
  for (const [method] of given) {
    if (method.toUpperCase() === "HEAD") fail(`${place}.${method}: GET answers HEAD too, without the body: leave ${method} out`);
    if (!METHODS.includes(method.toUpperCase())) {
      fail(`${place}: ${JSON.stringify(method)} is no method; there are ${METHODS.join(", ")}`);
    }
  }
  if (given.length === 0) fail(`${place} has no method: give { GET: handler }, or the handler alone for all methods`);
  return given;
}

/** Puts the routes in place. Returns which generation they are, and the handlers and the names of their parameters by the numbers that native code has for them. */
function addRoutes(native, id, { routes, fetch }) {
  const handlers = [];
  const names = [];
  const addHandler = (method, pattern, handler) => {
    native.addRoute(id, method, pattern, handlers.length);
    handlers.push(handler);
    names.push(namesOf(pattern));
  };
  const add = (method, pattern, value, place) => {
    if (typeof value === "function") return addHandler(method, pattern, value);
    if (!(value instanceof PlatformResponse)) {
      if (typeof value?.then === "function") fail(`${place} is a promise: await it before, or give a function`);
      fail(`${place} must be ${method === "" ? "a function, a Response, or an object of those by method" : "a function or a Response"}, not ${shown(value)}`);
    }
    if (value.bodyUsed) fail(`${place}: the body of this Response was read already`);
    const parts = fixed(value, place);
    if (parts !== undefined) return native.addAnswer(id, method, pattern, parts.status, parts.headers, parts.body);
    // The platform keeps its body to itself: it is copied for each request.
    return addHandler(method, pattern, () => value.clone());
  };
  try {
    for (const [pattern, value] of Object.entries(routes)) {
      const place = `routes[${JSON.stringify(pattern)}]`;
      for (const [method, handler] of byMethod(place, value)) {
        add(method.toUpperCase(), pattern, handler, method === "" ? place : `${place}.${method}`);
      }
    }
  } catch (error) {
    native.setRoutes(id, false, true);
    throw error instanceof TypeError ? error : new TypeError(`serve: ${error.message}`);
  }
  return { generation: native.setRoutes(id, fetch !== undefined, false), handlers, names };
}

module.exports = { addRoutes };
