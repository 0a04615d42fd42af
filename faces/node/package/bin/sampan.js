#!/usr/bin/env node
"use strict";
require("../lib/run.cjs").main(process.argv.slice(2));
