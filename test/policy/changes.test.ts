import { existsSync } from "node:fs";
import {
  chmod,
  mkdir,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import {
  confirmationPart,
  createTaskView,
  type TaskView,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ToolCallStatus, toolCallsOf } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { soon } from "../tasks.ts";

const DENY_TOUCH =
  '[[rule]]\ncommand_prefix = "touch"\ndecision = "deny"\ndeny_message = "no touching"\n';
const ALLOW_TOUCH = '[[rule]]\ncommand_prefix = "touch"\ndecision = "allow"\n';

/** What may become of a policy file while a server runs. */
const CHANGES: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  "a link to rules that allow": async (path) => {
    await writeFile(`${path}.other`, ALLOW_TOUCH);
    await symlink(`${path}.other`, `${path}.link`);
    await rename(`${path}.link`, path);
  },
  "rules that allow": (path) => writeFile(path, ALLOW_TOUCH),
  "half a rule": (path) => truncate(path, DENY_TOUCH.indexOf("deny") + 1),
  "an empty file": (path) => truncate(path),
  "a file that others may write": (path) => chmod(path, 0o666),
  "no file": (path) => rm(path),
};

describe("a policy file that changes", () => {
  let base: string;
  let workspace: string;
  let policy: string;
  let server: DevtoolServer;

  beforeEach(async () => {
    base = temporaryDirectory();
    [workspace, policy] = [join(base, "workspace"), join(base, "rules.toml")];
    await mkdir(workspace);
  });
  afterEach(() => server.close());

  it.each(Object.entries(CHANGES))(
    "to %s while the server runs changes nothing until it starts again",
    async (_, change) => {
      await writeFile(policy, DENY_TOUCH);
      server = await start();
      const asked = await send("write asked kept");
      await change(policy);
      expect(deniedIn(await send("run touch a"))).toEqual(["no touching"]);
      expect(deniedIn(await send("run echo 1 && touch b"))).toEqual([
        "no touching",
      ]);
      await asked.answer(
        asked.snapshot().questions[0]?.toolCallId ?? "",
        "proceed_once",
        soon(),
      );
      expect(["a", "b", "asked"].map(isThere)).toEqual([false, false, true]);
    },
  );

  it.each(["half a rule", "a file that others may write", "no file"])(
    "to %s stops the next start, so that no rule is missing in silence",
    async (change) => {
      await writeFile(policy, DENY_TOUCH);
      server = await start();
      await CHANGES[change]?.(policy);
      await server.close();
      await expect(start()).rejects.toThrow("rules.toml");
    },
  );

  it("counts as it is when a call starts: one that was asked about before and is denied by now does not run", async () => {
    await writeFile(policy, "");
    server = await start();
    const [asked, covered] = [
      await send("run touch asked"),
      await send("run touch for-ever"),
    ];
    await covered.answer(
      covered.snapshot().questions[0]?.toolCallId ?? "",
      "proceed_always_and_save",
      soon(),
    );
    await writeFile(policy, DENY_TOUCH);
    await server.close();
    server = await start();
    const { id: taskId } = asked.snapshot().task;
    const [part] = asked
      .snapshot()
      .questions.map((call) => confirmationPart(call, "proceed_once"));
    const message = {
      messageId: "late",
      parts: [part ?? expect.unreachable()],
    };
    const { tasks } = clientOf(server);
    const answered = await tasks
      .sendMessage({ taskId, message })
      .catch(() => tasks.getTask({ taskId }));
    const calls = answered.task?.history.flatMap(toolCallsOf) ?? [];
    expect(calls.at(-1)).toMatchObject({ status: ToolCallStatus.FAILED });
    expect(calls.at(-1)?.result.value).toMatchObject({
      message: expect.stringContaining("no touching"),
    });
    expect([isThere("asked"), isThere("for-ever")]).toEqual([false, true]);
    // What was approved for good before does not outweigh the rule either.
    await rm(join(workspace, "for-ever"));
    await send("run touch for-ever");
    expect(isThere("for-ever")).toBe(false);
  });

  async function send(text: string): Promise<TaskView> {
    const view = createTaskView(clientOf(server));
    await view.send(text, soon());
    return view;
  }

  function start(): Promise<DevtoolServer> {
    const dataDirectory = join(base, "data");
    return serveCodingAgent({
      workspace,
      dataDirectory,
      policyFiles: [policy],
      sandbox: "none",
    });
  }

  function isThere(name: string): boolean {
    return existsSync(join(workspace, name));
  }
});

/** The messages of the rules that denied a call of a task. */
function deniedIn(view: TaskView): string[] {
  const text = JSON.stringify(view.snapshot().task.history, (_, value) =>
    typeof value === "bigint" ? `${value}` : value,
  );
  return [...new Set(text.match(/no touching/g) ?? [])];
}
