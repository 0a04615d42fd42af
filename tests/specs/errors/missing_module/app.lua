local missing = require "lib.missing"
