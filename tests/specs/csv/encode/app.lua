local app = require "sampan"
local csv, db = app.csv, app.db

db.exec("CREATE TABLE IF NOT EXISTS people (name TEXT, id INTEGER, score REAL, note TEXT)")
db.exec("DELETE FROM people")
db.exec("INSERT INTO people VALUES ('Ann', 1, 1.5, NULL), ('Bob, \"B\"', 9007199254740993, -2, 'a' || char(10) || 'b')")

local hostile = setmetatable({}, { __index = function(_, key) if key == "a" then error("no a") end end })
local cycle = { a = 1 }
cycle.b = cycle

local cases = {
  rows = function() return csv.encode(db.query("SELECT * FROM people ORDER BY id")) end,
  maps = function() return csv.encode { { b = 1, a = true }, { a = "x" } } end,
  lists = function() return csv.encode { { 1, "two", false }, { " a", "b ", "" } } end,
  one_empty = function() return csv.encode { { "" }, { "a" } } end,
  hole = function() return csv.encode { { 1, 2, 3 }, { 1, nil, 3 } } end,
  hole_at_first = function() return csv.encode { { nil, 2, 3 } } end,
  missing_row = function() return csv.encode { { 1 }, nil, { 2 } } end,
  longer = function() return csv.encode { { 1, 2 }, { 1, 2, 3 } } end,
  shorter = function() return csv.encode { { 1, 2 }, { 1 } } end,
  mixed = function() return csv.encode { { a = 1 }, { 1, 2 } } end,
  names_late = function() return csv.encode { { 1 }, { a = 1 } } end,
  too_wide = function() return csv.encode({ { 1, 2, 3 } }, { columns = { "a", "b" } }) end,
  nested_in_list = function() return csv.encode { { 1, {} } } end,
  columns = function() return csv.encode({ { a = 1, b = 2 }, { c = 3 } }, { columns = { "c", "a" } }) end,
  none = function() return csv.encode({}, { columns = { "id", "name" } }) .. "|" .. csv.encode({}) end,
  separator = function() return csv.encode({ { "a;b", "c,d" } }, { separator = ";" }) end,
  -- A text is guarded, a number is not.
  formulas = function() return csv.encode({ { "=1+1", -5, "-5", "@x", "a=b", "\t" } }, { spreadsheet = true }) end,
  as_is = function() return csv.encode { { "=1+1", "+49", "@x" } } end,
  more = function() return csv.encode { { a = 1 }, { a = 2, b = 3 } } end,
  empty_row = function() return csv.encode { {} } end,
  scalar = function() return csv.encode { 1 } end,
  text = function() return csv.encode("a") end,
  nested = function() return csv.encode { { a = { 1 } } } end,
  cycle = function() return csv.encode { cycle } end,
  infinity = function() return csv.encode { { 1 / 0 } } end,
  no_text = function() return csv.encode { { "\255" } } end,
  throws = function() return csv.encode({ hostile, { a = 1 } }, { columns = { "a" } }) end,
  unknown = function() return csv.encode({}, { header = false }) end,
  bad_separator = function() return csv.encode({}, { separator = "--" }) end,
  bad_columns = function() return csv.encode({}, { columns = { 1 } }) end,
  wide = function()
    local first, other = {}, {}
    for i = 1, 16000 do first["k" .. i] = i other["k" .. i] = i end
    first.a, other.b = 1, nil
    return #csv.encode { first, other, other, other, other, other, other, other }
  end,
  beyond = function()
    local row = {}
    for i = 1, 20000 do row["k" .. i] = i end
    return csv.encode { row }
  end,
  huge = function()
    local row, long = {}, ("x"):rep(1000000)
    for i = 1, 1000 do row[i] = long end
    return csv.encode { row }
  end,
}

app.get("/:case", function(req)
  local _, said = pcall(cases[req.params.case])
  return tostring(said)
end)
