
// Errors: what native code raises as `Error` objects, and what scripts throw as parts that native code reads.
const MARK = Symbol("sampan.kind");
const here = () => new Error();
function toError(message, made, status, mark, code, table, columns, constraint, stack) {
  const error = made ?? new Error(message);
  const hide = (name, value) => defineProperty(error, name, { value, writable: true, configurable: true });
  if (made !== undefined) {
    hide("message", message);
    hide("stack", `Error: ${message}${String(made.stack).replace(/^Error\n?/, "\n")}`);
  }
  if (status !== undefined) hide("status", status);
  if (mark !== undefined) hide(MARK, mark);
  if (code !== undefined) error.code = code;
  if (table !== undefined) error.table = table;
  if (columns !== undefined) error.columns = columns;
  if (constraint !== undefined) error.constraint = constraint;
  if (stack !== undefined) hide("stack", stack);
  return error;
}

const tried = (read) => {
  try {
    return read();
  } catch {
    return undefined;
  }
};
const asText = (value) => (value === undefined || value === null || typeof value === "object" ? undefined : tried(() => String(value)));
// Errors that led to this one, or that it stands for.
function others(error, depth) {
  let told = "";
  const below = (label, other) => {
    const name = asText(tried(() => other.name)) ?? "";
    const message = asText(tried(() => other.message)) ?? "";
    const stack = (asText(tried(() => other.stack)) ?? "").split("\n").filter((line) => line.trim().startsWith("at ")).map((line) => line.trim());
    told += `\n${label}: ${name}${name !== "" && message !== "" ? ": " : ""}${message}\n${stack.join("\n")}${others(other, depth + 1)}`;
  };
  const cause = tried(() => error.cause);
  if (depth < 4 && typeof cause === "object" && cause !== null) below("caused by", cause);
  const errors = depth === 0 && error instanceof AggregateError ? tried(() => error.errors) : undefined;
  if (isArray(errors)) errors.slice(0, 10).forEach((one) => below("one of its errors", one));
  return told;
}
const SHOWN_LENGTH_MAX = 500;
function shownBriefly(value) {
  const text = tried(() => textOf(value)) ?? "object";
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;
}
// `[isError, name, message, stack, code, status, mark, others]`.
function describe(thrown) {
  if (typeof thrown !== "object" || thrown === null) {
    const text = tried(() => String(thrown)) ?? "a value";
    return [false, "", typeof thrown === "string" ? text : `uncaught ${text}`];
  }
  const isError = thrown instanceof Error || Object.prototype.toString.call(thrown) === "[object Error]";
  const name = isError ? asText(tried(() => thrown.name)) ?? "" : "";
  const status = tried(() => thrown.status);
  let message = asText(tried(() => thrown.message));
  const isPublic = typeof status === "number" && status >= 400 && status < 500;
  if (message === undefined && name === "" && !isPublic) message = `uncaught ${shownBriefly(thrown)}`;
  const stack = isError ? asText(tried(() => thrown.stack)) : undefined;
  return [isError, name, message, stack, asText(tried(() => thrown.code)), status, tried(() => thrown[MARK]), isError ? others(thrown, 0) : ""];
}
// What a handler threw last, for the error handler that may be called with it.
let thrownLast;
const lastThrown = () => {
  const thrown = thrownLast;
  thrownLast = undefined;
  return thrown;
};

// A value for people to read, made of plain ones: what holds no plain data is named in brackets.
const DEPTH_MAX = 12, VALUES_MAX = 10_000, TEXT_LENGTH_MAX = 1024 * 1024;
function shown(value) {
  let valuesLeft = VALUES_MAX, textLeft = TEXT_LENGTH_MAX;
  const inside = [];
  const cut = (text) => {
    if (text.length > textLeft) {
      const kept = `${text.slice(0, textLeft)}...`;
      textLeft = 0;
      return kept;
    }
    textLeft -= text.length;
    return text;
  };
  const member = (object, name) => {
    const descriptor = tried(() => Object.getOwnPropertyDescriptor(object, name));
    if (descriptor === undefined) return undefined;
    return descriptor.get !== undefined || descriptor.set !== undefined ? "[getter]" : descriptor.value;
  };
  const readError = (error) => {
    const name = asText(tried(() => error.name)) || "Error";
    const message = asText(tried(() => error.message)) ?? "";
    const read = { error: message === "" ? name : `${name}: ${message}`, stack: native.format === undefined ? "" : cut(asText(tried(() => error.stack)) ?? "") };
    if (hasOwn(error, "cause")) read.cause = show(member(error, "cause"));
    const errors = member(error, "errors");
    if (isArray(errors)) read.errors = errors.slice(0, 10).map(show);
    for (const key of ["code", "status"]) {
      const found = tried(() => error[key]);
      if (found !== undefined && found !== null) read[key] = show(found);
    }
    return read;
  };
  const readObject = (object) => {
    if (object instanceof Error) return readError(object);
    if (object instanceof Date) return tried(() => object.toISOString()) ?? "[Date]";
    if (isArray(object)) {
      const items = [];
      for (let at = 0; at < object.length; at += 1) {
        if (valuesLeft === 0 || textLeft === 0) {
          items.push("...");
          break;
        }
        items.push(show(member(object, at)) ?? null);
      }
      return items;
    }
    if (isBuffer(object)) return cut(new TextDecoder().decode(object));
    if (typeof tried(() => object.toJSON) === "function") {
      try {
        return show(object.toJSON());
      } catch {
        return "[toJSON threw]";
      }
    }
    if (object instanceof Headers) return Object.fromEntries(object);
    const names = tried(() => keys(object));
    if (names === undefined) return "[unreadable]";
    const className = asText(tried(() => object.constructor.name));
    if (names.length === 0 && className !== undefined && className !== "" && className !== "Object") return `[${className}]`;
    const read = create(null);
    for (const name of names) {
      if (valuesLeft === 0 || textLeft === 0) {
        read["..."] = null;
        break;
      }
      const one = member(object, name);
      if (one !== undefined) read[cut(name)] = show(one);
    }
    return read;
  };
  function show(it) {
    if (valuesLeft === 0 || textLeft === 0) return "...";
    valuesLeft -= 1;
    if (typeof it === "symbol") return "[symbol]";
    if (typeof it === "bigint") return BigInt.asIntN(64, it) === it ? it : "[BigInt of more than 64 bits]";
    if (typeof it === "string") return cut(it);
    if (typeof it === "function") return "[function]";
    if (typeof it !== "object" || it === null) return it;
    if (it instanceof Promise) return "[promise]";
    if (inside.includes(it)) return "[object that contains itself]";
    if (inside.length >= DEPTH_MAX) return "[...]";
    inside.push(it);
    const read = readObject(it);
    inside.pop();
    return read;
  }
  return show(value);
}
