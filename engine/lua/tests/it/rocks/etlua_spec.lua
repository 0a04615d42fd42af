-- What etlua's README promises, with the cases that its own spec (in MoonScript) names.
local etlua = require "etlua"

describe("etlua", function()
  it("renders text, code and values", function()
    assert.same("plain", etlua.render("plain"))
    assert.same("Hello Ada!", etlua.render("Hello <%= name %>!", { name = "Ada" }))
    assert.same("[1][2][3]", etlua.render("<% for i = 1, 3 do %>[<%= i %>]<% end %>"))
  end)

  it("escapes what <%= gives and not what <%- gives", function()
    assert.same("&lt;b&gt; &amp; <b>", etlua.render("<%= html %> &amp; <%- html %>", { html = "<b>" }))
  end)

  it("knows the end of a tag from text that looks like it", function()
    assert.same("a%&gt;b", etlua.render("<%= 'a%>b' %>"))
    assert.same("a%>b", etlua.render("<%- [==[a%>b]==] %>"))
  end)

  it("drops the line end after -%>", function()
    assert.same("ab", etlua.render("<%= 'a' -%>\nb"))
  end)

  it("sees globals, and its own values first", function()
    assert.same("number mine", etlua.render("<%= type(1) %> <%= print %>", { print = "mine" }))
  end)

  it("keeps what a template sets out of the globals", function()
    assert.same("5", etlua.render("<% leaked = 5 %><%= leaked %>"))
    assert.is_nil(rawget(_G, "leaked"))
  end)

  it("tells the line of a mistake", function()
    for _, wrong in ipairs { "one\n<%= if x %>", "one\n<% howdy doody %>", "one\n<%= open" } do
      local compiled, message = etlua.compile(wrong)
      assert.is_nil(compiled)
      assert.is_truthy(message:find("[2]", 1, true))
    end
  end)

  it("compiles once and renders often, each with its own environment", function()
    local template = etlua.compile("<%= n %>")
    assert.same("1", template({ n = 1 }))
    assert.same("2", template({ n = 2 }))
  end)

  it("appends to a buffer that it is given", function()
    local template = etlua.compile("b<%= 'c' %>")
    local buffer = { "a" }
    assert.same("abc", template({}, buffer, #buffer))
  end)

  it("runs templates of one parser one after the other", function()
    local parser, buffer = etlua.Parser(), {}
    for _, text in ipairs { "Hello ", "World" } do
      parser:run(parser:load(parser:compile_to_lua(text)), nil, buffer, #buffer)
    end
    assert.same("Hello World", table.concat(buffer))
  end)
end)
