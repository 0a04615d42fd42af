import * as sampan from "sampan";
const { app, repl } = sampan;

// The names of the app are there without an import. What is declared becomes a global.
const scope = {};
for (const [name, value] of Object.entries(sampan)) {
  if (name !== "repl" && name !== "default") scope[name] = value;
}
const written = (...values) => repl.print(values);
scope.console = Object.assign(Object.create(console), {
  log: written, info: written, debug: written, warn: written, error: written,
});

async function run(code) {
  const value = await new Function("__scope", code)(scope);
  if (value !== undefined) repl.show(value);
}

function names(path) {
  let value = path === "" ? undefined : { ...Object.getOwnPropertyDescriptors(globalThis), ...Object.getOwnPropertyDescriptors(scope) };
  const parts = path.split(".").filter(Boolean);
  for (const [at, part] of parts.entries()) {
    let found;
    if (at === 0) {
      found = value[part];
    } else {
      // No getter is run.
      for (let holder = value; holder != null && !found; holder = Object.getPrototypeOf(holder)) {
        found = Object.getOwnPropertyDescriptor(holder, part);
      }
    }
    if (!found || !("value" in found) || found.value == null) return [];
    value = Object(found.value);
  }
  const found = path === "" ? [...Object.getOwnPropertyNames(scope), ...Object.getOwnPropertyNames(globalThis)] : [];
  for (let holder = value; holder != null && holder !== Object.prototype; holder = Object.getPrototypeOf(holder)) {
    found.push(...Object.getOwnPropertyNames(holder));
  }
  return found.filter((name) => /^[A-Za-z_$][\w$]*$/.test(name));
}

app.get("/.repl", () => undefined);
app.onStart(() => repl.serve(run, (asked, text) => (asked === "names" ? names(text) : false)));
