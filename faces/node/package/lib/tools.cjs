// What the addon's workers need of the platform, on each thread that has one.
"use strict";
const { AsyncLocalStorage } = require("node:async_hooks");
const { readFileSync } = require("node:fs");
const Module = require("node:module");
const { dirname, join } = require("node:path");
const { fileURLToPath, pathToFileURL } = require("node:url");
const { format } = require("node:util");
const { fill } = require("./scripts.cjs");

const { createRequire, registerHooks } = Module;
let isLoaded = false;
const tools = {
  format,
  // Knows in whose asynchronous context a script runs.
  storage: () => new AsyncLocalStorage(),
  serve: fill,
  uncaught(told) {
    process.on("uncaughtException", (error) => told(error, false));
    process.on("unhandledRejection", (error) => told(error, true));
  },
  // Loads the project's file, whichever kind of module it is.
  load(file) {
    if (isLoaded) throw new Error("the platform keeps the modules that it has loaded: start the process anew");
    isLoaded = true;
    try {
      return isModuleAmongScripts(file) ? loadedAsModule(file) : createRequire(file)(file);
    } catch (error) {
      throw placed(error, file);
    }
  },
};

// Reports whether a `.js` of the project is written as a module although the nearest `package.json` says `commonjs`, as `npm init` writes it.
// The executable runs such a file, so Node.js does too. Bun does by itself.
function isModuleAmongScripts(file) {
  if (typeof Bun === "object" || !file.endsWith(".js") || file.includes("/node_modules/")) return false;
  if (!/^[ \t]*(?:import\b(?!\s*\()|export\b)/m.test(readFileSync(file, "utf8"))) return false;
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    try {
      return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).type === "commonjs";
    } catch (error) {
      if (error.code !== "ENOENT" || folder === dirname(folder)) return false;
    }
  }
}

function loadedAsModule(file) {
  if (typeof registerHooks === "function") return createRequire(file)(file);
  const module = new Module(file);
  module.filename = file;
  module.paths = Module._nodeModulePaths(dirname(file));
  module._compile(readFileSync(file, "utf8"), file, "module");
  return module.exports;
}

// Errors of the platform's own words, in ours where those say what to do. Some know their place and do not say it in their stack.
function placed(error, file) {
  if (error?.code === "ERR_REQUIRE_ASYNC_MODULE") {
    return new Error("top-level await: nothing can wait while the file loads. Wait in app.onStart, or in a handler");
  }
  if (error instanceof SyntaxError && /\.[cm]?tsx?$/.test(file) && typeof Bun !== "object" && !process.features.typescript) {
    return new Error(`Node.js ${process.version} does not run TypeScript: take 22.18 or newer, Bun, or the executable sampan`);
  }
  // Bun's own.
  const position = error?.position ?? error?.errors?.[0]?.position;
  if (position?.file !== undefined && position.line > 0) {
    const made = new SyntaxError(error.errors?.[0]?.message ?? error.message);
    made.stack = `${position.file}:${position.line}\n${made.stack}`;
    return made;
  }
  if (error instanceof SyntaxError && !/^(file:\/\/)?\/.*:\d+$/m.test(String(error.stack))) {
    const { spawnSync } = require("node:child_process");
    const [place] = String(spawnSync(process.execPath, ["--check", file]).stderr).split("\n");
    if (place.startsWith("/") || place.startsWith("file:")) error.stack = `${place}\n${error.stack}`;
  }
  return error;
}

// A project need not have the package in its own node_modules: this one is meant.
function resolvePackage() {
  if (typeof Bun === "object") {
    Bun.plugin({ name: "sampan", setup: (build) => build.module("sampan", () => ({ exports: require("./scripts.cjs").exported, loader: "object" })) });
  } else if (typeof registerHooks === "function") {
    const url = pathToFileURL(join(__dirname, "../index.mjs")).href;
    registerHooks({
      resolve: (name, context, next) => (name === "sampan" ? { url, format: "module", shortCircuit: true } : next(name, context)),
      load: (url, context, next) => {
        if (context.format === "module" || !url.startsWith("file:") || !isModuleAmongScripts(fileURLToPath(url))) return next(url, context);
        return { format: "module", source: readFileSync(fileURLToPath(url), "utf8"), shortCircuit: true };
      },
    });
  }
}

module.exports = { resolvePackage, tools };
