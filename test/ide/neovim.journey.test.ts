import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { objectOrEmpty } from "@devtool/internal/json";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { ClaudeAgent, GeminiAgent, onlyFile, until } from "./agents.ts";
import { HAS_NEOVIM, Neovim } from "./neovim.ts";

/** A Neovim in a workspace with a file, and how agents reach it. */
async function setUp() {
  const [home, workspace] = [temporaryDirectory(), temporaryDirectory()];
  putFile(workspace, "a.txt", "one\nzwei ü🎈 x\nthree\n");
  putFile(home, "tmp/.keep", "");
  const neovim = await Neovim.start({ home, workspace });
  await neovim.listens();
  const directory = join(home, "tmp/gemini/ide");
  const gemini = (): Promise<GeminiAgent> =>
    GeminiAgent.connect(onlyFile(directory));
  const claude = (): Promise<ClaudeAgent> => {
    const { port, authToken } = onlyFile(directory);
    return ClaudeAgent.connect(Number(port), String(authToken));
  };
  return { home, workspace, neovim, directory, gemini, claude };
}

describe.skipIf(!HAS_NEOVIM)("Neovim with the plugin", () => {
  it("tells agents what the user sees, and does what they ask", async () => {
    const {
      home,
      workspace,
      neovim: opened,
      directory,
      ...agents
    } = await setUp();
    await using stack = new AsyncDisposableStack();
    const neovim = stack.use(opened);
    const path = join(workspace, "a.txt");
    await using gemini = await agents.gemini();
    using claude = await agents.claude();
    const file = (): Record<string, unknown> => {
      const state = gemini.last("ide/contextUpdate")?.params.workspaceState;
      const { openFiles } = objectOrEmpty(state);
      return objectOrEmpty(Array.isArray(openFiles) ? openFiles[0] : {});
    };

    await neovim.press(`:edit ${path}<CR>jfx`);
    // `ü` is one UTF-16 code unit, the balloon is two.
    await expect.poll(file).toMatchObject({
      path,
      isActive: true,
      cursor: { line: 2, character: 10 },
    });
    await neovim.press("gg0vj");
    await until(() => (file().selectedText === "one\nz" ? true : undefined));
    // A selection that was just left is still what the user speaks of.
    await neovim.press("<Esc>gg0Vj<Esc>");
    await until(() =>
      file().selectedText === "one\nzwei ü🎈 x\n" ? true : undefined,
    );
    await neovim.press("G");
    await until(() => (file().selectedText === undefined ? true : undefined));

    await neovim.press("Afour<Esc>");
    const dirty = async (): Promise<unknown> =>
      (await claude.call("checkDocumentDirty", { filePath: path })).texts[0];
    await expect.poll(dirty).toContain('"isDirty":true');
    await claude.call("saveDocument", { filePath: path });
    expect(readFileSync(path, "utf8")).toBe("one\nzwei ü🎈 x\nthreefour\n");
    await expect.poll(dirty).toContain('"isDirty":false');

    await neovim.lua(
      `vim.diagnostic.set(vim.api.nvim_create_namespace("t"), 0, {{ lnum = 1, col = 5, end_lnum = 1, end_col = 7, message = "no ü", severity = 2, source = "lint", code = 7 }})`,
    );
    const { texts } = await claude.call("getDiagnostics", {});
    expect(JSON.parse(String(texts[0]))).toEqual([
      {
        uri: `file://${path}`,
        diagnostics: [
          {
            message: "no ü",
            severity: "Warning",
            range: {
              start: { line: 1, character: 5 },
              end: { line: 1, character: 6 },
            },
            source: "lint",
            code: "7",
          },
        ],
      },
    ]);

    putFile(workspace, "b c.txt", "alpha\nbeta gamma\n");
    const other = join(workspace, "b c.txt");
    await claude.call("openFile", {
      filePath: other,
      startText: "beta",
      endText: "gamma",
    });
    await until(() => (file().path === other ? true : undefined));
    await until(() => (file().selectedText === "beta gamma" ? 1 : undefined));

    expect(await neovim.lua("vim.env.GEMINI_CLI_IDE_SERVER_PORT")).toBe(
      String(onlyFile(directory).port),
    );
    expect(await neovim.lua("vim.env.GEMINI_CLI_IDE_PID")).toBe(
      String(neovim.pid),
    );
    await stack.disposeAsync();
    const places = [directory, join(home, ".claude/ide")];
    await expect
      .poll(() => places.flatMap((each) => readdirSync(each)))
      .toEqual([]);
  });

  it("shows proposals as diffs, which the user accepts, changes, rejects or closes", async () => {
    const { workspace, neovim: opened, ...agents } = await setUp();
    await using neovim = opened;
    await using gemini = await agents.gemini();
    using claude = await agents.claude();
    const path = join(workspace, "a.txt");
    await neovim.press(`:edit ${path}<CR>`);
    const proposed = "one\nzwei\nthree\n";
    const propose = async (filePath: string): Promise<void> => {
      const input = { filePath, newContent: proposed };
      expect((await gemini.call("openDiff", input)).isError).toBe(false);
      await neovim.diffOf(filePath);
    };
    const outcome = async (filePath: string): Promise<unknown> => {
      const heard = await until(() =>
        gemini.heard.find(({ params }) => params.filePath === filePath),
      );
      gemini.heard.length = 0;
      return [heard.method, heard.params.content];
    };

    await propose(path);
    expect(await neovim.lua("vim.wo.diff")).toBe(true);
    await neovim.press(":w<CR>");
    expect(await outcome(path)).toEqual(["ide/diffAccepted", proposed]);
    await neovim.showsNone();
    // The agent writes the file, and its buffer follows.
    writeFileSync(path, proposed);
    await neovim.shows("vim.fn.getline(2)", /^"zwei"$/);

    await propose(path);
    await neovim.press("GAvier ü<Esc>:DevtoolAccept<CR>");
    expect(await outcome(path)).toEqual([
      "ide/diffAccepted",
      "one\nzwei\nthreevier ü\n",
    ]);
    const fresh = join(workspace, "new.txt");
    for (const keys of [":q<CR>", ":DevtoolReject<CR>", ":tabclose<CR>"]) {
      await propose(fresh);
      await neovim.press(keys);
      expect(await outcome(fresh)).toEqual(["ide/diffRejected", undefined]);
      await neovim.showsNone();
    }
    for (const keys of ["ZZ", "ggdd:wq<CR>"]) {
      await propose(fresh);
      await neovim.press(keys);
      const content = keys === "ZZ" ? proposed : "zwei\nthree\n";
      expect(await outcome(fresh)).toEqual(["ide/diffAccepted", content]);
      await neovim.showsNone();
    }

    // The agent's own terminal was faster: it gets what the user typed so far.
    await propose(fresh);
    await neovim.press("ggcwuno<Esc>");
    await neovim.shows("vim.fn.getline(1)", /^"uno"$/);
    expect(await gemini.call("closeDiff", { filePath: fresh })).toEqual({
      isError: false,
      texts: [JSON.stringify({ content: "uno\nzwei\nthree\n" })],
    });
    await neovim.showsNone();

    const blocking = claude.call("openDiff", {
      old_file_path: path,
      new_file_path: path,
      new_file_contents: proposed,
      tab_name: "t",
    });
    await neovim.diffOf(path);
    await neovim.press(":w<CR>");
    expect((await blocking).texts).toEqual(["FILE_SAVED", proposed]);
    expect(existsSync(fresh)).toBe(false);
  });
});
