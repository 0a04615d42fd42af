//! The cost of searches, ours beside LuaJIT's own in C: `cargo bench -p sampan-lua --bench patterns`.
//!
//! Prints nanoseconds per call as the best of several rounds that alternate, and the ratio. The loop around the calls
//! is compiled by LuaJIT as far as it can.

use sampan_lua::comparison::{Argument, Comparison};

const CHUNK: &str = r##"
local raw, ours = ...
local subject = "The quick brown fox jumps over the lazy dog, 2024-05-17, and runs on 10-20 more miles"
local padded = "   " .. subject .. "   "
local cases = {
  { "^%s*(.-)%s*$", function(s) return s.match, padded, "^%s*(.-)%s*$" end },
  { "%w+ once", function(s) return s.match, subject, "%w+" end },
  { "(%d+)-(%d+)", function(s) return s.match, subject, "(%d+)-(%d+)" end },
  { "find %d+", function(s) return s.find, subject, "%d+" end },
  { "find set", function(s) return s.find, subject, "[%d_]+" end },
  { "key=value", function(s) return s.match, "some_key = some value", "^([%w_]+)%s*=%s*(.*)$" end },
  { "find plain", function(s) return s.find, subject, "runs on", 1, true end },
  { "find no specials", function(s) return s.find, subject, "lazy", 1 end },
  { "find plain, long", function(s) return s.find, subject:rep(100) .. "#", "#", 1, true end },
  { "short find", function(s) return s.find, "a/b", "/", 1, true end },
  { 'gsub("%s+", " ")', function(s) return s.gsub, padded, "%s+", " " end },
  { 'gsub("&", "&amp;")', function(s) return s.gsub, subject, "[&<>]", "&amp;" end },
  { "gsub with table", function(s) return s.gsub, subject, "%w+", { fox = "cat", dog = "cow" } end },
  { "gsub with function", function(s) return s.gsub, subject, "%w+", function(w) return w end end },
  { "gsub %1", function(s) return s.gsub, subject, "(%w+) (%w+)", "%2 %1" end },
}
local clock = os.clock
local function run(f, rounds, a, b, c, d)
  local begun = clock()
  -- Another start each time, or LuaJIT would call what it compiles only once.
  if c == 1 then
    for i = 1, rounds do f(a, b, i % 2 + 1, d) end
  else
    for _ = 1, rounds do f(a, b, c, d) end
  end
  return (clock() - begun) / rounds * 1e9
end
local function words(gmatch, rounds, s)
  local begun = clock()
  for _ = 1, rounds do for _ in gmatch(s, "%w+") do end end
  return (clock() - begun) / rounds * 1e9
end
local out = {}
local function measure(name, mine, theirs)
  local best_mine, best_theirs = math.huge, math.huge
  for _ = 1, 15 do
    best_mine, best_theirs = math.min(best_mine, mine()), math.min(best_theirs, theirs())
  end
  out[#out + 1] = ("%-20s %8.0f ns  LuaJIT %8.0f ns  ratio %.2f"):format(name, best_mine, best_theirs, best_mine / best_theirs)
end
return function(rounds)
  for _, case in ipairs(cases) do
    -- Functions of their own, so that neither shares what is compiled with the other.
    local source = string.dump(run)
    local one, two = loadstring(source), loadstring(source)
    debug.setupvalue(one, 1, clock) debug.setupvalue(two, 1, clock)
    local f1, a, b, c, d = case[2](ours)
    local f2 = case[2](raw)
    measure(case[1], function() return one(f1, rounds, a, b, c, d) end, function() return two(f2, rounds, a, b, c, d) end)
  end
  measure("gmatch %w+", function() return words(ours.gmatch, rounds / 10, subject) end,
    function() return words(raw.gmatch, rounds / 10, subject) end)
  return table.concat(out, "\n")
end
"##;

fn main() {
    let rounds = Argument::Number(20_000.0);
    match Comparison::new(CHUNK).call(&[rounds]) {
        Ok(table) => println!("{table}"),
        Err(message) => println!("failed: {message}"),
    }
}
