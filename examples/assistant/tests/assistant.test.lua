local app = require "sampan"
local t, json = app.t, app.json

local API = "POST http://127.0.0.1:8090/v1/chat/completions"

local function chunk(content) return "data: " .. json.encode { choices = { { delta = { content = content } } } } .. "\n\n" end

-- The events of an answer to a question: what was shown of it, and how it ended.
local function ask(question)
  local answer = t.post("/answer", { json = { messages = { { role = "user", content = question or "Hello" } } } })
  t.equal(answer.headers["content-type"], "text/event-stream")
  local shown, ends = "", {}
  for event in answer.body:gmatch("(.-)\n\n") do
    local data = json.decode(event:match("data: (.*)$"))
    local name = event:match("^event: (%a+)")
    if name then ends[#ends + 1] = name .. (data.text and ": " .. data.text or "") else shown = shown .. data.text end
  end
  return shown, ends
end

t.test("an answer is passed on, wherever its chunks end", function()
  local whole = chunk("Hel") .. ": a comment\n\n" .. chunk("lo Zürich\n\n2") .. "data: [DONE]\n\n"
  local middle = whole:find("Z") + 1 -- in the middle of a letter
  local mock = t.fetch_mock(API, { chunks = { whole:sub(1, 9), whole:sub(10, middle), whole:sub(middle + 1) } })
  local shown, ends = ask("Hello?")
  t.equal(shown, "Hello Zürich\n\n2")
  t.equal(ends, { "done" })
  local call = mock:calls()[1]
  t.equal(call.headers.authorization, "Bearer test-key")
  t.equal(call.json, { model = "test", stream = true, messages = { { role = "user", content = "Hello?" } } })
end)

t.test("errors of the API are told in words", function()
  for status, words in pairs {
    [401] = "does not accept the key", [429] = "too much to do", [500] = "cannot be reached",
  } do
    t.fetch_mock(API, { status = status, json = { error = { message = "private" } } })
    local shown, ends = ask()
    t.equal(shown, "")
    t.contains(ends[1], words)
    t.ok(not ends[1]:find("private"))
  end
end)

t.test("a server that is not there, or is too slow, is told", function()
  t.fetch_mock(API, { error = "connect" })
  t.equal({ ask() }, { "", { "fault: The model cannot be reached. Ask again later." } })
  t.fetch_mock(API, { error = "timeout" })
  t.equal({ ask() }, { "", { "fault: The model takes too long. Ask again later." } })
end)

t.test("an answer that breaks off is told, and its beginning shown", function()
  t.fetch_mock(API, { chunks = { chunk("Half an ") } })
  t.equal({ ask() }, { "Half an ", { "fault: The answer broke off. Ask again." } })
  t.fetch_mock(API, { chunks = { chunk("Half an "), "data: {}\n\ndata: {\"cho\n\n" } })
  local shown, ends = ask()
  t.equal(shown, "Half an ")
  t.contains(ends[1], "fault: ")
end)

t.test("a conversation has a form and a limit", function()
  local mock = t.fetch_mock(API, { chunks = {} })
  local many = {}
  for n = 1, 40 do many[n] = { role = "user", content = "Hello" } end
  for _, messages in ipairs {
    json.array {}, many, { { role = "system", content = "Hello" } }, { { role = "user", content = ("a"):rep(8001) } },
  } do
    t.equal(t.post("/answer", { json = { messages = messages } }).status, 422)
  end
  t.equal(mock:count(), 0)
end)
