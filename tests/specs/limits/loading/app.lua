local app = require "sampan"

while true do end
