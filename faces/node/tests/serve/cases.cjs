"use strict";
require("./answers.cjs");
require("./options.cjs");
require("./failures.cjs");
require("./faults.cjs");
require("./hostile.cjs");
require("./frameworks.cjs");
require("./harness.cjs").run();
