-- Templates compiled to Lua functions, with the tags of lua-resty-template:
--
--   {{ value }}           prints a value, escaped
--   {* value *}           prints it as it is
--   {% code %}            Lua; a newline after it is dropped
--   {(name)}              prints another template
--   {-name-} ... {-name-} keeps what is between them as `blocks.name`
--
-- A template that sets `layout` is printed by that one, with its blocks. The values of a page are in `it`.
local concat = table.concat
local pages = {}

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

function pages.escape(value)
  if type(value) == "number" then return value end
  value = tostring(value)
  if value:find("[&<>\"']") then return (value:gsub("[&<>\"']", entities)) end
  return value
end

local HEAD = "local pages, concat, escape = ...; return function(it, blocks) local out, n, layout = {}, 0\n"
local TAIL = "\nif layout then return pages[layout](it, blocks) end return concat(out, '', 1, n) end"

local function put(value) return ("n = n + 1; out[n] = %s "):format(value) end

local tags = {
  ["{{"] = { "}}", function(value) return put("escape(" .. value .. ")") end },
  ["{*"] = { "*}", put },
  ["{("] = { ")}", function(name) return put(("pages[%q](it, blocks)"):format(name)) end },
  ["{%"] = { "%}", function(code) return code .. " " end, drops_newline = true },
}

-- The code of a template.
local function translate(text)
  local code, open, at = {}, nil, 1
  local function literal(last)
    if last >= at then code[#code + 1] = put(("%q"):format(text:sub(at, last))) end
  end
  while true do
    local first = text:find("{[{*(%%-]", at)
    if not first then break end
    literal(first - 1)
    local name, after = text:match("^{%-(%w+)%-}()", first)
    local drops_newline = name
    if name then
      code[#code + 1] = open and ("blocks.%s = concat(out, '', 1, n) end "):format(name) or "do local out, n = {}, 0 "
      open = not open and name or nil
    else
      local tag = assert(tags[text:sub(first, first + 1)], "unknown tag")
      local last, behind = text:find(tag[1], first, true)
      code[#code + 1] = tag[2](text:sub(first + 2, assert(last, "a tag is open") - 1))
      after, drops_newline = behind + 1, tag.drops_newline
    end
    at = drops_newline and text:match("^\n()", after) or after
  end
  literal(#text)
  return HEAD .. concat(code) .. TAIL
end

-- Compiles the template of this file.
function pages.load(folder, name)
  local file = assert(io.open(folder .. name .. ".html", "rb"))
  local code = translate(file:read("*a"))
  file:close()
  pages[name] = assert(loadstring(code, "=" .. name))(pages, concat, pages.escape)
end

return pages
