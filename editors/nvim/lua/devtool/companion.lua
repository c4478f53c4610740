-- The child process `devtool ide serve`: a message in JSON a line, as
-- `proto/devtool/ide/v1alpha/stdio.proto` of devtool describes them.
local M = {}

-- It is started again this often, after 1, 2, 4 … seconds; the count begins
-- again once it ran for a minute.
local MAX_RESTARTS = 5
local LONG_RUN_MS = 60000
-- How long Neovim waits for it at its own end.
local END_MS = 2000

local DEFAULT_COMMAND = { "devtool", "ide", "serve" }

local job
local state
local hooks
local restarts = 0
local last_error = ""
local why_not = "it was not started: :DevtoolStart"

local function say(text, level)
  vim.notify("devtool: " .. text, level or vim.log.levels.WARN)
end

local function set_environment(environment)
  for name, value in pairs(environment) do
    vim.env[name] = value
  end
end

local function take_state(new)
  set_environment(new.environment or {})
  for _, problem in ipairs(new.problems or {}) do
    if not (state and vim.tbl_contains(state.problems or {}, problem)) then
      say(problem)
    end
  end
  state = new
end

local function take(line)
  local ok, message = pcall(vim.json.decode, line)
  if not ok then
    say("a line of the companion cannot be read: " .. tostring(message))
  elseif message.state then
    take_state(message.state)
  elseif message.request then
    hooks.on_request(message.request)
  elseif message.problem then
    say("the companion cannot read a line: " .. message.problem.message)
  end
end

-- Returns a callback for the output of a job, which comes in pieces.
local function by_line(each)
  local pieces = {}
  return function(_, data)
    for index, piece in ipairs(data) do
      if index > 1 then
        local line = table.concat(pieces)
        pieces = {}
        if line ~= "" then
          each(line)
        end
      end
      table.insert(pieces, piece)
    end
  end
end

local spawn

local function ended(code, ran_ms)
  job, state = nil, nil
  hooks.on_end()
  restarts = ran_ms > LONG_RUN_MS and 1 or restarts + 1
  why_not = ("it ended with code %d: %s"):format(code, last_error)
  if restarts > MAX_RESTARTS then
    return say(
      ("the companion ended %d times, and is not started again. %s. :DevtoolStart starts it"):format(
        restarts,
        why_not
      )
    )
  end
  if restarts == 1 then
    say("the companion has ended and is started again. " .. why_not)
  end
  local of = hooks
  vim.defer_fn(function()
    if not job and hooks == of then
      spawn()
    end
  end, 1000 * 2 ^ (restarts - 1))
end

function spawn()
  local options = vim.g.devtool or {}
  local command = options.command or DEFAULT_COMMAND
  if vim.fn.executable(command[1]) == 0 then
    why_not = ('"%s" is not in PATH: install devtool, or set vim.g.devtool.command'):format(command[1])
    return say(why_not)
  end
  local began = vim.loop.now()
  last_error = "no message"
  local this
  this = vim.fn.jobstart(command, {
    on_stdout = by_line(take),
    on_stderr = by_line(function(line)
      last_error = line
    end),
    on_exit = function(_, code)
      if job == this then
        ended(code, vim.loop.now() - began)
      end
    end,
  })
  job = this
  M.send(vim.json.encode({
    hello = {
      name = "neovim",
      displayName = "Neovim",
      pid = vim.fn.getpid(),
      containerAddress = options.container_address,
    },
  }))
  hooks.on_start()
end

-- Starts it, unless it runs. `given` has on_start(), on_request(request), and
-- on_end(), called when it has ended by itself.
function M.start(given)
  if job then
    return
  end
  hooks, restarts = given, 0
  spawn()
end

-- Sends a line. Returns whether it runs.
function M.send(line)
  return job ~= nil and pcall(vim.fn.chansend, job, line .. "\n")
end

-- Ends it, and waits until it has removed its files.
function M.stop()
  local this = job
  if not this then
    return
  end
  for name in pairs(state and state.environment or {}) do
    vim.env[name] = nil
  end
  job, state, why_not = nil, nil, "it was stopped: :DevtoolStart"
  vim.fn.chanclose(this, "stdin")
  if vim.fn.jobwait({ this }, END_MS)[1] == -1 then
    vim.fn.jobstop(this)
  end
end

-- Returns the lines of a status.
function M.status()
  if not job then
    return { "The companion does not run: " .. why_not }
  end
  if not state then
    return { "The companion starts" }
  end
  local lines = {
    ("The companion listens at port %d: agents in terminals of this Neovim and below %s find it"):format(
      state.port,
      vim.fn.getcwd(-1, -1)
    ),
  }
  for _, problem in ipairs(state.problems or {}) do
    table.insert(lines, "  problem: " .. problem)
  end
  return lines
end

return M
