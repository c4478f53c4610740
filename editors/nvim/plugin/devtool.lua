-- Commands, and the start of the companion where a user sees this Neovim.
if vim.g.loaded_devtool then
  return
end
vim.g.loaded_devtool = true

local function command(name, description, action)
  vim.api.nvim_create_user_command(name, function()
    action(require("devtool"))
  end, { desc = description })
end

command("DevtoolStart", "Start the companion for agents", function(devtool)
  devtool.start()
end)
command("DevtoolStop", "End the companion for agents", function(devtool)
  devtool.stop()
end)
command("DevtoolStatus", "Show how the companion works", function(devtool)
  vim.api.nvim_echo({ { table.concat(devtool.status(), "\n") } }, false, {})
end)
command("DevtoolAccept", "Accept the diff, as it is now", function(devtool)
  devtool.accept()
end)
command("DevtoolReject", "Reject the diff", function(devtool)
  devtool.reject()
end)

vim.api.nvim_create_autocmd("VimEnter", {
  group = vim.api.nvim_create_augroup("devtool_start", {}),
  once = true,
  callback = function()
    -- Scripts have no user.
    if #vim.api.nvim_list_uis() > 0 then
      vim.schedule(function()
        require("devtool").start()
      end)
    end
  end,
})
