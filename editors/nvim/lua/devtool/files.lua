-- What agents ask of files: diagnostics, showing and saving them.
local positions = require("devtool.positions")

local M = {}

-- Returns the buffer of a path; nil when it is not open.
function M.buffer_of(path)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(buffer) == path and vim.bo[buffer].buftype == "" then
      return buffer
    end
  end
end

local function diagnostic(each)
  return {
    message = each.message,
    -- Both count from error (1) to hint (4).
    severity = each.severity,
    source = each.source,
    code = each.code ~= nil and tostring(each.code) or nil,
    range = {
      start = positions.position(each.bufnr, each.lnum, each.col),
      ["end"] = positions.position(each.bufnr, each.end_lnum or each.lnum, each.end_col or each.col),
    },
  }
end

-- Returns the diagnostics of a file, or of all: nil for none.
function M.diagnostics(path)
  local buffer = path and M.buffer_of(path)
  if path and not buffer then
    return nil
  end
  local by_buffer = {}
  for _, each in ipairs(vim.diagnostic.get(buffer)) do
    by_buffer[each.bufnr] = by_buffer[each.bufnr] or {}
    table.insert(by_buffer[each.bufnr], diagnostic(each))
  end
  local reports = {}
  for bufnr, found in pairs(by_buffer) do
    local name = vim.api.nvim_buf_get_name(bufnr)
    table.insert(reports, { path = name, diagnostics = found })
  end
  return #reports > 0 and reports or nil
end

-- Goes to a window in which a file can be shown.
local function go_to_window(buffer)
  local shown = buffer and vim.fn.win_findbuf(buffer)[1]
  if shown then
    return vim.api.nvim_set_current_win(shown)
  end
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local is_plain = vim.bo[vim.api.nvim_win_get_buf(window)].buftype == ""
    if is_plain and vim.api.nvim_win_get_config(window).relative == "" then
      return vim.api.nvim_set_current_win(window)
    end
  end
  vim.cmd("tab split")
end

local function select(range)
  local function go(position)
    local row = math.min((position.line or 0) + 1, vim.fn.line("$"))
    local line = vim.fn.getline(row)
    vim.api.nvim_win_set_cursor(0, { row, positions.to_bytes(line, position.character or 0) })
  end
  local start, finish = range.start or {}, range["end"] or {}
  go(start)
  if vim.deep_equal(start, finish) then
    return
  end
  vim.cmd("normal! v")
  go(finish)
  -- The end is behind the last character.
  vim.fn.search(".", "bW")
end

-- Shows a file and selects a part of it.
function M.open(request)
  local path = vim.fn.fnameescape(request.path)
  if not request.isFocused then
    return vim.cmd("badd " .. path)
  end
  local buffer = M.buffer_of(request.path)
  go_to_window(buffer)
  if vim.fn.bufnr() ~= buffer then
    vim.cmd("edit " .. path)
  end
  if request.range then
    select(request.range)
  end
end

-- Saves a file. Returns whether it is open.
function M.save(path)
  local buffer = M.buffer_of(path)
  if not buffer or not vim.api.nvim_buf_is_loaded(buffer) then
    return false
  end
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd("silent update")
  end)
  return true
end

return M
