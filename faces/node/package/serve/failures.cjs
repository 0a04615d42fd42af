"use strict";
// Handlers that fail: the status and the text of the answer, and errors of listening.

const { getSystemErrorName } = require("node:util");

/** Those that are usual: Node.js takes some milliseconds to load the module that knows all. */
const TEXTS = { 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout" };

/** The status that answers an error: its own `status` from 400 to 599, else 500. */
function statusOf(error) {
  try {
    // A Response that was thrown is no error with a status.
    if (error === null || typeof error !== "object" || error instanceof globalThis.Response) return 500;
    const { status } = error;
    return Number.isInteger(status) && status >= 400 && status <= 599 ? status : 500;
  } catch {
    return 500;
  }
}

/** The body that answers an error: what is above 499 is nobody's matter but the program's. */
function textOf(status, error) {
  let text = "";
  try {
    if (status < 500) text = error.message;
  } catch {
    // One that cannot be read tells nothing.
  }
  if (typeof text !== "string" || text === "") text = TEXTS[status] ?? require("node:http").STATUS_CODES[status] ?? `Error ${status}`;
  return JSON.stringify({ error: text });
}

/** The stack of an error, for the program's author; nothing where it has none. */
function stackOf(error) {
  try {
    return error instanceof Error ? `${error.stack}` : "";
  } catch {
    return "";
  }
}

/** The error of a server that cannot listen, with the fields that those of Node.js have. */
function listenError(error, address, port) {
  const number = /^(.*) \(os error (\d+)\)$/.exec(error.message);
  const isUnknown = error.message.includes("failed to lookup address information");
  if (number === null && !isUnknown) return error;
  const made = new Error(`serve: cannot listen on ${number === null ? error.message : number[1]}`);
  made.code = number === null ? "ENOTFOUND" : getSystemErrorName(-Number(number[2]));
  if (number !== null) made.errno = -Number(number[2]);
  return Object.assign(made, { syscall: "listen", address, port });
}

module.exports = { statusOf, textOf, stackOf, listenError };
