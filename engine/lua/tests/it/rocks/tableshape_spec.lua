-- What tableshape's README promises, with the subjects that its own specs (in MoonScript) have.
local types = require("tableshape").types

describe("tableshape", function()
  it("checks the types of Lua", function()
    for checker, value in pairs {
      [types.string] = "x", [types.number] = 1.5, [types.integer] = 2, [types.boolean] = false, [types.table] = {},
      [types.func] = print, [types.array] = { 1, 2 }, [types.any] = 1, [types["nil"]] = nil,
    } do
      assert.truthy(checker(value))
    end
    assert.same({ nil, 'expected type "string", got "number"' }, { types.string(777) })
    assert.is_nil((types.integer(1.5)))
    assert.is_nil((types.array({ 1, x = 2 })))
  end)

  it("checks shapes and names what is wrong", function()
    local shape = types.shape { id = types.number, name = types.string:is_optional() }
    assert.is_true((shape({ id = 1 })))
    assert.is_true((shape({ id = 1, name = "x" })))
    assert.same('field "name": expected type "string", got "boolean"', (select(2, shape({ id = 1, name = true }))))
    assert.same('extra fields: "y"', (select(2, shape({ id = 1, y = 2 }))))
    assert.is_true((types.partial({ id = types.number })({ id = 1, y = 2 })))
    assert.is_nil((shape("x")))
  end)

  it("checks lists, maps, ranges, patterns and literals", function()
    assert.is_true((types.array_of(types.number)({ 1, 2 })))
    assert.same("array item 2: expected type \"number\", got \"string\"", (select(2, types.array_of(types.number)({ 1, "x" }))))
    assert.is_true((types.map_of(types.string, types.number)({ a = 1 })))
    assert.is_nil((types.map_of(types.string, types.number)({ a = "x" })))
    assert.is_true((types.range(1, 5)(3)))
    assert.is_nil((types.range(1, 5)(6)))
    assert.is_true((types.pattern("^%d+$")("123")))
    assert.is_nil((types.pattern("^%d+$")("12x")))
    assert.is_true((types.one_of({ "foot", "arm" })("arm")))
    assert.is_nil((types.one_of({ "foot", "arm" })("leg")))
    assert.is_true((types.literal("x")("x")))
    assert.is_true((types.array_contains(types.number)({ "x", 1 })))
    assert.is_true((types.equivalent({ 1, { 2 } })({ 1, { 2 } })))
  end)

  it("combines types", function()
    local both = types.pattern("^a") * types.pattern("b$")
    assert.is_true((both("ab")))
    assert.is_nil((both("a")))
    assert.is_true(((types.number + types.string)("x")))
    assert.is_nil(((types.number + types.string)({})))
    assert.is_nil(((-types.string)("x")))
    assert.is_true(((-types.string)(1)))
  end)

  it("transforms", function()
    local number = types.number + types.string / tonumber + types.any / 0
    assert.same({ 5, 7, 0 }, { number:transform(5), number:transform("7"), number:transform({}) })
    local list = types.array_of(types.string / string.upper)
    assert.same({ "A", "B" }, (list:transform({ "a", "b" })))
    local given = { name = "x" }
    local shape = types.shape { name = types.string / function(name) return name .. "!" end }
    assert.same({ name = "x!" }, (shape:transform(given)))
    assert.same({ name = "x" }, given)
  end)

  it("tags what it finds", function()
    local shape = types.shape { a = types.number:tag("x"), b = types.number:tag("y") }
    local value, found = shape:transform({ a = 1, b = 2 })
    assert.same({ { a = 1, b = 2 }, { x = 1, y = 2 } }, { value, found })
    local many = types.array_of(types.scope(types.shape { id = types.string:tag("name") }, { tag = "results[]" }))
    assert.same({ results = { { name = "a" }, { name = "b" } } }, (select(2, many:transform { { id = "a" }, { id = "b" } })))
  end)

  it("describes itself", function()
    assert.same('expected a name', (select(2, types.string:describe("a name")(1))))
    assert.same('expected type "string", or type "number"', (select(2, (types.string + types.number)({}))))
  end)
end)
