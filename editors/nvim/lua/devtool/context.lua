-- What the user sees: files, cursor, selection.
local positions = require("devtool.positions")

local M = {}

-- The files that are told, those that the user looked at last.
local MAX_FILES = 100
-- Agents get at most 16,384 characters of a selection.
local MAX_LINES = 16385
local MAX_BYTES = 4 * 16385

local BLOCK = "\22"

-- The file that the user looks at, or looked at before a terminal or a diff,
-- with its cursor and selection.
local active
-- A selection that was just left: it counts until the cursor moves.
local left

local function is_file(info)
  local is_named = info.name ~= "" and not info.name:match("^%a[%w+.-]*://")
  return is_named and vim.bo[info.bufnr].buftype == ""
end

-- Returns the bytes before the end of the character at a byte.
local function after(line, byte)
  if byte >= #line then
    return #line
  end
  return byte + 1 + vim.str_utf_end(line, byte + 1)
end

local function text_between(buffer, first, last)
  local rows = { first.row, math.min(last.row, first.row + MAX_LINES) }
  local lines = vim.api.nvim_buf_get_lines(buffer, rows[1], rows[2] + 1, false)
  if first.mode == BLOCK then
    local from, to = math.min(first.byte, last.byte), math.max(first.byte, last.byte)
    for index, line in ipairs(lines) do
      lines[index] = line:sub(from + 1, after(line, to))
    end
  elseif first.mode == "v" then
    if rows[2] == last.row then
      lines[#lines] = lines[#lines]:sub(1, after(lines[#lines], last.byte))
    end
    lines[1] = lines[1]:sub(first.byte + 1)
  end
  local ending = first.mode == "V" and "\n" or ""
  return (table.concat(lines, "\n") .. ending):sub(1, MAX_BYTES)
end

-- Returns the selection between two results of getpos().
local function selection(buffer, one, other, mode)
  local first = { row = one[2] - 1, byte = one[3] - 1, mode = mode }
  local last = { row = other[2] - 1, byte = other[3] - 1, mode = mode }
  if first.row > last.row or (first.row == last.row and first.byte > last.byte) then
    first, last = last, first
  end
  local line = vim.api.nvim_buf_get_lines(buffer, last.row, last.row + 1, false)[1] or ""
  local start, finish = first.byte, after(line, last.byte)
  if mode == "V" then
    start, finish = 0, #line
  end
  return {
    text = text_between(buffer, first, last),
    range = {
      start = positions.position(buffer, first.row, start),
      ["end"] = positions.position(buffer, last.row, finish),
    },
  }
end

local function place()
  return { vim.fn.bufnr(), vim.b.changedtick, vim.fn.line("."), vim.fn.col(".") }
end

-- Keeps a selection whose mode the user leaves, to go to the agent.
function M.mode_changed(old_mode)
  local mode = vim.fn.mode()
  local is_left = old_mode:match("^[vV\22]") and not mode:match("^[vV\22]")
  if is_left then
    left = { mode = old_mode:sub(1, 1), place = place(), from = vim.fn.getpos("'<"), to = vim.fn.getpos("'>") }
  end
end

local function see_active(buffer)
  local mode = vim.fn.mode()
  local seen
  if mode:match("^[vV\22]") then
    seen = selection(buffer, vim.fn.getpos("v"), vim.fn.getpos("."), mode)
  elseif left and vim.deep_equal(left.place, place()) then
    seen = selection(buffer, left.from, left.to, left.mode)
  else
    left = nil
    local at = positions.position(buffer, vim.fn.line(".") - 1, vim.fn.col(".") - 1)
    seen = { text = "", range = { start = at, ["end"] = at } }
  end
  seen.buffer = buffer
  return seen
end

local function open_file(info)
  local file = {
    path = info.name,
    focusedAtMs = info.lastused * 1000,
    isDirty = info.changed == 1,
    languageId = vim.bo[info.bufnr].filetype,
  }
  if active and active.buffer == info.bufnr then
    file.isActive = true
    file.selection = active.range
    file.selectedText = active.text
  end
  return file
end

-- Returns an `EditorState`.
function M.state()
  local infos = vim.tbl_filter(is_file, vim.fn.getbufinfo({ buflisted = 1 }))
  local current = vim.fn.bufnr()
  for _, info in ipairs(infos) do
    if info.bufnr == current then
      active = see_active(current)
    end
  end
  table.sort(infos, function(one, other)
    return one.lastused > other.lastused
  end)
  local open = {}
  for index = 1, math.min(#infos, MAX_FILES) do
    open[index] = open_file(infos[index])
  end
  return {
    workspaceFolders = { vim.fn.getcwd(-1, -1) },
    -- An empty table has no kind in JSON.
    context = #open > 0 and { openFiles = open } or nil,
  }
end

return M
