-- What wrk sends and how it reports, for `cargo xtask bench`.
--
-- Arguments after `--`: the method, the body (empty for none, `@` and a path for a file's), then header lines as
-- "Name: value".
-- The request is the same every time, so wrk formats it once and spends nothing on Lua while it measures.
-- With the method SEVERAL the second argument is a file with a request in each line, as "METHOD PATH BODY". They are formatted once
-- and sent in turn.

local function several(file)
  local requests, at = {}, 0
  for line in io.lines(file) do
    local method, path, body = line:match("^(%S+) (%S+) (.*)$")
    local headers = {}
    for name, value in pairs(wrk.headers) do headers[name] = value end
    if body ~= "" then headers["Content-Type"] = "application/json" end
    requests[#requests + 1] = wrk.format(method, path, headers, body ~= "" and body or nil)
  end
  function request()
    at = at % #requests + 1
    return requests[at]
  end
end

function init(args)
  local from_file = args[1] == "SEVERAL"
  wrk.method = from_file and "GET" or args[1]
  if from_file then
    wrk.body = nil
  elseif args[2]:sub(1, 1) == "@" then
    local file = assert(io.open(args[2]:sub(2), "rb"))
    wrk.body = file:read("*a")
    file:close()
  elseif args[2] ~= "" then
    wrk.body = args[2]
  end
  for i = 3, #args do
    local name, value = args[i]:match("^([^:]+): (.*)$")
    wrk.headers[name] = value
  end
  if from_file then several(args[2]) end
end

-- Times are in microseconds.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nSAMPAN {"requests":%d,"duration_us":%d,"p50_us":%d,"p90_us":%d,"p99_us":%d,'
      .. '"connect":%d,"read":%d,"write":%d,"timeout":%d,"status":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(90), latency:percentile(99),
    errors.connect, errors.read, errors.write, errors.timeout, errors.status))
end
