// What `import { app, db } from "sampan"` gives. `sampan run` fills it before it loads the project's file. In any other program a module fails
// when it is used, with what to do; so programs that only want `serve` need nothing else.
"use strict";
const NAMES = [
  "app", "json", "html", "text", "redirect", "stream", "sse", "first", "render", "file", "time", "log", "env", "csv", "regex", "codec", "crypto", "password",
  "db", "session", "template", "files", "i18n", "cache", "mail", "metrics", "upgrade",
];
const exported = {};
let filled = false;
const missing = (name) => {
  const fail = () => {
    throw new Error(`${name} of sampan works in the file that is served by: npx sampan run FILE`);
  };
  return new Proxy(fail, { get: (_, key) => (typeof key === "symbol" || key === "then" ? undefined : fail()), apply: fail });
};
for (const name of NAMES) exported[name] = missing(name);
exported.default = exported.app;

// Gives what an isolate has in the place of that.
function fill(exports) {
  filled = true;
  for (const name of Object.keys(exports)) {
    // index.mjs has to list all: a new module is added to both.
    if (!Object.hasOwn(exported, name)) throw new Error(`sampan: ${name} is missing in the package`);
    exported[name] = exports[name];
  }
}
module.exports = { exported, fill, isFilled: () => filled };
