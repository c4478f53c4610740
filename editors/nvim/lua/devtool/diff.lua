-- Diffs in a tab: what the file has now, and what an agent proposes, which the
-- user may change. Writing it accepts it, closing it rejects it.
local files = require("devtool.files")

local M = {}

local ACCEPTED = "DIFF_DECISION_ACCEPTED"
local REJECTED = "DIFF_DECISION_REJECTED"
local CLOSED = "DIFF_DECISION_CLOSED"

-- How often, each half a second, Neovim looks whether the agent has written an
-- accepted file.
local LOOKS = 10

-- The diffs that wait for the user, by their ids.
local diffs = {}

-- Called when a diff has ended, with its id, the decision and the content.
M.on_end = nil

-- Returns the lines of a content, and how it is written: the ending of lines,
-- and whether the last one has it.
local function lines_of(content)
  local dos = content:find("\r\n", 1, true) and not content:gsub("\r\n", ""):find("\n", 1, true)
  local ending = dos and "\r\n" or "\n"
  local has_end = content:sub(-#ending) == ending
  local text = has_end and content:sub(1, -#ending - 1) or content
  return vim.split(text, ending, { plain = true }), { dos = dos, has_end = has_end }
end

local function fill(buffer, content)
  local lines, form = lines_of(content)
  local levels = vim.bo[buffer].undolevels
  vim.bo[buffer].undolevels = -1
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].undolevels = levels
  vim.bo[buffer].fileformat = form.dos and "dos" or "unix"
  vim.bo[buffer].fixendofline = false
  vim.bo[buffer].endofline = form.has_end
  vim.bo[buffer].modified = false
end

-- Returns the content of a diff as it is now, byte by byte.
local function content_of(diff)
  local buffer = diff.proposed
  if not vim.bo[buffer].modified then
    return diff.content
  end
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  if #lines == 1 and lines[1] == "" then
    return ""
  end
  local ending = vim.bo[buffer].fileformat == "dos" and "\r\n" or "\n"
  -- What an empty file gets ends as files do.
  local has_end = vim.bo[buffer].endofline or diff.content == ""
  return table.concat(lines, ending) .. (has_end and ending or "")
end

local function present_content(path)
  local buffer = files.buffer_of(path)
  if buffer and vim.api.nvim_buf_is_loaded(buffer) then
    return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n") .. "\n"
  end
  local file = io.open(path, "rb")
  local content = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return content
end

-- Syntax alone: no program is to run for what an agent proposes.
local function syntax_of(path)
  local buffer = files.buffer_of(path)
  if buffer and vim.bo[buffer].filetype ~= "" then
    return vim.bo[buffer].filetype
  end
  local ok, filetype = pcall(vim.filetype.match, { filename = path })
  return ok and filetype or ""
end

local function new_buffer(name, kind, content)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  fill(buffer, content)
  vim.bo[buffer].buftype = kind
  vim.api.nvim_buf_set_name(buffer, name)
  vim.bo[buffer].modified = false
  return buffer
end

-- Looks for what the agent writes, as long as it may take.
local function reload(path)
  vim.fn.timer_start(500, function()
    local buffer = files.buffer_of(path)
    if buffer and vim.api.nvim_buf_is_loaded(buffer) and not vim.bo[buffer].modified then
      vim.cmd("silent! checktime " .. buffer)
    end
  end, { ["repeat"] = LOOKS })
end

local function close_view(diff)
  for _, buffer in ipairs({ diff.proposed, diff.present }) do
    if vim.api.nvim_buf_is_valid(buffer) then
      pcall(vim.api.nvim_buf_delete, buffer, { force = true })
    end
  end
  if diff.is_entered and vim.api.nvim_win_is_valid(diff.back) then
    pcall(vim.api.nvim_set_current_win, diff.back)
  end
end

local function finish(id, decision)
  local diff = diffs[id]
  if not diff then
    return
  end
  local content = decision == ACCEPTED and content_of(diff) or nil
  diffs[id] = nil
  diff.is_entered = vim.api.nvim_get_current_tabpage() == diff.tab
  M.on_end(id, decision, content)
  if vim.api.nvim_buf_is_valid(diff.proposed) then
    vim.bo[diff.proposed].modified = false
  end
  if decision == ACCEPTED then
    reload(diff.path)
  end
  -- Not within the command that ends it.
  vim.schedule(function()
    close_view(diff)
  end)
end

local function follow(id, diff)
  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { buffer = diff.proposed, callback = callback })
  end
  on("BufWriteCmd", function(event)
    if event.match ~= vim.api.nvim_buf_get_name(diff.proposed) then
      error(":w without a name accepts the diff", 0)
    elseif not diffs[id] then
      error("nobody waits for this diff any more: the companion has ended", 0)
    end
    finish(id, ACCEPTED)
  end)
  -- :e! begins again.
  on("BufReadCmd", function()
    fill(diff.proposed, diff.content)
  end)
  on("BufWipeout", function()
    finish(id, CLOSED)
  end)
  -- They would close what is not changed yet without accepting it.
  vim.api.nvim_buf_set_keymap(diff.proposed, "n", "ZZ", "<Cmd>DevtoolAccept<CR>", { noremap = true })
