return function(text) return text:upper() .. "!" end
