-- A stand-in for the API of a language model, for trying examples/assistant.   sampan run examples/assistant/model/app.lua
-- It speaks the protocol of OpenAI's chat completions, and answers with the words of the question.
local app = require "sampan"
local json, time = app.json, app.time

local KEY = "test-key"
local streams = 0 -- answers that are being sent

local function refuse(status, message, headers)
  return json({ error = { message = message, type = "invalid_request_error" } }, { status = status, headers = headers })
end

local function chunk(delta, finish_reason)
  local choice = { index = 0, delta = delta, finish_reason = finish_reason or app.null }
  return "data: " .. json.encode { object = "chat.completion.chunk", choices = json.array { choice } } .. "\n\n"
end

app.post("/v1/chat/completions", function(req)
  if req.headers.authorization ~= "Bearer " .. KEY then return refuse(401, "Incorrect API key provided.") end
  local call = req:json()
  local question = call.messages[#call.messages].content
  if question:find("too many") then return refuse(429, "Rate limit reached.", { ["retry-after"] = "20" }) end
  if not call.stream then return refuse(400, "This server only streams.") end
  local answer = question:find("long") and ("word "):rep(10000) or "You said: “" .. question .. "”. I only repeat it."

  return app.stream(function(write)
    streams = streams + 1
    local ok, err = pcall(function()
      write(chunk { role = "assistant", content = "" })
      for word in answer:gmatch("%S+%s*") do
        if word:find("break") then error("the model broke down") end
        write(chunk { content = word })
        time.sleep(0.05)
      end
      write(chunk({}, "stop"))
      write("data: [DONE]\n\n")
    end)
    streams = streams - 1
    if not ok then error(err, 0) end
  end, { headers = { ["content-type"] = "text/event-stream" } })
end)

app.get("/streams", function() return streams end)
