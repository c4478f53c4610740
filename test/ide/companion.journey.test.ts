import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type Companion,
  DiagnosticSeverity,
  startCompanion,
} from "@devtool/ide";
import { ScriptedEditor } from "@devtool/ide/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { ClaudeAgent, GeminiAgent, onlyFile, until } from "./agents.ts";

/** A companion with a home of its own. */
async function setUp() {
  const [home, workspace] = [temporaryDirectory(), temporaryDirectory()];
  const editor = new ScriptedEditor(workspace);
  const env = { HOME: home, TMPDIR: join(home, "tmp") };
  const start = (): Promise<Companion> =>
    startCompanion(editor, { env, editorPid: 4242 });
  const companion = await start();
  const directories = {
    gemini: join(home, "tmp/gemini/ide"),
    qwen: join(home, ".qwen/ide"),
    claude: join(home, ".claude/ide"),
  };
  const gemini = (): Promise<GeminiAgent> =>
    GeminiAgent.connect(onlyFile(directories.gemini));
  const claude = (): Promise<ClaudeAgent> =>
    ClaudeAgent.connect(
      companion.port,
      String(onlyFile(directories.claude).authToken),
    );
  return { workspace, editor, companion, start, directories, gemini, claude };
}

describe("a companion", () => {
  it("writes files that only their owner can read, and removes them", async () => {
    const { workspace, companion, directories } = await setUp();
    const { port, environment } = companion;
    const token = environment.GEMINI_CLI_IDE_AUTH_TOKEN;
    const shared = {
      port,
      workspacePath: workspace,
      authToken: token,
      ideInfo: { name: "scripted", displayName: "Scripted Editor" },
      ideName: "Scripted Editor",
      ppid: process.pid,
    };
    const expected = [
      ["gemini", `gemini-ide-server-4242-${port}.json`, shared],
      ["qwen", `${port}.lock`, shared],
      [
        "claude",
        `${port}.lock`,
        {
          pid: 4242,
          workspaceFolders: [workspace],
          ideName: "Scripted Editor",
          transport: "ws",
          authToken: token,
        },
      ],
    ] as const;
    for (const [agent, name, content] of expected) {
      const directory = directories[agent];
      expect(readdirSync(directory)).toEqual([name]);
      const path = join(directory, name);
      expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(content);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(statSync(directory).mode & 0o777).toBe(0o700);
    }
    expect(environment).toEqual({
      GEMINI_CLI_IDE_SERVER_PORT: String(port),
      GEMINI_CLI_IDE_WORKSPACE_PATH: workspace,
      GEMINI_CLI_IDE_AUTH_TOKEN: token,
      GEMINI_CLI_IDE_PID: "4242",
      QWEN_CODE_IDE_SERVER_PORT: String(port),
      QWEN_CODE_IDE_WORKSPACE_PATH: workspace,
      CLAUDE_CODE_SSE_PORT: String(port),
      ENABLE_IDE_INTEGRATION: "true",
    });
    await companion.close();
    for (const directory of Object.values(directories)) {
      expect(readdirSync(directory)).toEqual([]);
    }
  });

  it("tells each agent the context in its own words, and what changes", async () => {
    const { workspace, editor, companion, gemini, claude } = await setUp();
    const path = join(workspace, "a.ts");
    editor.show({
      isTrusted: true,
      openFiles: [
        { path: join(workspace, "old.ts"), focusedAtMs: 1 },
        {
          path,
          focusedAtMs: 2,
          isActive: true,
          selectedText: "let",
          selection: {
            start: { line: 0, character: 0 },
            end: { line: 0, character: 3 },
          },
        },
      ],
    });
    await using one = await gemini();
    using other = await claude();
    const { params } = await until(() => one.last("ide/contextUpdate"));
    expect(params).toEqual({
      workspaceState: {
        isTrusted: true,
        openFiles: [
          {
            path,
            timestamp: 2,
            isActive: true,
            cursor: { line: 1, character: 4 },
            selectedText: "let",
            isDirty: false,
          },
          {
            path: join(workspace, "old.ts"),
            timestamp: 1,
            isActive: false,
            isDirty: false,
          },
        ],
      },
    });
    const selection = await until(() => other.last("selection_changed"));
    expect(selection.params).toEqual({
      text: "let",
      filePath: path,
      fileUrl: pathToFileURL(path).href,
      selection: {
        start: { line: 0, character: 0 },
        end: { line: 0, character: 3 },
        isEmpty: false,
      },
    });
    editor.show({
      openFiles: [{ path, isActive: true, selectedText: "x".repeat(20_000) }],
    });
    const cut = await until(() => {
      const { text } = other.last("selection_changed")?.params ?? {};
      return typeof text === "string" && text.startsWith("x")
        ? text
        : undefined;
    });
    expect(cut.length).toBe(16_384);
    expect(cut.endsWith("… [cut]")).toBe(true);
    await companion.close();
  });

  it("gives Gemini CLI the answer to a diff as a notification", async () => {
    const { workspace, editor, companion, gemini } = await setUp();
    await using agent = await gemini();
    const filePath = join(workspace, "a.ts");
    const propose = async (newContent: string) => {
      const before = agent.heard.length;
      expect(await agent.call("openDiff", { filePath, newContent })).toEqual({
        texts: [],
        isError: false,
      });
      const view = editor.diffs.at(-1);
      if (!view) throw new Error("no diff was shown");
      const answer = (): Promise<unknown> =>
        until(() =>
          agent.heard.slice(before).find(({ method }) => /diff/.test(method)),
        );
      return { view, answer };
    };

    const accepted = await propose("one\n");
    accepted.view.draft = "one, changed\n";
    accepted.view.accept();
    expect(await accepted.answer()).toEqual({
      method: "ide/diffAccepted",
      params: { filePath, content: "one, changed\n" },
    });
    const rejected = await propose("two\n");
    rejected.view.reject();
    expect(await rejected.answer()).toEqual({
      method: "ide/diffRejected",
      params: { filePath },
    });
    const closed = await propose("three\n");
    closed.view.closeView();
    expect(await closed.answer()).toEqual({
      method: "ide/diffRejected",
      params: { filePath },
    });
    // Who closes a diff or proposes another one gets no answer to the first:
    // Gemini CLI would read it as a rejection of what its user accepted.
    const answered = agent.heard.filter(({ method }) => /diff/.test(method));
    const withdrawn = await propose("four\n");
    withdrawn.view.draft = "four, changed\n";
    const close = { filePath, suppressNotification: true };
    expect((await agent.call("closeDiff", close)).texts).toEqual([
      '{"content":"four, changed\\n"}',
    ]);
    expect(withdrawn.view.isOpen).toBe(false);
    expect((await agent.call("closeDiff", { filePath })).texts).toEqual(["{}"]);
    const replaced = await propose("five\n");
    const last = await propose("six\n");
    expect([replaced.view.isOpen, last.view.isOpen]).toEqual([false, true]);
    last.view.accept();
    const expected = {
      method: "ide/diffAccepted",
      params: { filePath, content: "six\n" },
    };
    expect(await last.answer()).toEqual(expected);
    expect(agent.heard.filter(({ method }) => /diff/.test(method))).toEqual([
      ...answered,
      expected,
    ]);
    const left = await propose("seven\n");
    await companion.close();
    expect(left.view.isOpen).toBe(false);
  });

  it("makes Claude Code wait for the answer to a diff", async () => {
    const { workspace, editor, companion, claude } = await setUp();
    using agent = await claude();
    const path = join(workspace, "a.ts");
    const propose = async (content: string) => {
      const count = editor.diffs.length;
      const result = agent.call("openDiff", {
        old_file_path: path,
        new_file_path: path,
        new_file_contents: content,
        tab_name: "✻ a.ts",
      });
      const view = await until(() => editor.diffs[count]);
      return { view, result };
    };
    const accepted = await propose("one\n");
    accepted.view.draft = "one, changed\n";
    accepted.view.accept();
    expect((await accepted.result).texts).toEqual([
      "FILE_SAVED",
      "one, changed\n",
    ]);
    const rejected = await propose("two\n");
    rejected.view.reject();
    expect((await rejected.result).texts).toEqual(["DIFF_REJECTED", "✻ a.ts"]);
    const withdrawn = await propose("three\n");
    const closed = await agent.call("close_tab", { tab_name: "✻ a.ts" });
    expect(closed.texts).toEqual(["TAB_CLOSED"]);
    expect((await withdrawn.result).texts[0]).toBe("DIFF_REJECTED");
    const swept = await propose("four\n");
    const all = await agent.call("closeAllDiffTabs", {});
    expect(all.texts).toEqual(["CLOSED_1_DIFF_TABS"]);
    expect((await swept.result).texts[0]).toBe("DIFF_REJECTED");
    const left = await propose("five\n");
    agent[Symbol.dispose]();
    await until(() => !left.view.isOpen || undefined);
    await companion.close();
  });

  it("answers what Claude Code asks of the editor", async () => {
    const { workspace, editor, companion, claude } = await setUp();
    using agent = await claude();
    const path = join(workspace, "a.ts");
    putFile(workspace, "a.ts", "const a = 1;\nfunction f() {\n}\n");
    const uri = pathToFileURL(path).href;
    const ask = async (name: string, input: unknown): Promise<unknown> =>
      JSON.parse((await agent.call(name, input)).texts.join());

    expect(await ask("getCurrentSelection", {})).toEqual({
      success: false,
      message: "No active editor found",
    });
    editor.show({
      openFiles: [{ path, isActive: true, isDirty: true, languageId: "ts" }],
    });
    expect(await ask("getLatestSelection", {})).toMatchObject({
      success: true,
      filePath: path,
      selection: { start: { line: 0, character: 0 }, isEmpty: true },
    });
    expect(await ask("getOpenEditors", {})).toEqual({
      tabs: [
        {
          uri,
          isActive: true,
          label: "a.ts",
          languageId: "ts",
          isDirty: true,
          fileName: path,
        },
      ],
    });
    expect(await ask("getWorkspaceFolders", {})).toMatchObject({
      rootPath: workspace,
      folders: [{ path: workspace }],
    });
    const range = {
      start: { line: 0, character: 6 },
      end: { line: 0, character: 7 },
    };
    editor.report({
      path,
      diagnostics: [
        {
          message: "unused",
          severity: DiagnosticSeverity.WARNING,
          range,
          source: "ts",
          code: "6133",
        },
      ],
    });
    expect(await ask("getDiagnostics", { uri })).toEqual([
      {
        uri,
        diagnostics: [
          {
            message: "unused",
            severity: "Warning",
            range,
            source: "ts",
            code: "6133",
          },
        ],
      },
    ]);
    expect(await ask("getDiagnostics", {})).toHaveLength(1);
    expect(await ask("getDiagnostics", { uri: `${uri}x` })).toEqual([]);
    expect(await ask("checkDocumentDirty", { filePath: path })).toMatchObject({
      success: false,
    });
    editor.dirty.set(path, true);
    expect(await ask("checkDocumentDirty", { filePath: path })).toMatchObject({
      isDirty: true,
    });
    expect(await ask("saveDocument", { filePath: path })).toMatchObject({
      saved: true,
    });
    expect(editor.isDirty(path)).toBe(false);
    await agent.call("openFile", {
      filePath: path,
      startText: "function",
      endText: "}",
    });
    expect(editor.opened).toMatchObject([
      {
        path,
        isFocused: true,
        range: {
          start: { line: 1, character: 0 },
          end: { line: 2, character: 1 },
        },
      },
    ]);
    await companion.close();
  });

  it("keeps the diffs of two agents apart, and shows the second of a file after the first", async () => {
    const { workspace, editor, companion, gemini, claude } = await setUp();
    await using one = await gemini();
    await using two = await gemini();
    using three = await claude();
    const filePath = join(workspace, "a.ts");
    await one.call("openDiff", { filePath, newContent: "one" });
    // Gemini CLI takes no answer in its terminal after an error.
    const waits = { isError: false, texts: [] };
    const second = { filePath, newContent: "two" };
    expect(await two.call("openDiff", second)).toEqual(waits);
    expect((await three.call("closeAllDiffTabs", {})).texts).toEqual([
      "CLOSED_0_DIFF_TABS",
    ]);
    expect((await two.call("closeDiff", { filePath })).texts).toEqual(["{}"]);
    expect(await two.call("openDiff", second)).toEqual(waits);
    expect(editor.diffs.map(({ isOpen }) => isOpen)).toEqual([true]);
    editor.diffs[0]?.accept();
    await until(() => one.last("ide/diffAccepted"));
    expect(two.last("ide/diffAccepted")).toBeUndefined();
    (await until(() => editor.diffs[1])).accept();
    const accepted = await until(() => two.last("ide/diffAccepted"));
    expect(accepted.params.content).toBe("two");
    expect(one.heard.filter(({ method }) => /diff/.test(method))).toHaveLength(
      1,
    );
    await companion.close();
  });

  it("rejects what waits for an answer when it ends", async () => {
    const { workspace, editor, companion, gemini, claude } = await setUp();
    await using one = await gemini();
    await using two = await gemini();
    using three = await claude();
    const filePath = join(workspace, "a.ts");
    await one.call("openDiff", { filePath, newContent: "one" });
    await two.call("openDiff", { filePath, newContent: "two" });
    const blocking = three.call("openDiff", {
      old_file_path: filePath,
      new_file_path: join(workspace, "b.ts"),
      new_file_contents: "three",
      tab_name: "t",
    });
    await until(() => editor.diffs[1]);
    await companion.close();
    for (const agent of [one, two]) {
      await until(() => agent.last("ide/diffRejected"));
    }
    expect((await blocking).texts).toEqual(["DIFF_REJECTED", "t"]);
    expect(editor.diffs.map(({ isOpen }) => isOpen)).toEqual([false, false]);
  });

  it("is found again after it was started again, and when other folders are open", async () => {
    const { workspace, editor, companion, start, directories } = await setUp();
    const stale = join(directories.gemini, "gemini-ide-server-4242-1.json");
    putFile(directories.gemini, "gemini-ide-server-4242-1.json", "{}");
    putFile(directories.gemini, "gemini-ide-server-4243-1.json", "{}");
    await companion.close();
    const again = await start();
    expect(readdirSync(directories.gemini)).not.toContain(stale);
    expect(readdirSync(directories.gemini).sort()).toEqual([
      `gemini-ide-server-4242-${again.port}.json`,
      "gemini-ide-server-4243-1.json",
    ]);
    editor.folders.push("/elsewhere");
    editor.changed();
    for (const directory of [directories.qwen, directories.claude]) {
      await until(
        () =>
          JSON.stringify(onlyFile(directory)).includes("/elsewhere") ||
          undefined,
      );
    }
    expect(onlyFile(directories.claude).workspaceFolders).toEqual([
      workspace,
      "/elsewhere",
    ]);
    expect(again.environment.QWEN_CODE_IDE_WORKSPACE_PATH).toBe(
      `${workspace}:/elsewhere`,
    );
    await again.close();
  });
});
