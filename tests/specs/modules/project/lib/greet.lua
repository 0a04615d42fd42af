local shout = require "lib.shout"
return { hello = function(name) return shout("hello, " .. name) end, inner = shout("in") }
