local app = require "sampan"

local function shown(templates)
  local all = {}
  for at, template in ipairs(templates) do
    local ok, text = pcall(app.render_string, template, { d = "2026-11-22 14:05:09", n = 1234.5 })
    all[at] = ok and text or tostring(text):match("^[^\n]*"):gsub("^.-<string>:1: ", "")
  end
  return all
end

app.get("/taken", function()
  return shown {
    "{{ n|format_number }}", "{{ n|format_number(decimals=2) }}", "{{ n|format_number(currency='EUR', decimals=0) }}",
    "{{ d|format_date }}", "{{ d|format_date(time=false) }}", "{{ d|format_date(style='short', time=true, tz='UTC') }}",
    "{{ t('plain') }}", "{{ t('p', n=3) }}",
  }
end)
app.get("/refused", function()
  return shown {
    "{{ n|format_number(2) }}", "{{ n|format_number(2, currency='EUR') }}", "{{ n|format_number(decimal=2) }}",
    "{{ n|format_number(decimals='2') }}", "{{ d|format_date('long') }}", "{{ d|format_date(stile='long') }}",
    "{{ d|format_date(time='yes') }}", "{{ d|format_date(time=1) }}", "{{ t('p', 3) }}", "{{ t('plain', 3, n=3) }}",
  }
end)
