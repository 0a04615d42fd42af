require "sampan"
