function dispatch(input)
  return input
end
