// `npx sampan run`: reads the flags, and lends the addon what its worker needs of the platform.
"use strict";
const { AsyncLocalStorage } = require("node:async_hooks");
const { format } = require("node:util");
const { createRequire } = require("node:module");
const { fill } = require("./scripts.cjs");

const HELP = `Serve a project of Sampan on Node.js or Bun

Usage: sampan run [OPTIONS] [DIR|FILE]

Arguments:
  [DIR|FILE]  The project's folder (with app.js in it), or the file to run [default: .]

Options:
      --listen <HOST:PORT|unix:PATH>  Where to listen; several with commas between [default: 127.0.0.1:8080]
      --user <NAME[:GROUP]>           Whom to become, once it listens, if root starts it
      --workers <N>                   How many threads run scripts: 1
      --config <FILE>                 The configuration file [default: sampan.toml in the project's folder, if there is one]
      --db <FILE>                     The database file [default: data.db in the project's folder]
      --no-migrate                    Do not run the migrations of the project at start
      --set <SECTION.KEY=VALUE>       A value of the configuration, such as limits.body_bytes_max=10MB
  -h, --help                          Print help
  -V, --version                       Print version
`;
const VALUES = { "--listen": "listen", "--user": "user", "--workers": "workers", "--config": "config", "--db": "db", "--set": "set" };

function refuse(message) {
  process.stderr.write(`sampan: ${message}\n`);
  process.exit(2);
}

function readFlags(args) {
  const flags = { set: [], noMigrate: false };
  for (let at = 0; at < args.length; at += 1) {
    const [name, written] = args[at].startsWith("--") ? split(args[at]) : [args[at]];
    if (name === "--no-migrate" && written === undefined) {
      flags.noMigrate = true;
    } else if (Object.hasOwn(VALUES, name)) {
      const value = written ?? args[at += 1];
      if (value === undefined) refuse(`a value is required for '${name}': sampan run --help tells which`);
      if (name === "--set") flags.set.push(value);
      else flags[VALUES[name]] = value;
    } else if (name.startsWith("-")) {
      refuse(`unexpected argument '${name}': sampan run --help tells which there are`);
    } else if (flags.path !== undefined) {
      refuse(`unexpected argument '${name}': one project is served at a time`);
    } else {
      flags.path = name;
    }
  }
  if (flags.workers !== undefined && flags.workers !== "1") {
    refuse("--workers: in Node.js and Bun one thread runs scripts: start more processes behind a proxy, or use the executable sampan");
  }
  return flags;
}
const split = (arg) => {
  const at = arg.indexOf("=");
  return at < 0 ? [arg] : [arg.slice(0, at), arg.slice(at + 1)];
};

function main(args) {
  const [command, ...rest] = args;
  if (command === "--version" || command === "-V") return process.stdout.write(`sampan ${require("../package.json").version}\n`);
  if (command === undefined || command === "--help" || command === "-h" || rest.includes("--help") || rest.includes("-h")) {
    return process.stdout.write(HELP);
  }
  if (command !== "run") refuse(`there is no command '${command}' here: the package has run, the executable sampan has all`);
  return run(readFlags(rest));
}

function run(flags) {
  const native = require("./native.cjs");
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
        return createRequire(file)(file);
      } catch (error) {
        throw placed(error, file);
      }
    },
    ended(status, message) {
      if (message !== undefined) process.stderr.write(`sampan: ${message}\n`);
      process.exit(status);
    },
  };
  // The addon hears them, and ends all in order. With a listener the platform does not end at once.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  resolvePackage();
  try {
    native.run(flags, tools);
  } catch (error) {
    process.stderr.write(`sampan: ${error.message}\n`);
    process.exit(1);
  }
}

// Some errors of the platform's compilers know their place and do not say it in their stack.
function placed(error, file) {
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
  const { registerHooks } = require("node:module");
  const { pathToFileURL } = require("node:url");
  const { join } = require("node:path");
  if (typeof Bun === "object") {
    Bun.plugin({ name: "sampan", setup: (build) => build.module("sampan", () => ({ exports: require("./scripts.cjs").exported, loader: "object" })) });
  } else if (typeof registerHooks === "function") {
    const url = pathToFileURL(join(__dirname, "../index.mjs")).href;
    registerHooks({
      resolve: (name, context, next) => (name === "sampan" ? { url, format: "module", shortCircuit: true } : next(name, context)),
    });
  }
}

module.exports = { main };
