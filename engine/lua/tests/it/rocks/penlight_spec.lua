-- What Penlight's manual promises of the modules that need no LuaFileSystem. Its own tests do not come with the library.
describe("Penlight", function()
  it("loads but for what needs LuaFileSystem", function()
    for name in ([[Date List Map MultiMap OrderedMap Set array2d class compat comprehension config data func import_into init input lapp lexer
      luabalanced operator permute pretty seq sip stringio stringx tablex template text types url utils xml]]):gmatch("[%w_]+") do
      assert.is_truthy(require("pl." .. name))
    end
    for _, name in ipairs { "app", "dir", "file", "path", "test" } do
      local ok, message = pcall(require, "pl." .. name)
      assert.is_false(ok)
      assert.is_truthy(tostring(message):find("LuaFileSystem", 1, true))
    end
  end)

  it("has lists, maps and sets", function()
    local List, Set, OrderedMap = require "pl.List", require "pl.Set", require "pl.OrderedMap"
    local list = List { 3, 1, 2 }
    assert.equal("{1,2,3}", tostring(list:sorted()))
    assert.same({ 6, 2, 4 }, { unpack(list:map("*", 2)) })
    assert.equal(6, list:reduce("+"))
    assert.equal("{1,2}", tostring(List { 1, 2, 3, 4 }:slice(1, 2)))
    assert.is_true(Set { 1, 2 } + Set { 3 } == Set { 3, 2, 1 })
    assert.is_true(Set { 1, 2, 3 } * Set { 2, 5 } == Set { 2 })
    local map = OrderedMap()
    map:set("z", 1) map:set("a", 2)
    assert.same({ "z", "a" }, { unpack(map:keys()) })
  end)

  it("has classes", function()
    local class = require "pl.class"
    local Animal = class()
    function Animal:_init(name) self.name = name end
    function Animal:__tostring() return self.name .. ": " .. self:speak() end
    local Cat = class(Animal)
    function Cat:speak() return "meow" end
    assert.equal("Tom: meow", tostring(Cat("Tom")))
    assert.is_true(Cat("Tom"):is_a(Animal))
  end)

  it("works on tables", function()
    local tablex = require "pl.tablex"
    assert.is_true(tablex.deepcompare({ 1, { a = 2 } }, { 1, { a = 2 } }))
    assert.same({ 1, 4, 9 }, tablex.map(function(x) return x * x end, { 1, 2, 3 }))
    assert.same({ 2 }, tablex.filter({ 1, 2, 3 }, function(x) return x % 2 == 0 end))
    assert.equal(2, tablex.find({ "a", "b" }, "b"))
    assert.equal(2, tablex.size({ a = 1, b = 2 }))
    assert.same({ a = 1, b = 2 }, tablex.merge({ a = 1 }, { b = 2 }, true))
    local copy = tablex.deepcopy({ { 1 } })
    assert.same({ { 1 } }, copy)
  end)

  it("works on text", function()
    local stringx, text = require "pl.stringx", require "pl.text"
    assert.equal("trimmed", stringx.strip("  trimmed\n"))
    assert.same({ "a", "b", "c" }, { unpack(stringx.split("a,b,c", ",")) })
    assert.is_true(stringx.startswith("hello", "he"))
    assert.equal("a-b-b", stringx.replace("a.b.b", ".", "-"))
    assert.equal("  x\n  y\n", text.indent("x\ny", 2))
    assert.same({ "one two", "three" }, { unpack(text.wrap("one two three", 8)) })
    assert.equal("Hi Ada", text.Template("Hi $name"):substitute { name = "Ada" })
  end)

  it("writes Lua tables and reads them", function()
    local pretty = require "pl.pretty"
    assert.equal("{1,2,a=3}", pretty.write({ 1, 2, a = 3 }, ""))
    assert.same({ a = 1, b = { "x" } }, pretty.read("{ a = 1, b = { 'x' } }"))
    assert.equal("A", ("a"):upper())
  end)

  it("renders templates with environments of their own", function()
    local template = require "pl.template"
    local out = template.substitute("# for i, name in ipairs(names) do\n$(i): $(name)\n# end\n", { ipairs = ipairs, names = { "a", "b" } })
    assert.equal("1: a\n2: b\n", out)
  end)

  it("has iterators, placeholders and comprehensions", function()
    local seq, func = require "pl.seq", require "pl.func"
    assert.same({ 1, 4, 9 }, { unpack(seq.copy(seq.map("^", { 1, 2, 3 }, 2))) })
    assert.equal(10, seq.sum { 1, 2, 3, 4 })
    local _1 = func._1
    assert.equal(7, func.I(_1 + 2)(5))
    local C = require("pl.comprehension").new()
    assert.same({ 1, 4, 9 }, C "x ^ 2 for x"({ 1, 2, 3 }))
  end)

  it("parses", function()
    local lexer, xml, sip, lapp = require "pl.lexer", require "pl.xml", require "pl.sip", require "pl.lapp"
    local kinds = {}
    for kind in lexer.lua("x = 'y' -- z\n", {}) do table.insert(kinds, kind) end
    assert.same({ "iden", "space", "=", "space", "string", "space", "comment" }, kinds)
    local document = xml.parse("<a><b id='1'>text</b></a>")
    assert.equal("text", document:child_with_name("b"):get_text())
    assert.equal("1", document:child_with_name("b").attr.id)
    local found = {}
    assert.is_true(sip.match("$v{name}=$i{value}", "x=12", found))
    assert.same({ name = "x", value = 12 }, found)
    assert.same({ quiet = true }, { quiet = lapp.process_options_string and lapp("-q,--quiet be quiet\n", { "-q" }).quiet })
    assert.same({ port = 80 }, require("pl.config").read(require("pl.stringio").open("port = 80\n")))
    assert.equal(2, #require("pl.data").read(require("pl.stringio").open("a,b\n1,2\n3,4\n")))
  end)

  it("works with dates, arrays, permutations and URLs", function()
    local Date, array2d = require "pl.Date", require "pl.array2d"
    assert.equal(2024, Date { year = 2024, month = 2, day = 29 }:year())
    assert.same({ 1, 3 }, { unpack(array2d.column({ { 1, 2 }, { 3, 4 } }, 1)) })
    assert.equal(6, #require("pl.permute").table({ 1, 2, 3 }))
    assert.equal("a%20b", require("pl.url").quote("a b"))
    assert.equal("list", require("pl.types").type(require "pl.List" {}):lower())
  end)

  it("loads code with an environment", function()
    local compat, utils = require "pl.compat", require "pl.utils"
    assert.equal(5, compat.load("return x", "chunk", "t", { x = 5 })())
    local f = load("return y")
    compat.setfenv(f, { y = 6 })
    assert.equal(6, f())
    assert.equal(3, utils.string_lambda("|a, b| a + b")(1, 2))
  end)
end)
