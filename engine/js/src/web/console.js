// console (WHATWG Console): each call is one text with a level, handed to the engine's `__host_log`.
(function console({ p, host, load }) {
  const { inspect } = load("inspect");
  const counts = new p.Map();
  const times = new p.Map();
  const LABELS_MAX = 1000;
  let indent = "";

  // The specifiers of section 2.2.1; `%c` takes its argument away.
  function specifier(letter, value) {
    switch (letter) {
      case "s":
        return typeof value === "object" && value !== null ? inspect(value) : p.String(value);
      case "d":
      case "i": {
        if (typeof value === "bigint") return `${value}n`;
        if (typeof value === "symbol") return "NaN";
        const number = p.Number(value);
        return p.String(letter === "i" ? Math.trunc(number) : number);
      }
      case "f":
        return typeof value === "symbol" ? "NaN" : p.String(p.Number(value));
      case "j":
      case "o":
      case "O":
        return inspect(typeof value === "string" ? p.stringify(value) : value);
      case "c":
        return "";
      default:
        return undefined;
    }
  }

  function format(args) {
    let text = "";
    let next = 0;
    if (typeof args[0] === "string" && args.length > 1) {
      const pattern = args[0];
      next = 1;
      for (let i = 0; i < pattern.length; i++) {
        const letter = pattern[i] === "%" ? pattern[i + 1] : undefined;
        if (letter === "%") {
          text += "%";
          i++;
          continue;
        }
        const shown = letter === undefined || next >= args.length ? undefined : specifier(letter, args[next]);
        if (shown === undefined) {
          text += pattern[i];
          continue;
        }
        text += shown;
        next++;
        i++;
      }
    }
    for (; next < args.length; next++) text += (next === 0 ? "" : " ") + inspect(args[next]);
    return text;
  }

  function log(level, args) {
    let text = format(args);
    if (indent !== "") text = indent + p.replaceAll(text, "\n", `\n${indent}`);
    host.log(level, p.wellFormed(text));
  }

  function remember(map, label, value) {
    if (p.mapHas(map, label) || p.mapSize(map) < LABELS_MAX) p.mapSet(map, label, value);
  }
  function elapsed(label) {
    const start = p.mapGet(times, label);
    return start === undefined ? undefined : `${label}: ${(p.millis() - start).toFixed(3)} ms`;
  }

  const console = {
    log: (...args) => log("info", args),
    info: (...args) => log("info", args),
    warn: (...args) => log("warn", args),
    error: (...args) => log("error", args),
    debug: (...args) => log("debug", args),
    dir: (value) => log("info", [value]),
    table: (value) => log("info", [value]),
    trace(...args) {
      const { stack } = new Error();
      const at = p.stringIndexOf(stack, "\n");
      log("debug", [`Trace: ${format(args)}\n${p.substring(stack, at + 1)}`]);
    },
    assert(condition, ...args) {
      if (!condition) log("error", args.length === 0 ? ["Assertion failed"] : ["Assertion failed:", ...args]);
    },
    count(label = "default") {
      label = `${label}`;
      const count = (p.mapGet(counts, label) ?? 0) + 1;
      remember(counts, label, count);
      log("info", [`${label}: ${count}`]);
    },
    countReset(label = "default") {
      p.mapDelete(counts, `${label}`);
    },
    time(label = "default") {
      remember(times, `${label}`, p.millis());
    },
    timeLog(label = "default", ...args) {
      const text = elapsed(`${label}`);
      if (text !== undefined) log("info", [text, ...args]);
    },
    timeEnd(label = "default") {
      const text = elapsed(`${label}`);
      p.mapDelete(times, `${label}`);
      if (text !== undefined) log("info", [text]);
    },
    group(...args) {
      if (args.length > 0) log("info", args);
      if (indent.length < 80) indent += "  ";
    },
    groupEnd() {
      indent = p.substring(indent, 2);
    },
  };
  console.groupCollapsed = console.group;
  p.defineProperty(console, Symbol.toStringTag, { value: "console", configurable: true });

  return { console };
})
