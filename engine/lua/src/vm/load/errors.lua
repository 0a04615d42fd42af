-- Errors that are objects: they print as text, and have the methods of a string where they have no field of that name.
--
-- Called once per isolate with LuaJIT's own globals, the host's table and the globals of the scripts.
local G, host, env = ...

local pairs, ipairs, tostring = G.pairs, G.ipairs, G.tostring

local function text_of(err)
  local place, message = G.rawget(err, "place"), tostring(G.rawget(err, "message"))
  if place then return place .. ": " .. message end
  return message
end
local methods = {}
for name, fn in pairs(env.string) do
  methods[name] = function(err, ...) return fn(text_of(err), ...) end
end
for _, meta in ipairs(host.error_metas) do
  meta.__tostring = text_of
  meta.__concat = function(left, right) return tostring(left) .. tostring(right) end
  meta.__index = methods
end
