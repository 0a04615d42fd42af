// The package in CommonJS. `app` and the modules are there while `sampan run` serves a project; see lib/scripts.cjs.
"use strict";
const { exported, isFilled } = require("./lib/scripts.cjs");
const globals = require("./serve/globals.cjs");

// The file that `sampan run` serves has the platform's classes.
if (!isFilled()) globals.install();

// The addon is loaded when it is needed, so that the package costs nothing before.
let serving;
exported.serve = function serve(options) {
  serving ??= require("./serve/serve.cjs").makeServe(require("./lib/native.cjs"));
  return serving(options);
};
module.exports = exported;
