-- Places in lines: Neovim counts bytes, agents count UTF-16 code units.
local M = {}

local function units(byte)
  if byte >= 0x80 and byte < 0xC0 then
    return 0
  end
  return byte >= 0xF0 and 2 or 1
end

-- Returns the UTF-16 code units in the first bytes of a line.
function M.to_utf16(line, bytes)
  local count = 0
  for index = 1, math.min(bytes, #line) do
    count = count + units(line:byte(index))
  end
  return count
end

-- Returns the number of bytes before a character, which is given by the number
-- of UTF-16 code units before it.
function M.to_bytes(line, character)
  local count = 0
  for index = 1, #line do
    local unit = units(line:byte(index))
    if unit > 0 and count >= character then
      return index - 1
    end
    count = count + unit
  end
  return #line
end

-- Returns a position for agents, from a line and a byte that count from 0.
function M.position(buffer, row, bytes)
  local line = ""
  if vim.api.nvim_buf_is_loaded(buffer) then
    line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ""
  end
  return { line = row, character = M.to_utf16(line, bytes) }
end

return M
