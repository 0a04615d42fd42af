-- What inspect's README promises.
local inspect = require "inspect"

describe("inspect", function()
  it("writes plain values", function()
    assert.equal("1", inspect(1))
    assert.equal("nil", inspect(nil))
    assert.equal("true", inspect(true))
    assert.equal('"text"', inspect("text"))
    assert.equal([['say "hi"']], inspect('say "hi"'))
    assert.equal([["line\n\0end"]], inspect("line\n\0end"))
  end)

  it("writes lists on one line and maps on several", function()
    assert.equal("{ 1, 2, 3 }", inspect({ 1, 2, 3 }))
    assert.equal("{}", inspect({}))
    assert.equal("{\n  a = 1,\n  b = 2\n}", inspect({ b = 2, a = 1 }))
    assert.equal('{ "x",\n  ["not a name"] = true\n}', inspect({ "x", ["not a name"] = true }))
  end)

  it("writes tables in tables, to a depth", function()
    assert.equal("{\n  a = {\n    b = 1\n  }\n}", inspect({ a = { b = 1 } }))
    assert.equal("{\n  a = {...}\n}", inspect({ a = { b = 1 } }, { depth = 1 }))
    assert.equal("{a={b=1}}", (inspect({ a = { b = 1 } }, { newline = "", indent = "" }):gsub(" ", "")))
  end)

  it("numbers what stands more than once", function()
    local list = { 1 }
    list.self = list
    assert.equal("<1>{ 1,\n  self = <table 1>\n}", inspect(list))
    assert.equal("{ <function 1>, <function 1>, <function 2> }", inspect({ print, print, type }))
  end)

  it("shows metatables", function()
    assert.equal("{\n  <metatable> = {\n    __index = 1\n  }\n}", inspect(setmetatable({}, { __index = 1 })))
  end)

  it("lets a function change what is shown", function()
    local function hide(item, path) if path[#path] ~= "secret" then return item end end
    assert.equal("{\n  a = 1\n}", inspect({ a = 1, secret = 2 }, { process = hide }))
    assert.equal("{}", inspect(setmetatable({}, {}), { process = function(item, path)
      if path[#path] ~= inspect.METATABLE then return item end
    end }))
  end)
end)
