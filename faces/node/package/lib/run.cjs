// `npx sampan run`: reads the flags, starts to serve, and gives each worker but the first a thread.
"use strict";
const { join } = require("node:path");
const { Worker } = require("node:worker_threads");
const { resolvePackage, tools } = require("./tools.cjs");

const HELP = `Serve a project of Sampan on Node.js or Bun

Usage: sampan run [OPTIONS] [DIR|FILE]

Arguments:
  [DIR|FILE]  The project's folder (with app.js in it), or the file to run [default: .]

Options:
      --listen <HOST:PORT|unix:PATH>  Where to listen; several with commas between [default: 127.0.0.1:8080]
      --tls <DOMAIN>                  Speak HTTPS with certificates that the server gets and renews by itself; several with commas between
      --tls-cert <FILE>               Speak HTTPS with this certificate and its chain (PEM)
      --tls-key <FILE>                The private key of the certificate (PEM)
      --user <NAME[:GROUP]>           Whom to become, once it listens, if root starts it
      --workers <N>                   How many threads run scripts [default: one for each core]
      --config <FILE>                 The configuration file [default: sampan.toml in the project's folder, if there is one]
      --db <FILE>                     The database file [default: data.db in the project's folder]
      --no-migrate                    Do not run the migrations of the project at start
      --restore                       Restore the database from the copy of [backup] first, if there is none
      --env-file <FILE>               A file of variables for the project, NAME=value a line. Those of the environment win
      --set <SECTION.KEY=VALUE>       A value of the configuration, such as limits.body_bytes_max=10MB
  -h, --help                          Print help
  -V, --version                       Print version
`;
/** The most workers, as for the executable. */
const WORKERS_MAX = 1024;
const VALUES = {
  "--listen": "listen", "--tls": "tls", "--tls-cert": "tlsCert", "--tls-key": "tlsKey", "--user": "user", "--workers": "workers",
  "--config": "config", "--db": "db", "--env-file": "envFile", "--set": "set",
};
/** Flags without a value. */
const SWITCHES = { "--no-migrate": "noMigrate", "--restore": "restore" };
/** Flags whose values are lists. */
const LISTS = ["--listen", "--tls"];

function refuse(message) {
  process.stderr.write(`sampan: ${message}\n`);
  process.exit(2);
}

function refuseTwice(name) {
  refuse(`the argument '${name}' cannot be used multiple times`);
}

function readFlags(args) {
  const flags = { set: [], noMigrate: false, restore: false };
  let isPath = false;
  for (let at = 0; at < args.length; at += 1) {
    const [name, written] = !isPath && args[at].startsWith("--") ? split(args[at]) : [args[at]];
    if (isPath) {
      readPath(flags, name);
    } else if (name === "--" && written === undefined) {
      isPath = true;
    } else if (Object.hasOwn(SWITCHES, name) && written === undefined) {
      if (flags[SWITCHES[name]]) refuseTwice(name);
      flags[SWITCHES[name]] = true;
    } else if (Object.hasOwn(VALUES, name)) {
      const value = written ?? args[at += 1];
      if (value === undefined) refuse(`a value is required for '${name}': sampan run --help tells which`);
      const key = VALUES[name];
      if (name === "--workers" && !(/^\d+$/.test(value) && value >= 1 && value <= WORKERS_MAX)) {
        refuse(`invalid value '${value}' for '${name}': it must be a number from 1 to ${WORKERS_MAX}`);
      }
      if (name === "--set") flags.set.push(value);
      else if (flags[key] === undefined) flags[key] = value;
      else if (LISTS.includes(name)) flags[key] += `,${value}`;
      else refuseTwice(name);
    } else if (name.startsWith("-")) {
      refuse(`unexpected argument '${name}': sampan run --help tells which there are`);
    } else {
      readPath(flags, name);
    }
  }
  if (flags.tlsCert === undefined && flags.tlsKey !== undefined) refuse("'--tls-key' needs '--tls-cert'");
  if (flags.tlsKey === undefined && flags.tlsCert !== undefined) refuse("'--tls-cert' needs '--tls-key'");
  return flags;
}

function readPath(flags, path) {
  if (flags.path !== undefined) refuse(`unexpected argument '${path}': one project is served at a time`);
  flags.path = path;
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
  // The addon hears them, and ends all in order. With a listener the platform does not end at once.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  resolvePackage();
  try {
    native.run(flags, { ...tools, thread: startThread, ended });
  } catch (error) {
    // The project and its configuration, as the executable has it.
    process.stderr.write(`sampan: ${error.message}\n`);
    process.exit(1);
  }
}

// The thread of a worker. Where it ends before the server does, the program ends: so it is where `process.exit` is called on the first thread.
function startThread(place) {
  const thread = new Worker(join(__dirname, "thread.cjs"), { workerData: { place } });
  thread.on("error", (error) => process.stderr.write(`sampan: worker ${place + 1} has ended: ${error?.stack ?? error}\n`));
  thread.on("exit", (status) => process.exit(status));
}

function ended(status, message) {
  if (message !== undefined) process.stderr.write(`sampan: ${message}\n`);
  process.exit(status);
}

module.exports = { main };