end

-- Opens a diff. In other modes than normal and terminal it opens behind what
-- the user does.
function M.open(id, request)
  local mode = vim.fn.mode()
  local path, content = request.path, request.content or ""
  local diff = {
    path = path,
    content = content,
    back = vim.api.nvim_get_current_win(),
    present = new_buffer(("devtool://present/%d%s"):format(id, path), "nofile", present_content(path)),
    proposed = new_buffer(("devtool://proposed/%d%s"):format(id, path), "acwrite", content),
  }
  vim.bo[diff.present].modifiable = false
  vim.cmd("tab sbuffer " .. diff.present)
  vim.cmd("diffthis")
  vim.cmd("rightbelow vertical sbuffer " .. diff.proposed)
  vim.cmd("diffthis")
  diff.tab = vim.api.nvim_get_current_tabpage()
  for _, buffer in ipairs({ diff.present, diff.proposed }) do
    vim.bo[buffer].syntax = syntax_of(path)
  end
  diffs[id] = diff
  follow(id, diff)
  if mode ~= "n" and mode ~= "t" then
    vim.api.nvim_set_current_win(diff.back)
  end
  local name = vim.fn.fnamemodify(path, ":t"):gsub("%c", "?")
  vim.api.nvim_echo({ { ("diff of %s: :w accepts, :q rejects"):format(name) } }, false, {})
end

-- Closes a diff that an agent does not need any more. Returns its content as
-- the user has changed it.
function M.close(id)
  local diff = diffs[id]
  if not diff then
    error("this diff is not open", 0)
  end
  local content = content_of(diff)
  finish(id, CLOSED)
  return content
end

function M.close_all()
  for id in pairs(vim.deepcopy(diffs)) do
    finish(id, CLOSED)
  end
end

-- Closes the diffs of a companion that has ended. What the user has changed
-- stays.
function M.abandon()
  for _, diff in pairs(diffs) do
    if not vim.bo[diff.proposed].modified then
      close_view(diff)
    end
  end
  diffs = {}
end

-- Returns the id of the diff that the user means.
local function meant()
  local buffer = vim.fn.bufnr()
  for id, diff in pairs(diffs) do
    if diff.proposed == buffer or diff.present == buffer then
      return id
    end
  end
  local ids = vim.tbl_keys(diffs)
  if #ids ~= 1 then
    local why = #ids == 0 and "no diff is open" or "several diffs are open: go to one"
    vim.notify("devtool: " .. why, vim.log.levels.ERROR)
    return nil
  end
  return ids[1]
end

function M.accept()
  finish(meant(), ACCEPTED)
end

function M.reject()
  finish(meant(), REJECTED)
end

-- Returns the paths of the diffs that are open.
function M.paths()
  local paths = {}
  for _, diff in pairs(diffs) do
    table.insert(paths, diff.path)
  end
  table.sort(paths)
  return paths
end

return M
