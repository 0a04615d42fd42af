// The addon, loaded once: one file for each platform.
"use strict";
const { platform, arch } = process;
if (platform !== "linux" || arch !== "x64") {
  throw new Error(`sampan has no addon for ${platform}-${arch}: it is there for linux-x64 with glibc`);
}
module.exports = require("../sampan.linux-x64-gnu.node");
