-- The companion of this Neovim: it tells agents what the user sees, and shows
-- what they propose.
local companion = require("devtool.companion")
local context = require("devtool.context")
local diff = require("devtool.diff")
local files = require("devtool.files")

local M = {}

-- The milliseconds in which changes are collected.
local DELAY_MS = 50

local EVENTS = {
  "BufAdd",
  "BufDelete",
  "BufEnter",
  "BufFilePost",
  "BufModifiedSet",
  "BufWritePost",
  "CursorMoved",
  "CursorMovedI",
  "DirChanged",
  "TextChanged",
  "TextChangedI",
}

local sent
local is_due = false

local function tell_state()
  is_due = false
  local line = vim.json.encode({ state = context.state() })
  if line ~= sent and companion.send(line) then
    sent = line
  end
end

local function state_changed()
  if not is_due then
    is_due = true
    vim.defer_fn(tell_state, DELAY_MS)
  end
end

-- What an agent wants, by its name in the message: each returns the fields of
-- the answer.
local requests = {
  openDiff = function(request, id)
    diff.open(id, request)
  end,
  closeDiff = function(request)
    return { content = diff.close(request.diffId) }
  end,
  diagnostics = function(request)
    return { diagnostics = files.diagnostics(request.path) }
  end,
  openFile = function(request)
    files.open(request)
  end,
  saveFile = function(request)
    return { isSaved = files.save(request.path) }
  end,
}

local function answer(request)
  for name, run in pairs(requests) do
    if request[name] then
      local ok, fields = pcall(run, request[name], request.id)
      local given = ok and fields or {}
      given.id = request.id
      given.error = not ok and (tostring(fields):gsub("^.-:%d+: ", "")) or nil
      return companion.send(vim.json.encode({ answer = given }))
    end
  end
end

local function follow_editor()
  local group = vim.api.nvim_create_augroup("devtool", {})
  vim.api.nvim_create_autocmd(EVENTS, { group = group, callback = state_changed })
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = group,
    callback = function()
      context.mode_changed(vim.v.event.old_mode)
      state_changed()
    end,
  })
  vim.api.nvim_create_autocmd("VimLeavePre", { group = group, callback = M.stop })
end

-- Starts the companion, unless it runs.
function M.start()
  diff.on_end = function(id, decision, content)
    local outcome = { decision = decision, content = content }
    local ended = { diffId = id, outcome = outcome }
    companion.send(vim.json.encode({ diffEnded = ended }))
  end
  follow_editor()
  companion.start({
    on_start = function()
      sent = nil
      tell_state()
    end,
    on_request = answer,
    on_end = diff.abandon,
  })
end

-- Ends the companion. Diffs that are open count as closed.
function M.stop()
  vim.api.nvim_create_augroup("devtool", {})
  diff.close_all()
  companion.stop()
end

-- Returns what :DevtoolStatus shows, line by line.
function M.status()
  local lines = companion.status()
  for _, path in ipairs(diff.paths()) do
    table.insert(lines, "  diff of " .. path)
  end
  return lines
end

M.accept = diff.accept
M.reject = diff.reject

return M
