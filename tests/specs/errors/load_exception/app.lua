local app = require "sampan"

local function setup() error("setup went wrong") end
setup()
