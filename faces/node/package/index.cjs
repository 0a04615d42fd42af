// The package in CommonJS. `app` and the modules are there while `sampan run` serves a project; see lib/scripts.cjs.
"use strict";
const { exported, isFilled } = require("./lib/scripts.cjs");
const globals = require("./serve/globals.cjs");

// So that answers made before `serve` is called are ours too. The file that `sampan run` serves has the platform's classes. Native code
// of Bun takes no Response but its own: there the first call of `serve` does it, and the import alone changes nothing.
if (!isFilled() && typeof Bun === "undefined") globals.install();

// The addon is loaded when it is needed, so that the package costs nothing before.
let serving;
exported.serve = function serve(options) {
  serving ??= require("./serve/serve.cjs").makeServe(require("./lib/native.cjs"));
  return serving(options);
};
module.exports = exported;
