// Values as text, for console and for errors in the log. Getters are not called; depth, items and total
// length have limits, so a log line cannot grow without bound.
(function inspect({ p }) {
  const DEPTH_MAX = 4;
  const ITEMS_MAX = 100;
  const TEXT_CHARS_MAX = 65536;
  const ownConstructor = (value) => {
    const proto = p.getPrototypeOf(value);
    if (proto === null) return "[Object: null prototype]";
    const field = p.getOwnPropertyDescriptor(proto, "constructor");
    const name = typeof field?.value === "function" ? p.getOwnPropertyDescriptor(field.value, "name")?.value : undefined;
    return typeof name === "string" && name !== "" ? name : "Object";
  };

  function probe(read, value) {
    try {
      return read(value);
    } catch {
      return undefined;
    }
  }

  function inspect(value) {
    let text;
    try {
      text = show(value, 0, []);
    } catch {
      // A proxy or an accessor of the script threw, which must not fail what only writes to the log.
      return "[unreadable]";
    }
    return text.length > TEXT_CHARS_MAX ? `${p.substring(text, 0, TEXT_CHARS_MAX)}... (cut)` : text;
  }

  function show(value, depth, above) {
    switch (typeof value) {
      case "string":
        return depth === 0 ? value : p.stringify(value);
      case "bigint":
        return `${value}n`;
      case "symbol":
        return p.String(value);
      case "function":
        return `[${p.substring(functionText(value), 0, 6) === "class " ? "class" : "Function"}: ${value.name || "(anonymous)"}]`;
      case "object":
        return value === null ? "null" : showObject(value, depth, above);
      default:
        return value === 0 && 1 / value < 0 ? "-0" : p.String(value);
    }
  }
  const functionText = p.uncurry(Function.prototype.toString);

  function showObject(value, depth, above) {
    if (p.indexOf(above, value) !== -1) return "[Circular]";
    if (Error.isError(value) || value instanceof p.DOMException) return showError(value, depth, [...above, value]);
    const time = probe(p.dateTime, value);
    if (time !== undefined) return time === time ? new Date(time).toISOString() : "Invalid Date";
    if (p.toString(value) === "[object RegExp]") return p.String(value);
    if (depth >= DEPTH_MAX) return p.isArray(value) ? "[Array]" : `[${ownConstructor(value)}]`;
    const inside = [...above, value];
    if (p.isArray(value)) return list("", "[", "]", arrayItems(value, value.length, depth, inside));
    const kind = p.typedTag(value);
    if (kind !== undefined) {
      const length = p.typedLength(value);
      return list(`${kind}(${length}) `, "[", "]", arrayItems(value, length, depth, inside));
    }
    if (probe(p.mapSize, value) !== undefined) return list(`Map(${p.mapSize(value)}) `, "{", "}", mapItems(value, depth, inside));
    if (probe(p.setSize, value) !== undefined) return list(`Set(${p.setSize(value)}) `, "{", "}", setItems(value, depth, inside));
    const bytes = probe(p.bufferBytes, value);
    if (bytes !== undefined) return `ArrayBuffer { byteLength: ${bytes} }`;
    const name = ownConstructor(value);
    return list(name === "Object" ? "" : `${name} `, "{", "}", [...webItems(value, depth, inside), ...properties(value, depth, inside)]);
  }

  // Web objects keep their content in slots: what a reader of the log wants to see of them.
  const SHOWN = {
    __proto__: null, URL: ["href"], Request: ["method", "url", "headers"], Response: ["status", "statusText", "headers"],
    Blob: ["size", "type"], File: ["name", "size", "type"], AbortSignal: ["aborted", "reason"],
  };
  function webItems(value, depth, above) {
    const kind = p.substring(p.toString(value), 8, p.toString(value).length - 1);
    const items = [];
    const fields = SHOWN[kind] ?? [];
    for (let i = 0; i < fields.length; i++) {
      const field = probe((object) => object[fields[i]], value);
      p.push(items, `${fields[i]}: ${show(field, depth + 1, above)}`);
    }
    if (kind === "Headers" || kind === "URLSearchParams" || kind === "FormData") {
      for (const [name, item] of probe((object) => [...object], value) ?? []) {
        p.push(items, `${p.stringify(name)}: ${show(item, depth + 1, above)}`);
      }
    }
    return items;
  }

  function showError(error, depth, above) {
    const name = probe((value) => `${value.name}`, error) ?? "Error";
    const message = probe((value) => `${value.message}`, error) ?? "";
    const stack = probe((value) => value.stack, error);
    let text = message === "" ? name : `${name}: ${message}`;
    if (typeof stack === "string" && stack !== "") text += `\n${trimEnd(stack)}`;
    if (p.hasOwn(error, "cause") && depth < DEPTH_MAX) text += `\n  [cause]: ${show(error.cause, depth + 1, above)}`;
    return depth === 0 ? text : `[${text}]`;
  }
  function trimEnd(text) {
    let end = text.length;
    while (end > 0 && p.charCode(text, end - 1) <= 0x20) end--;
    return p.substring(text, 0, end);
  }

  function more(items, length) {
    if (length > ITEMS_MAX) p.push(items, `... ${length - ITEMS_MAX} more`);
    return items;
  }
  function arrayItems(value, length, depth, above) {
    const items = [];
    for (let i = 0; i < p.min(length, ITEMS_MAX); i++) {
      p.push(items, i in value ? show(value[i], depth + 1, above) : "<empty>");
    }
    return more(items, length);
  }
  function mapItems(value, depth, above) {
    const items = [];
    p.mapEach(value, (item, key) => {
      if (items.length < ITEMS_MAX) p.push(items, `${show(key, depth + 1, above)} => ${show(item, depth + 1, above)}`);
    });
    return more(items, p.mapSize(value));
  }
  function setItems(value, depth, above) {
    const items = [];
    p.setEach(value, (item) => {
      if (items.length < ITEMS_MAX) p.push(items, show(item, depth + 1, above));
    });
    return more(items, p.setSize(value));
  }
  function properties(value, depth, above) {
    const keys = p.keys(value);
    const items = [];
    for (let i = 0; i < p.min(keys.length, ITEMS_MAX); i++) {
      const field = p.getOwnPropertyDescriptor(value, keys[i]);
      const text = field !== undefined && "value" in field ? show(field.value, depth + 1, above) : "[Getter]";
      p.push(items, `${keys[i]}: ${text}`);
    }
    return more(items, keys.length);
  }
  // On one line where it fits in 76 columns, else one item a line.
  function list(prefix, open, close, items) {
    if (items.length === 0) return `${prefix}${open}${close}`;
    const line = `${prefix}${open} ${p.join(items, ", ")} ${close}`;
    if (line.length <= 76 && p.stringIndexOf(line, "\n") === -1) return line;
    const lines = p.replaceAll(p.join(items, ",\n"), "\n", "\n  ");
    return `${prefix}${open}\n  ${lines}\n${close}`;
  }

  return { inspect };
})
