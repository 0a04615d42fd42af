-- Lua patterns that cannot run away.
--
-- LuaJIT matches patterns in C, where no hook can stop it, and backtracking makes some patterns cost n^k steps. This
-- file estimates the worst case of each call. What is cheap enough goes to LuaJIT's own function; the rest is matched by the
-- matcher below, which is Lua and is stopped like any other Lua.
local error, type, tostring, unpack, concat, setmetatable = error, type, tostring, unpack, table.concat, setmetatable

local CAPTURES_MAX = 32

-- `raw` is LuaJIT's string library; STEPS_MAX is what may be spent in C: 2e7 steps take about a tenth of a second.
return function(raw, STEPS_MAX)
  STEPS_MAX = STEPS_MAX or 2e7
  local byte, sub, char = raw.byte, raw.sub, raw.char
  local PERCENT, OPEN, CLOSE, DOT, CARET, DOLLAR = 37, 40, 41, 46, 94, 36
  local BRACKET, BRACKET_END, MINUS, STAR, PLUS, QUESTION = 91, 93, 45, 42, 43, 63

  -- One-character classes, asked of LuaJIT for each of the 256 bytes when a class is first met: the collector would walk all
  -- of them in every cycle.
  local letters = {}
  for letter in raw.gmatch("acdglpsuwxACDGLPSUWX", ".") do letters[byte(letter)] = letter end
  local classes = setmetatable({}, { __index = function(all, code)
    local letter = letters[code]
    if not letter then return nil end
    local set = {}
    for c = 0, 255 do set[c] = raw.find(char(c), "%" .. letter) ~= nil end
    all[code] = set
    return set
  end })

  -- The end of the item at `pi`, or nil and what is wrong with it.
  local function item_end(p, pi)
    local c = byte(p, pi)
    if c == PERCENT then
      if pi + 1 > #p then return nil, "malformed pattern (ends with '%')" end
      return pi + 2
    elseif c == BRACKET then
      pi = pi + 1
      if byte(p, pi) == CARET then pi = pi + 1 end
      repeat
        local d = byte(p, pi)
        if not d then return nil, "malformed pattern (missing ']')" end
        pi = pi + (d == PERCENT and 2 or 1)
      until byte(p, pi) == BRACKET_END
      return pi + 1
    end
    return pi + 1
  end

  local function class_end(p, pi)
    local ep, why = item_end(p, pi)
    return ep or error(why, 0)
  end

  -- The worst case: an exponent, one for each repetition that something follows and one for the starting points, and a factor, two
  -- for each optional item.
  local exponents, factors = {}, {}
  local cached = 0
  local function analyse(p)
    local risky, pending, pi, factor = 1, 0, 1, #p
    if byte(p, 1) == CARET then risky, pi = 0, 2 end
    while pi <= #p do
      local c = byte(p, pi)
      if c == OPEN or c == CLOSE then
        pi = pi + 1
      else
        risky, pending = risky + pending, 0
        if c == PERCENT and (byte(p, pi + 1) == 98 or byte(p, pi + 1) == 102) then
          if byte(p, pi + 1) == 98 then risky, pi = risky + 1, pi + 4 else pi = item_end(p, pi + 2) or #p + 1 end
        elseif c == PERCENT and (byte(p, pi + 1) or 0) >= 48 and (byte(p, pi + 1) or 0) <= 57 then
          risky, pi = risky + 1, pi + 2
        else
          pi = item_end(p, pi) or #p + 1
          local q = byte(p, pi)
          if q == STAR or q == PLUS or q == MINUS then pending, pi = 1, pi + 1 elseif q == QUESTION then factor, pi = factor * 2, pi + 1 end
        end
      end
    end
    if cached > 1000 then exponents, factors, cached = {}, {}, 0 end
    exponents[p], factors[p], cached = risky, factor, cached + 1
  end

  local function is_cheap(s, p)
    if not exponents[p] then analyse(p) end
    return (#s + 1) ^ exponents[p] * factors[p] <= STEPS_MAX
  end

  local match

  local function in_set(c, p, pi, last)
    local negate = false
    pi = pi + 1
    if byte(p, pi) == CARET then negate, pi = true, pi + 1 end
    local first = pi
    while pi < last or pi == first do
      local d = byte(p, pi)
      if d == PERCENT then
        local letter = byte(p, pi + 1)
        local set = classes[letter]
        if set and set[c] or not set and letter == c then return not negate end
        pi = pi + 2
      elseif byte(p, pi + 1) == MINUS and pi + 2 < last then
        if d <= c and c <= byte(p, pi + 2) then return not negate end
        pi = pi + 3
      else
        if d == c then return not negate end
        pi = pi + 1
      end
    end
    return negate
  end

  -- Whether the character at `si` matches the single item from `pi` to before `ep`.
  local function single(m, si, pi, ep)
    local c = byte(m.s, si)
    if not c then return false end
    local d = byte(m.p, pi)
    if d == DOT then return true end
    if d == PERCENT then
      local letter = byte(m.p, pi + 1)
      local set = classes[letter]
      if set then return set[c] end
      return letter == c
    end
    if d == BRACKET then return in_set(c, m.p, pi, ep - 1) end
    return d == c
  end

  local function balance(m, si, pi)
    local open, close = byte(m.p, pi), byte(m.p, pi + 1)
    if not close then error("malformed pattern (missing arguments to '%b')", 0) end
    if byte(m.s, si) ~= open then return nil end
    local depth = 1
    for at = si + 1, #m.s do
      local c = byte(m.s, at)
      if c == close then
        depth = depth - 1
        if depth == 0 then return at + 1 end
      elseif c == open then
        depth = depth + 1
      end
    end
  end

  local function captured(m, index)
    local from, length = m.from[index], m.length[index]
    if not from or length == -1 then error("invalid capture index", 0) end
    if length == -2 then return from end
    return sub(m.s, from, from + length - 1)
  end

  local function close_capture(m, si, pi)
    for index = m.level, 1, -1 do
      if m.length[index] == -1 then
        m.length[index] = si - m.from[index]
        local stop = match(m, si, pi)
        if not stop then m.length[index] = -1 end
        return stop
      end
    end
    error("invalid pattern capture", 0)
  end

  local function open_capture(m, si, pi, length)
    if m.level >= CAPTURES_MAX then error("too many captures", 0) end
    m.level = m.level + 1
    m.from[m.level], m.length[m.level] = si, length
    local level = m.level
    local stop = match(m, si, pi)
    if not stop then m.level = level - 1 end
    return stop
  end

  local function frontier(m, si, pi)
    if byte(m.p, pi) ~= BRACKET then error("missing '[' after '%f' in pattern", 0) end
    local ep = class_end(m.p, pi)
    local before = si == 1 and 0 or byte(m.s, si - 1)
    local here = byte(m.s, si) or 0
    if in_set(before, m.p, pi, ep - 1) or not in_set(here, m.p, pi, ep - 1) then return nil end
    return ep
  end

  -- Matches the pattern from `pi` at `si`: the position after the match, or nil.
  function match(m, si, pi)
    local p = m.p
    while true do
      local c = byte(p, pi)
      if not c then return si end
      if c == OPEN then
        if byte(p, pi + 1) == CLOSE then return open_capture(m, si, pi + 2, -2) end
        return open_capture(m, si, pi + 1, -1)
      elseif c == CLOSE then
        return close_capture(m, si, pi + 1)
      elseif c == DOLLAR and pi == #p then
        return si == #m.s + 1 and si or nil
      end
      local letter = c == PERCENT and byte(p, pi + 1)
      if letter == 98 then
        si = balance(m, si, pi + 2)
        if not si then return nil end
        pi = pi + 4
      elseif letter == 102 then
        local ep = frontier(m, si, pi + 2)
        if not ep then return nil end
        pi = ep
      elseif letter and letter >= 48 and letter <= 57 then
        local text = captured(m, letter - 48)
        if type(text) ~= "string" then return nil end
        if sub(m.s, si, si + #text - 1) ~= text then return nil end
        si, pi = si + #text, pi + 2
      else
        local ep = class_end(p, pi)
        local q = byte(p, ep)
        if q == QUESTION then
          if single(m, si, pi, ep) then
            local stop = match(m, si + 1, ep + 1)
            if stop then return stop end
          end
          pi = ep + 1
        elseif q == MINUS then
          while true do
            local stop = match(m, si, ep + 1)
            if stop then return stop end
            if not single(m, si, pi, ep) then return nil end
            si = si + 1
          end
        elseif q == STAR or q == PLUS then
          local last = si
          while single(m, last, pi, ep) do last = last + 1 end
          for at = last, q == PLUS and si + 1 or si, -1 do
            local stop = match(m, at, ep + 1)
            if stop then return stop end
          end
          return nil
        else
          if not single(m, si, pi, ep) then return nil end
          si, pi = si + 1, ep
        end
      end
    end
  end

  local function captures(m, first, last)
    if m.level == 0 then return sub(m.s, first, last) end
    local out = {}
    for index = 1, m.level do out[index] = captured(m, index) end
    return unpack(out, 1, m.level)
  end

  -- The first match from `init` on: its first position and the one after its last.
  local function search(m, init)
    local anchored = byte(m.p, 1) == CARET
    for si = init, #m.s + 1 do
      m.level = 0
      local stop = match(m, si, anchored and 2 or 1)
      if stop then return si, stop end
      if anchored then return nil end
    end
  end

  local function state(s, p) return { s = s, p = p, level = 0, from = {}, length = {} } end

  local function start(s, init)
    init = init or 1
    if init < 0 then init = #s + init + 1 end
    return init < 1 and 1 or init
  end

  local out = {}

  -- A plain search is naive in C as well: long needles are looked for window by window.
  local function find_plain(s, p, init)
    local window = STEPS_MAX / (#p + 1)
    window = window < 1 and 1 or window - window % 1
    for from = start(s, init), #s - #p + 1, window do
      local first, last = raw.find(sub(s, from, from + window + #p - 2), p, 1, true)
      if first then return from + first - 1, from + last - 1 end
    end
  end

  local function slow(s, p) return type(s) == "string" and type(p) == "string" and not is_cheap(s, p) end

  function out.find(s, p, init, plain)
    if type(s) == "string" and type(p) == "string" and #s * #p > STEPS_MAX
      and (plain or not raw.find(p, "[%^%$%*%+%?%.%(%[%%%-]")) then
      return find_plain(s, p, init)
    end
    if plain or not slow(s, p) then return raw.find(s, p, init, plain) end
    local m = state(s, p)
    local from = start(s, init)
    if from > #s + 1 then return nil end
    local first, stop = search(m, from)
    if not first then return nil end
    if m.level == 0 then return first, stop - 1 end
    return first, stop - 1, captures(m)
  end

  function out.match(s, p, init)
    if not slow(s, p) then return raw.match(s, p, init) end
    local m = state(s, p)
    local from = start(s, init)
    if from > #s + 1 then return nil end
    local first, stop = search(m, from)
    if first then return captures(m, first, stop - 1) end
  end

  function out.gmatch(s, p)
    if not slow(s, p) then return raw.gmatch(s, p) end
    local m, from = state(s, p), 1
    return function()
      for si = from, #s + 1 do
        m.level = 0
        local stop = match(m, si, 1)
        if stop then
          from = stop == si and stop + 1 or stop
          return captures(m, si, stop - 1)
        end
      end
      from = #s + 2
    end
  end
  out.gfind = out.gmatch

  local function replacement(m, first, stop, repl)
    local whole = sub(m.s, first, stop - 1)
    local value
    if type(repl) == "function" then
      value = repl(captures(m, first, stop - 1))
    elseif type(repl) == "table" then
      value = repl[m.level == 0 and whole or captured(m, 1)]
    else
      return (raw.gsub(tostring(repl), "%%(.)", function(c)
        if c == "%" then return "%" end
        if c == "0" then return whole end
        if not raw.find(c, "%d") then return c end
        if c == "1" and m.level == 0 then return whole end
        return tostring(captured(m, c + 0))
      end))
    end
    if not value then return whole end
    if type(value) ~= "string" and type(value) ~= "number" then
      error("invalid replacement value (a " .. type(value) .. ")", 0)
    end
    return tostring(value)
  end

  function out.gsub(s, p, repl, max)
    if not slow(s, p) then return raw.gsub(s, p, repl, max) end
    local kind = type(repl)
    if kind ~= "string" and kind ~= "number" and kind ~= "function" and kind ~= "table" then
      error("bad argument #3 to 'gsub' (string/function/table expected)", 2)
    end
    local m, parts, count, si = state(s, p), {}, 0, 1
    local anchored = byte(p, 1) == CARET
    while count < (max or #s + 1) do
      m.level = 0
      local stop = match(m, si, anchored and 2 or 1)
      if stop then
        count = count + 1
        parts[#parts + 1] = replacement(m, si, stop, repl)
      end
      if stop and stop > si then
        si = stop
      elseif si <= #s then
        parts[#parts + 1] = sub(s, si, si)
        si = si + 1
      else
        break
      end
      if anchored then break end
    end
    parts[#parts + 1] = sub(s, si)
    return concat(parts), count
  end

  return out
end
