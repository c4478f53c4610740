import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { FAKE_APP_SERVER } from "@devtool/codex/testing";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { AuditAction, type Task, TaskState } from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeTerminal } from "../../test/fake-terminal.ts";
import { createClient } from "../connection/connection.ts";
import { runProgram } from "../program.ts";

const RULES = `
[[rule]]
tool = "run_shell_command"
command_prefix = "touch"
decision = "allow"
`;

describe("devtool serve --agent codex", () => {
  let base: string;
  let terminal: FakeTerminal;
  let code: Promise<number>;

  beforeEach(async () => {
    base = temporaryDirectory();
    for (const name of ["bin", "work", "home"]) await mkdir(join(base, name));
    await mkdir(join(base, "data"), { mode: 0o700 });
    await writeFile(join(base, "data/policy.toml"), RULES, { mode: 0o600 });
    const command = FAKE_APP_SERVER.map((word) => `'${word}'`).join(" ");
    const script = `#!/bin/sh\nenv > "$CODEX_HOME/environment"; echo "$@" > "$CODEX_HOME/arguments"\nexec ${command}\n`;
    await writeFile(join(base, "bin/codex"), script, { mode: 0o755 });
    const own = { CODEX_HOME: join(base, "home"), OPENAI_API_KEY: "key" };
    terminal = new FakeTerminal({
      PATH: `${base}/bin:/usr/bin`,
      ...own,
      GEMINI_API_KEY: "no",
      DEVTOOL_TOKEN: "no",
    });
    const flags = [
      "--port",
      "0",
      "--data",
      join(base, "data"),
      "--workspace",
      join(base, "work"),
    ];
    code = runProgram(
      ["serve", "--json", "--log-level", "error", "--agent", "codex", ...flags],
      terminal.io,
    );
    await terminal.shows('"token"');
  });

  afterEach(async () => {
    terminal.interrupt();
    expect(await code).toBe(0);
  });

  it("starts the app-server of the installed program, with the variables that it needs and no others", async () => {
    expect(await send("say Hello.")).toMatchObject({
      state: TaskState.COMPLETED,
    });
    expect(fileText(base, "home/arguments")).toBe("app-server\n");
    const environment = fileText(base, "home/environment");
    expect(environment).toContain("OPENAI_API_KEY=key\n");
    expect(environment).not.toMatch(/GEMINI|DEVTOOL/);
  });

  it("answers Codex's questions by the rules where they decide, and asks the user about the rest", async () => {
    expect(await send("ask touch x")).toMatchObject({
      state: TaskState.COMPLETED,
      error: "",
    });
    expect(fileText(base, "home/ran.txt")).toBe("touch x\n");
    expect(await send("ask make")).toMatchObject({
      state: TaskState.INPUT_REQUIRED,
    });
    const decided: [string, string][] = [];
    for await (const { record } of (await client()).audit.readAudit({})) {
      if (record && record.action <= AuditAction.ASKED) {
        decided.push([AuditAction[record.action], record.rule]);
      }
    }
    expect(decided).toEqual([
      ["ALLOWED", "policy.toml:1"],
      ["ASKED", ""],
    ]);
  });

  function client(): Promise<DevtoolClient> {
    return createClient(JSON.parse(terminal.said), "connect");
  }

  async function send(text: string): Promise<Task | undefined> {
    const { tasks } = await client();
    const { task } = await tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), text),
    });
    return (await tasks.getTask({ taskId: task?.id ?? "" })).task;
  }
});
