import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { Workspace } from "@devtool/coding-agent/operator";
import {
  BackgroundProcesses,
  builtinTools,
  everyFile,
  ideTools,
} from "@devtool/coding-agent/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  reduceTask,
  type StreamMessageRequestSchema,
  type Task,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

describe("docs/tools.md", () => {
  const document = readFile(
    new URL("../../docs/tools.md", import.meta.url),
    "utf8",
  );

  it("lists every tool with its arguments", async () => {
    const rows = [...(await document).matchAll(/^\| `(\w+)` +\| (.*?) +\|/gm)];
    const documented = rows.map(([, name = "", args = ""]) => [
      name,
      [...args.matchAll(/`(\w+)`/g)].map(([, arg]) => arg),
    ]);
    using workspace = new Workspace(tmpdir());
    await using background = new BackgroundProcesses({
      nextId: () => "1",
      maxOutputLength: 1,
    });
    const shell = {
      environment: {},
      timeoutMs: 1,
      maxOutputLength: 1,
      background,
    };
    const editor = { reportsDiagnostics: true, showsFiles: true };
    const none = { case: "none", reason: "" } as const;
    const tools = [
      ...builtinTools(workspace, {
        shell,
        outbound: { allowedHosts: [], allowing: String, ownPorts: () => [] },
      }),
      ...ideTools(editor, {
        workspace,
        connect: async () => none,
        access: everyFile,
      }),
    ];
    expect(documented.map(([name]) => name)).toEqual(
      tools.map(({ declaration }) => declaration.name),
    );
    for (const { declaration } of tools) {
      const [, args = []] =
        documented.find(([name]) => name === declaration.name) ?? [];
      const properties = Object.keys(Object(declaration.parameters.properties));
      expect(args, declaration.name).toEqual(
        expect.arrayContaining(
          properties.filter((name) => name !== "instruction"),
        ),
      );
    }
  });

  it("has a script that runs as described", async () => {
    const [, script = ""] = /```\n([\s\S]*?)```/.exec(await document) ?? [];
    const workspace = temporaryDirectory();
    await using server = await serveCodingAgent({ workspace });
    const task = await play(server, script);
    const calls = task.history.flatMap(toolCallsOf);
    expect(calls.map(({ status }) => status)).toEqual(
      calls.map(() => ToolCallStatus.SUCCEEDED),
    );
    expect(await readFile(join(workspace, "notes.txt"), "utf8")).toBe("one, 2");
  });
});

/** Runs a script to its end and approves each call. */
async function play(
  { url, token }: { readonly url: string; readonly token: string },
  script: string,
): Promise<Task> {
  const client = clientOf({ url, token });
  let task = emptyTask();
  let request: MessageInitShape<typeof StreamMessageRequestSchema> = {
    request: { message: textMessage("m", script) },
  };
  for (;;) {
    for await (const { event } of client.tasks.streamMessage(request)) {
      if (event) task = reduceTask(task, event);
    }
    const parts = pendingToolCalls(task).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    if (parts.length === 0) return task;
    request = {
      request: {
        message: { messageId: crypto.randomUUID(), parts },
        taskId: task.id,
      },
    };
  }
}
