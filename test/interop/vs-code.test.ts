import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Role, type Task, TaskState } from "@devtool/schema";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Address, clientOf } from "../client-of.ts";
import {
  ClaudeAgent,
  GeminiAgent,
  type Heard,
  onlyFile,
  until,
} from "../ide/agents.ts";
import { MAIN } from "../our-command.ts";
import { VS_CODE_MISSING, VsCode } from "./vs-code.ts";

const without =
  VS_CODE_MISSING === undefined ? "" : `: SKIPPED, ${VS_CODE_MISSING}`;

/** VS Code starts, and a machine may be busy. */
const TIMEOUT_MS = 600_000;

describe.skipIf(VS_CODE_MISSING !== undefined)(
  `the extension in a real VS Code${without}`,
  () => {
    it(
      "shows an agent what is open, and carries the answers to its diffs",
      async () => {
        const workspace = temporaryDirectory();
        const path = join(workspace, "open.txt");
        putFile(workspace, "open.txt", "before\r\nsecond\r\n");
        await using code = await VsCode.open({ workspace });
        await code.openFile("open.txt");
        await code.picture("open");
        await code.page.locator(".view-line").first().click();
        await code.page.keyboard.press("Control+A");
        await using agent = await agentIn(code);
        const context = await until(() => {
          const state = agent.last("ide/contextUpdate")?.params.workspaceState;
          return JSON.stringify(state).includes("second") ? state : undefined;
        });
        expect(context).toMatchObject({
          isTrusted: false,
          openFiles: [
            { path, isActive: true, selectedText: "before\r\nsecond\r\n" },
          ],
        });

        const propose = async (content: string) => {
          const before = agent.heard.length;
          await agent.call("openDiff", { filePath: path, newContent: content });
          await code.tab("open.txt: proposed change").waitFor();
          const answer = (): Promise<Heard> =>
            until(() =>
              agent.heard
                .slice(before)
                .find(({ method }) => /diff/.test(method)),
            );
          return answer;
        };
        // Lines that end in different ways, and a mark of the byte order.
        const mixed = "\ufeffone\r\ntwo\nthree ü\r";
        const accepted = await propose(mixed);
        await code.picture("diff");
        await code.press("Accept");
        expect((await accepted()).params).toEqual({
          filePath: path,
          content: mixed,
        });
        writeFileSync(path, mixed);

        const edited = await propose("\ufeffone\ntwo\n");
        await code.changeFirstLine("by the user");
        await code.picture("edited");
        await code.press("Accept");
        expect((await edited()).params.content).toBe(
          "\ufeffby the user\ntwo\n",
        );

        const rejected = await propose("never\n");
        await code.press("Reject");
        expect((await rejected()).method).toBe("ide/diffRejected");

        const closed = await propose("never\n");
        await code.tab("open.txt: proposed change").click({ button: "middle" });
        expect((await closed()).method).toBe("ide/diffRejected");
        expect(readFileSync(path, "utf8")).toBe(mixed);

        await propose("drafted\n");
        const { texts } = await agent.call("closeDiff", { filePath: path });
        expect(texts).toEqual(['{"content":"drafted\\n"}']);
        await code
          .tab("open.txt: proposed change")
          .waitFor({ state: "detached" });

        await code.run("Workspaces: Manage Workspace Trust");
        await code.page
          .getByRole("button", { name: /^Trust/ })
          .first()
          .click();
        await until(() =>
          /"isTrusted":true/.test(
            JSON.stringify(agent.last("ide/contextUpdate")),
          )
            ? true
            : undefined,
        );
        await code.picture("trusted");
        await code.page
          .getByRole("button", { name: /^Close/ })
          .last()
          .click();
        await code.page
          .locator(".modal-editor-header")
          .waitFor({ state: "detached" });
        await code.run("Terminal: Create New Terminal");
        await code.page.locator(".xterm").waitFor();
        await code.picture("terminal");
        await code.page.keyboard.type("env > variables.txt; exit\n");
        const variables = await until(() =>
          textOf(join(workspace, "variables.txt")),
        );
        const { port, authToken } = onlyFile(
          join(code.temporary, "gemini/ide"),
        );
        expect(variables.split("\n")).toEqual(
          expect.arrayContaining([
            `GEMINI_CLI_IDE_SERVER_PORT=${port}`,
            `GEMINI_CLI_IDE_AUTH_TOKEN=${authToken}`,
            `GEMINI_CLI_IDE_WORKSPACE_PATH=${workspace}`,
            `QWEN_CODE_IDE_SERVER_PORT=${port}`,
            `CLAUDE_CODE_SSE_PORT=${port}`,
          ]),
        );

        // Nobody waits for what a window has kept from before it was loaded.
        await propose("kept\n");
        await code.changeFirstLine("changed");
        await code.page.reload();
        const again = await until(() => {
          const file = fileOf(code);
          return file && file.port !== port ? file : undefined;
        });
        await code.tab("open.txt").waitFor();
        expect(await code.tab("open.txt: proposed change").count()).toBe(0);
        await using late = await GeminiAgent.connect(again);
        await until(() => late.last("ide/contextUpdate"));
      },
      TIMEOUT_MS,
    );

    it(
      "does what Claude Code asks, and follows its folders",
      async () => {
        const [one, two] = [temporaryDirectory(), temporaryDirectory()];
        putFile(one, "bad.json", '{"a": }\n');
        const path = join(one, "bad.json");
        const workspace = join(temporaryDirectory(), "all.code-workspace");
        const open = (...folders: readonly string[]): void =>
          writeFileSync(
            workspace,
            JSON.stringify({
              folders: folders.map((each) => ({ path: each })),
            }),
          );
        open(one);
        await using code = await VsCode.open({ workspace });
        const { port, authToken } = await discovered(code);
        using agent = await ClaudeAgent.connect(
          Number(port),
          String(authToken),
        );
        const asks = async (name: string): Promise<string> => {
          const input = { filePath: path, uri: pathToFileURL(path).href };
          return (await agent.call(name, input)).texts.join();
        };

        const range = { startText: '"a"', endText: ":" };
        await agent.call("openFile", { filePath: path, ...range });
        await code.tab("bad.json").waitFor();
        await until(
          () =>
            agent.last("selection_changed")?.params.text === '"a":' ||
            undefined,
        );
        await expect
          .poll(() => asks("getDiagnostics"), { timeout: 60_000 })
          .toMatch(/"severity":"Error".*"line":0/);
        await code.picture("diagnostics");

        await code.page.keyboard.type("b:");
        await expect
          .poll(() => asks("checkDocumentDirty"))
          .toContain('"isDirty":true');
        expect(await asks("saveDocument")).toContain('"saved":true');
        expect(readFileSync(path, "utf8")).toBe("{b: }\n");
        expect(await asks("checkDocumentDirty")).toContain('"isDirty":false');

        open(one, two);
        await until(
          () => fileOf(code)?.workspacePath === `${one}:${two}` || undefined,
        );
        expect(await asks("getWorkspaceFolders")).toContain(two);
      },
      TIMEOUT_MS,
    );

    it(
      "shows the sessions of a server and answers their questions, also after a kill",
      async () => {
        const [workspace, data] = [temporaryDirectory(), temporaryDirectory()];
        mkdirSync(join(workspace, "src"));
        putFile(workspace, "changed.txt", "old\n");
        let server = await serve(data, workspace);
        const ask = async (id: string, script: string): Promise<Task> => {
          const message = textMessage(id, script);
          const { task } = await clientOf(server.info).tasks.sendMessage({
            message,
          });
          if (!task) throw new Error("the server has no task");
          expect(task.state).toBe(TaskState.INPUT_REQUIRED);
          return task;
        };
        await ask("one", "write changed.txt new ü\ntext Done.");
        await using code = await VsCode.open({
          workspace,
          env: { DEVTOOL_DATA: data },
        });
        await code.page
          .locator(".activitybar .action-label[aria-label^=devtool]")
          .click();
        await code.question(/changed.txt/).click();
        await code.tab(/changed.txt: proposed change/).waitFor();
        await code.page
          .locator(".editor.modified .view-line")
          .first()
          .waitFor();
        await code.picture("question-diff");
        await code.changeFirstLine("by the user ü");
        await code.press("Accept");
        const written = join(workspace, "changed.txt");
        await until(() => textOf(written) === "by the user ü" || undefined);
        await code
          .tab(/changed.txt: proposed change/)
          .waitFor({ state: "detached" });
        await code.picture("answered");

        await ask("two", "run touch ran.txt\ntext Done.");
        await code.question(/touch ran.txt/).click();
        await code.tab("question.txt").waitFor();
        await code.picture("question-command");
        await server.kill();
        await code.page.getByText("waiting for it to start again").waitFor();
        await code.picture("gone");
        server = await serve(data, workspace);
        await code.press("Accept");
        await until(() => existsSync(join(workspace, "ran.txt")) || undefined);

        await ask("three", "run touch never.txt\ntext Done.");
        await code.question(/touch never.txt/).click();
        await code.press("Reject");
        await code.question(/touch never.txt/).waitFor({ state: "detached" });
        expect(existsSync(join(workspace, "never.txt"))).toBe(false);
        await code.tab("question.txt").waitFor({ state: "detached" });

        const task = await ask("four", "run touch other.txt\ntext Done.");
        await code.question(/touch other.txt/).click();
        await code.tab("question.txt").waitFor();
        const parts = pendingToolCalls(task).map((call) =>
          confirmationPart(call, "cancel"),
        );
        await clientOf(server.info).tasks.sendMessage({
          taskId: task.id,
          message: { messageId: "other", role: Role.USER, parts },
        });
        await code.tab("question.txt").waitFor({ state: "detached" });
        await code.picture("sessions-end");
      },
      TIMEOUT_MS,
    );
  },
);

