local app = require "sampan"
return function(form, fields)
  local data, errors = {}, nil
  for name, rule in pairs(fields) do
    local value = (app.first(form[name]) or ""):match("^%s*(.-)%s*$")
    local fault
    if value == "" then fault = "check.required"
    elseif rule.pattern and not value:find(rule.pattern) then fault = rule.message
    elseif rule.date and not value:find("^%d%d%d%d%-%d%d%-%d%d$") then fault = "check.date"
    elseif rule.past and value > os.date("!%Y-%m-%d") then fault = "check.future"
    elseif rule.one_of then
      fault = rule.message
      for _, one in ipairs(rule.one_of()) do if one == value then fault = nil end end
    end
    if fault then errors = errors or {}; errors[name] = fault end
    data[name] = value
  end
  return data, errors
end
