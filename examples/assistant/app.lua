-- Assistant: a page that shows the answer of a language model as it comes.   sampan dev examples/assistant/app.lua
local app = require "sampan"
local env, json, log = app.env, app.json, app.log

-- Any API with the protocol of OpenAI's chat completions. Without these variables it is the one in model/.
local URL = env.get("ASSISTANT_URL") or "http://127.0.0.1:8090/v1"
local KEY = env.get("ASSISTANT_KEY") or "test-key"
local MODEL = env.get("ASSISTANT_MODEL") or "test"
local TIMEOUT = { head = "60s", idle = "30s", total = "5min" }

-- The most messages of a conversation, and the most characters of one.
local MESSAGES_MAX, CHARS_MAX = 39, 8000
local CONVERSATION = {
  messages = { type = "list", required = true, max = MESSAGES_MAX, items = { type = "object", fields = {
    role = { required = true, enum = { "user", "assistant" } },
    content = { required = true, max = CHARS_MAX },
  } } },
}

-- What users can do about an error, by the status of the answer or the code of the error. The log has the cause.
local BROKEN = "The answer broke off. Ask again."
local ADVICE = {
  [401] = "The model does not accept the key of this site. Tell the people who run it.",
  [429] = "The model has too much to do. Ask again in a minute.",
  fetch_closed = BROKEN,
  fetch_timeout = "The model takes too long. Ask again later.",
}
local function advice(cause) return ADVICE[cause] or "The model cannot be reached. Ask again later." end

app.use(app.secure_headers { csp = "default-src 'self'" })
app.use("/answer", app.rate_limit { limit = 20, per = 60 }) -- each answer costs money

app.get("/", function(req)
  return req:render("page.html", { messages_max = MESSAGES_MAX, chars_max = CHARS_MAX })
end)

-- Calls `fn` with the data of each event, until it returns true. A chunk may end in the middle of a line.
local function each_event(res, fn)
  local rest = ""
  for chunk in res:chunks() do
    rest = rest .. chunk
    for line in rest:gmatch("([^\n]*)\n") do
      local data = line:match("^data: ?(.-)\r?$")
      if data and fn(data) then return true end
    end
    rest = rest:match("[^\n]*$")
  end
end

-- Passes an answer on, piece by piece. When the visitor leaves, its waits fail, and the request to the model ends.
local function answer(events, messages)
  local res = app.fetch(URL .. "/chat/completions", {
    headers = { authorization = "Bearer " .. KEY },
    json = { model = MODEL, messages = messages, stream = true },
    stream = true, timeout = TIMEOUT,
  })
  if res.status ~= 200 then
    log.warn("the model refused", { status = res.status, answer = res:text():sub(1, 500) })
    return events:send { event = "fault", data = { text = advice(res.status) } }
  end
  local is_whole = each_event(res, function(data)
    if data == "[DONE]" then return true end
    local choices = json.decode(data).choices
    local text = choices and choices[1] and choices[1].delta.content
    if type(text) == "string" and text ~= "" then events:send { data = { text = text } } end
  end)
  if is_whole then return events:send { event = "done", data = {} } end
  log.warn("the answer of the model has no end")
  events:send { event = "fault", data = { text = BROKEN } }
end

app.post("/answer", function(req)
  local typed, errors = app.validate(req:json(), CONVERSATION)
  if errors then return json({ errors = errors }, 422) end
  return app.sse(function(events)
    local ok, err = pcall(answer, events, typed.messages)
    if ok then return end
    if err.code == "cancelled" then error(err, 0) end -- the visitor has left
    log.warn("no answer of the model", { error = tostring(err), code = err.code })
    events:send { event = "fault", data = { text = advice(err.code) } }
  end)
end)
