//! The matcher of `pattern.lua` against LuaJIT's own: the same answers for random patterns and subjects.

use crate::vm::state::State;
use mlua_sys::lua51::*;

const COMPARE: &str = r##"
local slow, seed = ...
math.randomseed(seed)
local pieces = { "a", "b", ".", "%a", "%d", "%s", "[ab]", "[^a]", "[a-c]", "%w", "%.", "[%a_]", "x", "[]]", "[a-]", "%bab", "%f[a]", "()" }
local marks = { "", "", "", "*", "+", "-", "?" }
local function pattern()
  local out, open, closed = {}, 0, 0
  if math.random(5) == 1 then out[1] = "^" end
  for _ = 1, math.random(5) do
    local piece = pieces[math.random(#pieces)]
    if math.random(6) == 1 then out[#out + 1] = "(" open = open + 1 end
    out[#out + 1] = piece
    if not piece:find("^%%[bf]") and piece ~= "()" then out[#out + 1] = marks[math.random(#marks)] end
    if open > closed and math.random(2) == 1 then out[#out + 1] = ")" closed = closed + 1 end
  end
  for _ = closed + 1, open do out[#out + 1] = ")" end
  if closed > 0 and math.random(4) == 1 then out[#out + 1] = "%1" end
  if math.random(5) == 1 then out[#out + 1] = "$" end
  if math.random(12) == 1 then out[#out + 1] = ({ "%", "[", "(", ")", "%2", "%f" })[math.random(6)] end
  return table.concat(out)
end
local function subject()
  local out = {}
  for i = 1, math.random(0, 12) do out[i] = ("aabbcx1 ._]-"):sub(math.random(12)):sub(1, 1) end
  return table.concat(out)
end
local function all(...)
  local out = { n = select("#", ...) }
  for i = 1, out.n do out[i] = type((select(i, ...))) .. ":" .. tostring((select(i, ...))) end
  return table.concat(out, ",")
end
local function iterate(gmatch, s, p)
  local out = {}
  for a, b in gmatch(s, p) do
    out[#out + 1] = all(a, b)
    if #out > 50 then break end
  end
  return table.concat(out, ";")
end
local function attempt(fn, ...)
  local result = { pcall(fn, ...) }
  if not result[1] then return "error" end
  return all(unpack(result, 1, 12))
end
for round = 1, 20000 do
  local s, p = subject(), pattern()
  local init = math.random(-3, 14)
  local replace = ({ "<%0>", "%%", "x", function(a) return a and "f" end, { a = "T", ab = false } })[math.random(5)]
  local checks = {
    { "find", attempt(string.find, s, p, init), attempt(slow.find, s, p, init) },
    { "match", attempt(string.match, s, p, init), attempt(slow.match, s, p, init) },
    { "gmatch", attempt(iterate, string.gmatch, s, p), attempt(iterate, slow.gmatch, s, p) },
    { "gsub", attempt(string.gsub, s, p, replace, math.random(4)), nil },
  }
  local max = math.random(3)
  checks[4] = { "gsub", attempt(string.gsub, s, p, replace, max), attempt(slow.gsub, s, p, replace, max) }
  for _, check in ipairs(checks) do
    if check[2] ~= check[3] then
      error(("%s %q %q init %d: %s, ours %s"):format(check[1], s, p, init, check[2], check[3]), 0)
    end
  end
end
-- A long needle, looked for window by window.
for _ = 1, 200 do
  local s, p = ("ab"):rep(math.random(30)) .. "c" .. ("ab"):rep(3), ("ab"):rep(math.random(0, 12)) .. ({ "c", "" })[math.random(2)]
  local init = math.random(-5, 70)
  local raw, ours = attempt(string.find, s, p, init, true), attempt(slow.find, s, p, init, true)
  if raw ~= ours then error(("plain %q %q %d: %s, ours %s"):format(s, p, init, raw, ours), 0) end
end
"##;

unsafe fn load(state: State, text: &str) {
    // SAFETY: a private state; what does not compile ends the test.
    unsafe {
        let status = luaL_loadbuffer(state, text.as_ptr().cast(), text.len(), c"=test".as_ptr());
        assert_eq!(
            status,
            LUA_OK,
            "{}",
            String::from_utf8_lossy(crate::vm::state::text_at(state, -1))
        );
    }
}

#[test]
fn the_matcher_agrees_with_luajit() {
    for seed in 1..=3 {
        // SAFETY: a private state, closed at the end; the comparison runs under `lua_pcall`.
        unsafe {
            let state = luaL_newstate();
            luaL_openlibs(state);
            load(state, COMPARE);
            load(state, include_str!("pattern.lua"));
            lua_call(state, 0, 1);
            lua_getglobal(state, c"string".as_ptr());
            // With no steps to be spent in C everything takes the slow way.
            lua_pushnumber(state, -1.0);
            lua_call(state, 2, 1);
            lua_pushnumber(state, f64::from(seed));
            let status = lua_pcall(state, 2, 0, 0);
            assert_eq!(
                status,
                LUA_OK,
                "{}",
                String::from_utf8_lossy(crate::vm::state::text_at(state, -1))
            );
            lua_close(state);
        }
    }
}
