import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { GeminiAgent, onlyFile, until } from "./agents.ts";
import { HAS_NEOVIM, Neovim } from "./neovim.ts";

const MESSAGES = "vim.fn.execute('messages')";

async function setUp(command?: readonly string[]) {
  const [home, workspace] = [temporaryDirectory(), temporaryDirectory()];
  putFile(home, "tmp/.keep", "");
  const given = command && { command };
  const neovim = await Neovim.start({ home, workspace, ...given });
  const directory = join(home, "tmp/gemini/ide");
  const connect = (): Promise<GeminiAgent> =>
    GeminiAgent.connect(onlyFile(directory));
  return { home, workspace, neovim, directory, connect };
}

describe.skipIf(!HAS_NEOVIM)("Neovim with the plugin", () => {
  it("keeps each byte of a proposal that the user does not change", async () => {
    const { workspace, neovim: opened, connect } = await setUp();
    await using neovim = opened;
    await neovim.listens();
    await using agent = await connect();
    const contents = [
      "",
      "\n",
      "no ending",
      "one\n",
      "one\r\ntwo\r\n",
      "one\r\ntwo",
      "mixed\r\nendings\n",
      "a\rb\n",
      "\n\n\n",
      "\ufeffmark\n",
      "nul \0 within\n",
      "\tü🎈\u001b[31m\n vim: set modifiable! shiftwidth=7 :\n",
      `${"x".repeat(1_000_000)}\ny`,
    ];
    for (const [index, newContent] of contents.entries()) {
      const filePath = join(workspace, `${index}.txt`);
      await agent.call("openDiff", { filePath, newContent });
      await neovim.diffOf(filePath);
      expect(await neovim.lua("vim.bo.shiftwidth")).toBe(8);
      await neovim.press("gg0i!<Esc>:w<CR>");
      const { params } = await until(() =>
        agent.heard.find(({ params }) => params.filePath === filePath),
      );
      // What an empty file gets ends as files do.
      const changed = newContent === "" ? "!\n" : `!${newContent}`;
      expect(params.content === changed, `content ${index}`).toBe(true);
      await neovim.showsNone();
    }
  });

  it("outlives paths and contents that are meant to harm it", async () => {
    const { workspace, neovim: opened, connect } = await setUp();
    await using neovim = opened;
    await neovim.listens();
    await using agent = await connect();
    const names = [
      "a\n:!touch pwned\n.txt",
      "%|!touch pwned",
      "`touch pwned`",
      "\u001b]0;title\u0007",
      "$HOME *?[a].txt",
      "'\"\\<CR>.txt",
    ];
    for (const name of names) {
      const filePath = join(workspace, name);
      const input = { filePath, newContent: "x\n" };
      expect(await agent.call("openDiff", input)).toMatchObject({ texts: [] });
      await neovim.shows("vim.fn.bufname()", /proposed/);
      await neovim.press(":w<CR>");
      const { method } = await until(() =>
        agent.heard.find(({ params }) => params.filePath === filePath),
      );
      expect(method).toBe("ide/diffAccepted");
      await neovim.showsNone();
    }
    expect(existsSync(join(workspace, "pwned"))).toBe(false);
    const half = { filePath: join(workspace, "h"), newContent: "\ud800" };
    expect((await agent.call("openDiff", half)).texts).toEqual([
      "the editor failed: what is proposed is not valid Unicode",
    ]);
  });

  it("starts its companion again when that dies, and keeps what the user typed", async () => {
    const { workspace, neovim: opened, directory, connect } = await setUp();
    await using neovim = opened;
    await neovim.listens();
    const agent = await connect();
    const first = onlyFile(directory);
    const [read, typed] = [join(workspace, "r"), join(workspace, "t")];
    for (const filePath of [read, typed]) {
      await agent.call("openDiff", { filePath, newContent: "x\n" });
      await neovim.diffOf(filePath);
    }
    await neovim.press("ggAy<Esc>");
    await neovim.shows("vim.fn.getline(1)", /^"xy"$/);
    process.kill(Number(first.ppid), "SIGKILL");
    await neovim.shows(MESSAGES, /companion has ended and is started again/);
    // The view that has nothing of the user is closed, the other one is not.
    await neovim.shows("vim.fn.tabpagenr('$')", /^2$/);
    await neovim.press(":w<CR>");
    await neovim.shows(MESSAGES, /nobody waits for this diff any more/);
    await neovim.press("<CR>:q!<CR>");
    await neovim.listens();
    expect(onlyFile(directory).port).not.toBe(first.port);
    await using again = await connect();
    const filePath = join(workspace, "again");
    await again.call("openDiff", { filePath, newContent: "x\n" });
    await neovim.diffOf(filePath);
    await neovim.press(":w<CR>");
    await until(() => again.last("ide/diffAccepted"));
    await agent[Symbol.asyncDispose]().catch(() => undefined);
  });

  it("says once that its companion dies, and gives up after five more", async () => {
    const broken = ["sh", "-c", "echo broken >&2; echo '{'; exit 3"];
    const { neovim: opened } = await setUp(broken);
    await using neovim = opened;
    await neovim.lua(
      "(function() vim.defer_fn = function(run) vim.schedule(run) end end)()",
    );
    const shown = await neovim.shows(MESSAGES, /ended 6 times/);
    expect(shown.match(/is started again/g)).toHaveLength(1);
    expect(await neovim.lua("require('devtool').status()")).toEqual([
      "The companion does not run: it ended with code 3: broken",
    ]);
  });

  it("says what to install when there is no companion", async () => {
    const { neovim: opened } = await setUp(["no-such-devtool"]);
    await using neovim = opened;
    await neovim.shows(
      MESSAGES,
      /no-such-devtool.* is not in PATH: install devtool, or set vim.g.devtool.command/,
    );
  });

  it("leaves nothing when it is killed, and no view that comes too late", async () => {
    const { home, workspace, neovim, directory, connect } = await setUp();
    await neovim.listens();
    await using agent = await connect();
    neovim.signal("SIGSTOP");
    const filePath = join(workspace, "late");
    const input = { filePath, newContent: "x" };
    expect((await agent.call("openDiff", input)).texts).toEqual([
      "the editor did not answer within 10000 ms: try again",
    ]);
    neovim.signal("SIGCONT");
    await neovim.shows("vim.tbl_count(vim.api.nvim_list_bufs())", /^1$/);
    expect((await agent.call("openDiff", input)).isError).toBe(false);
    await neovim.diffOf(filePath);
    neovim.signal("SIGKILL");
    const places = [
      directory,
      join(home, ".claude/ide"),
      join(home, ".qwen/ide"),
    ];
    await expect
      .poll(() => places.flatMap((each) => readdirSync(each)))
      .toEqual([]);
    await until(() => agent.last("ide/diffRejected"));
  });
});
