import { app, exec } from "sampan";

const isPlain = (value) => value === null || !["object", "function"].includes(typeof value);
const text = (value) => (isPlain(value) ? String(value) : exec.shown(value));

const marks = {
  "%s": text,
  "%d": (value) => String(Number(value)),
  "%f": (value) => String(Number(value)),
  "%i": (value) => String(Math.trunc(Number(value))),
  "%j": (value) => JSON.stringify(value),
  "%o": text,
  "%O": text,
  "%c": () => "",
};

function write(...values) {
  if (typeof values[0] === "string" && values.length > 1) {
    const pattern = values.shift();
    values.unshift(pattern.replace(/%[%sdfijoOc]/g, (mark) => {
      if (mark === "%%") return "%";
      return values.length === 0 ? mark : marks[mark](values.shift());
    }));
  }
  exec.write(values.map(text).join(" "));
}

let exitCode;
const exitStatus = {
  configurable: true,
  enumerable: true,
  get: () => exitCode,
  // As in Node.js: text may hold the number, and the system keeps the lowest eight bits.
  set(value) {
    const isNumeric = typeof value === "string" && value !== "" && Number.isInteger(Number(value));
    const code = isNumeric ? Number(value) : (value ?? 0);
    if (!Number.isSafeInteger(code)) {
      const Fault = typeof code === "number" ? RangeError : TypeError;
      const fault = new Fault("process.exitCode must be an integer from 0 to 255, such as 1");
      // The line of the script, not this one.
      Error.captureStackTrace(fault, exitStatus.set);
      throw fault;
    }
    exec.setStatus(code & 255);
    exitCode = value;
  },
};

app.get("/.exec", () => undefined);
app.onStart(() => exec.run(async () => {
  const { name, args } = exec.script();
  process.argv = ["sampan", name, ...args];
  Object.defineProperty(process, "exitCode", exitStatus);
  const one = (value) => write(value);
  Object.assign(console, { log: write, info: write, debug: write, dir: one, table: one });
  const { default: main } = await import(`./${name}`);
  if (typeof main === "function") await main(...args);
}));
