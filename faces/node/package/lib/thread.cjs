// A worker of `npx sampan run` on a thread of its own.
"use strict";
const { workerData } = require("node:worker_threads");
const { resolvePackage, tools } = require("./tools.cjs");

resolvePackage();
require("./native.cjs").join(workerData.place, tools);