/** Connects an agent as soon as the extension has written its file. */
async function agentIn(code: VsCode): Promise<GeminiAgent> {
  return GeminiAgent.connect(await discovered(code));
}

/** The file by which agents find the window, once it is there. */
function discovered(code: VsCode): Promise<Record<string, unknown>> {
  return until(() => fileOf(code));
}

/** The same; undefined while there is none, or it is written. */
function fileOf(code: VsCode): Record<string, unknown> | undefined {
  const directory = join(code.temporary, "gemini/ide");
  if (!existsSync(directory)) return undefined;
  const names = readdirSync(directory);
  return names.length === 1 && names[0]?.endsWith(".json")
    ? onlyFile(directory)
    : undefined;
}

/** The text of a file, once it has one. */
function textOf(path: string): string | undefined {
  return (existsSync(path) && readFileSync(path, "utf8")) || undefined;
}

/** Starts a server, and resolves when it listens. */
async function serve(
  data: string,
  workspace: string,
): Promise<{ readonly info: Address; kill(): Promise<void> }> {
  rmSync(join(data, "server.json"), { force: true });
  const words = [
    "serve",
    "--port",
    "0",
    "--data",
    data,
    "--workspace",
    workspace,
  ];
  const server = spawn(process.execPath, [MAIN, ...words], {
    stdio: "ignore",
  });
  const kill = async (): Promise<void> => {
    server.kill("SIGKILL");
    if (server.exitCode === null && server.signalCode === null) {
      await once(server, "exit");
    }
  };
  onTestFinished(kill);
  const text = await until(() => textOf(join(data, "server.json")));
  return { info: JSON.parse(text), kill };
}
