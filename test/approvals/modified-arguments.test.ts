import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  type AskedToolCall,
  createTaskView,
  type DevtoolClient,
  modifiedArgumentsPart,
  type TaskView,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  AuditAction,
  emptyTask,
  MODIFIED_ARGUMENTS_URI,
  Role,
  TaskState,
  ToolCallConfirmationSchema,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Binding, CLIENTS, clientOf } from "../client-of.ts";
import { variantsOf } from "../depth.ts";
import { detailOf, soon } from "../tasks.ts";

const LABEL = "Ada's laptop";
const EDIT = "modify_arguments";

const PLAYED: readonly Binding[] = [
  "Connect",
  "gRPC",
  "gRPC-Web",
  "A2A 1.0 over JSON-RPC",
  "A2A 1.0 over HTTP+JSON",
  "A2A 0.3 over JSON-RPC",
  "A2A 0.3 over HTTP+JSON",
];

describe("arguments that a user changes before a call runs (TOOL-12)", () => {
  let base: string;
  let workspace: string;
  let server: DevtoolServer;
  let direct: DevtoolClient;

  beforeEach(async () => {
    base = temporaryDirectory();
    workspace = join(base, "workspace");
    await mkdir(workspace);
    putFile(base, "rules.toml", RULES);
    server = await serveCodingAgent({
      workspace,
      dataDirectory: join(base, "data"),
      policyFiles: [join(base, "rules.toml")],
      sandbox: "none",
    });
    direct = clientOf(server);
  });
  afterEach(() => server.close());

  it.each(variantsOf("clients", PLAYED, 3))(
    "are asked about again, and run once they are approved: %s",
    async (over) => {
      const view = createTaskView(CLIENTS[over](server), {
        clientLabel: LABEL,
      });
      const shown = await ask(view, "run eval echo theirs >theirs.txt");
      expect(shown.argumentsEditable).toBe(true);
      await edit(view, { command: "echo mine >mine.txt" });
      const asked = question(view);
      expect(asked).toMatchObject({
        toolCallId: shown.toolCallId,
        inputParameters: { command: "echo mine >mine.txt" },
        confirmationRequest: {
          details: {
            case: "executeDetails",
            value: { command: "echo mine >mine.txt" },
          },
        },
        argumentsEditable: true,
      });
      expect([asked.shownDigest?.length, asked.shownDigest]).toEqual([
        32,
        expect.not.objectContaining(shown.shownDigest ?? {}),
      ]);
      expect(detailOf(view, question(view).toolCallId)).toMatchObject({
        argumentsEditor: { principal: "local", clientLabel: LABEL },
      });
      expect([
        existsSync(join(workspace, "theirs.txt")),
        existsSync(join(workspace, "mine.txt")),
      ]).toEqual([false, false]);
      await view.answer(asked.toolCallId, "proceed_once", soon());
      expect(view.snapshot().task.state).toBe(TaskState.COMPLETED);
      expect([
        existsSync(join(workspace, "theirs.txt")),
        contentOf("mine.txt"),
      ]).toEqual([false, "mine\n"]);
    },
  );

  it.each([
    ["0.3", "selected_option_id", "tool_call_id"],
    ["0.3 in the dialect of Gemini CLI", "outcome", "callId"],
    ["1.0", "selected_option_id", "tool_call_id"],
  ])(
    "travel as an object under a key of ours over A2A %s",
    async (dialect, option, id) => {
      const view = createTaskView(direct);
      const { toolCallId } = await ask(view, "run eval echo theirs");
      const answer = (args: JsonValue) =>
        post(dialect === "1.0" ? "1.0" : "0.3", view, {
          data: { [id]: toolCallId, [option]: EDIT },
          metadata: { [MODIFIED_ARGUMENTS_URI]: args },
        });
      expect(await answer("echo mine")).toMatchObject({
        error: {
          code: -32602,
          message: expect.stringContaining("is not an object"),
        },
      });
      expect(await answer({ command: "" })).toMatchObject({
        error: {
          code: -32602,
          message: expect.stringContaining(
            "modified_arguments.command is empty",
          ),
        },
      });
      expect(await answer({ command: "echo mine" })).toHaveProperty("result");
      expect(await inputOf(view)).toEqual({ command: "echo mine" });
    },
  );

  it("beside a text are refused over A2A, and start nothing", async () => {
    const metadata = { [MODIFIED_ARGUMENTS_URI]: { command: "ls" } };
    const message = {
      kind: "message",
      role: "user",
      messageId: "m",
      parts: [{ kind: "text", text: "hello", metadata }],
    };
    expect(await send("message/send", { message })).toMatchObject({
      error: {
        code: -32602,
        message: expect.stringContaining("answers no tool call"),
      },
    });
  });

  it.each([
    [
      "an unknown name",
      { command: "ls", comand: "x" },
      "modified_arguments.comand is unknown: choose command, ",
    ],
    [
      "a missing argument",
      {},
      "modified_arguments.command is missing: it must be of type string",
    ],
    [
      "another type",
      { command: 5 },
      'modified_arguments.command "5" must be of type string',
    ],
    ["an empty command", { command: " " }, "is empty"],
    [
      "a directory outside",
      { command: "ls", directory: "/etc" },
      'modified_arguments cannot be used: path "/etc" is outside',
    ],
    [
      "a denied command",
      { command: "git push" },
      "is denied: pushing is for people: change them again, or decline",
    ],
    [
      "a denied command in others",
      { command: "true && (cd .; git  'push')" },
      "is denied: pushing is for people",
    ],
  ])(
    "with %s are refused; the question stays, and counts as before",
    async (_, args: JsonObject, problem) => {
      const view = createTaskView(direct);
      const before = await ask(view, "run eval echo theirs >theirs.txt");
      await expect(edit(view, args)).rejects.toThrow(problem);
      expect([question(view), await lastAudit()]).toEqual([
        before,
        AuditAction.ASKED,
      ]);
      await view.answer(before.toolCallId, "proceed_once", soon());
      expect(contentOf("theirs.txt")).toBe("theirs\n");
    },
  );

  it.each([
    [
      "an option that approves",
      { selectedOptionId: "proceed_once" },
      'proceed_once" does not go with modified_arguments',
    ],
    [
      "one that approves for ever",
      { selectedOptionId: "proceed_always_and_save" },
      "choose modify_arguments",
    ],
    [
      "one that declines",
      { selectedOptionId: "cancel" },
      "choose modify_arguments",
    ],
    [
      "the content of a file",
      {
        modifiedDetails: { case: "fileDetails", value: { newContent: "x" } },
      } as const,
      "file_details does not go with modified_arguments: write the content into the arguments",
    ],
  ])("with %s are refused", async (_, wrong, problem) => {
    const view = createTaskView(direct);
    const before = await ask(view, "write a.txt theirs");
    const part = modifiedArgumentsPart(before, {
      file_path: "a.txt",
      content: "mine",
    });
    const value = create(ToolCallConfirmationSchema, {
      toolCallId: before.toolCallId,
      selectedOptionId: EDIT,
      ...wrong,
    });
    const content = { case: "confirmation", value } as const;
    await expect(
      view.send({ message: { parts: [{ ...part, content }] } }, soon()),
    ).rejects.toThrow(problem);
    expect([question(view), contentOf("a.txt")]).toEqual([before, undefined]);
  });

  it("are missing where the option needs them, and belong to no other part", async () => {
    const view = createTaskView(direct);
    const { toolCallId } = await ask(view, "run eval echo theirs");
    const value = { toolCallId, selectedOptionId: EDIT };
    const parts = [{ content: { case: "confirmation", value } as const }];
    await expect(view.send({ message: { parts } }, soon())).rejects.toThrow(
      "modified_arguments are missing",
    );
    const text = [
      {
        content: { case: "text", value: "hello" } as const,
        modifiedArguments: { command: "ls" },
      },
    ];
    await expect(
      view.send({ message: { parts: text } }, soon()),
    ).rejects.toThrow("answers no tool call");
    await expect(view.answer(toolCallId, EDIT, soon())).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
    const late = view.answer(toolCallId, "proceed_once", soon(), {
      modifiedArguments: { command: "ls" },
    });
    await expect(late).rejects.toMatchObject({ code: Code.InvalidArgument });
    expect(view.snapshot().questions).toHaveLength(1);
  });

  it("ask also where the policy would let the call run", async () => {
    const view = createTaskView(direct);
    await ask(view, "run eval echo theirs");
    await edit(view, { command: "pwd" });
    expect(question(view).confirmationRequest?.details.value).toMatchObject({
      command: "pwd",
    });
    expect(detailOf(view, question(view).toolCallId)?.reason).toBe(
      "its arguments were changed: approve what runs",
    );
    await view.answer(question(view).toolCallId, "proceed_once", soon());
    expect(view.snapshot().task.state).toBe(TaskState.COMPLETED);
  });

  it("can be changed again before they run, each time under another digest", async () => {
    const view = createTaskView(direct);
    const digests = [await ask(view, "run eval echo 0 >a.txt")];
    for (const count of [1, 2, 3]) {
      await edit(view, { command: `echo ${count} >a.txt` });
      digests.push(question(view));
    }
    expect(
      new Set(digests.map(({ shownDigest }) => String(shownDigest))).size,
    ).toBe(4);
    await view.answer(question(view).toolCallId, "proceed_once", soon());
    expect(contentOf("a.txt")).toBe("3\n");
  });

  it("cannot be approved by the digest of what was shown before, or changed by it", async () => {
    const [one, other] = [
      createTaskView(direct),
      createTaskView(clientOf(server)),
    ];
    const shown = await ask(one, "run eval echo theirs >a.txt");
    await edit(one, { command: "echo mine >a.txt" });
    const late = {
      ...modifiedArgumentsPart(shown, { command: "echo other >a.txt" }),
    };
    const changed = {
      code: Code.FailedPrecondition,
      rawMessage: expect.stringContaining("its question has changed"),
    };
    const { id: taskId } = one.snapshot().task;
    await expect(
      other.send({ taskId, message: { parts: [late] } }, soon()),
    ).rejects.toMatchObject(changed);
    expect([contentOf("a.txt"), await inputOf(one)]).toEqual([
      undefined,
      { command: "echo mine >a.txt" },
    ]);
  });

  it("of two clients at once count for one of them, and nothing runs", async () => {
    const view = createTaskView(direct);
    const shown = await ask(view, "run eval echo theirs >a.txt");
    const { id: taskId } = view.snapshot().task;
    const commands = ["one", "two", "three"].map(
      (word) => `echo ${word} >a.txt`,
    );
    const sent = await Promise.allSettled(
      commands.map((command) => {
        const message = {
          messageId: command,
          role: Role.USER,
          parts: [modifiedArgumentsPart(shown, { command })],
        };
        return clientOf(server).tasks.sendMessage({ taskId, message });
      }),
    );
    const won = sent.findIndex(({ status }) => status === "fulfilled");
    expect(sent.map(({ status }) => status).sort()).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
    ]);
    expect([await inputOf(view), contentOf("a.txt")]).toEqual([
      { command: commands[won] },
      undefined,
    ]);
  });

  it("are what an approval for ever covers, and the proposed ones are not", async () => {
    const view = createTaskView(direct);
    await ask(
      view,
      "run eval echo theirs\nnext\nrun eval echo mine\nnext\nrun eval echo theirs",
    );
    await edit(view, { command: "eval echo mine" });
    await view.answer(question(view).toolCallId, "proceed_always", soon());
    // The second call is covered and has run; the third one asks.
    expect([
      question(view).inputParameters,
      view.snapshot().questions.length,
    ]).toEqual([{ command: "eval echo theirs" }, 1]);
  });

  it("are what a saved approval covers", async () => {
    const view = createTaskView(direct);
    await ask(view, "run npm run build");
    await edit(view, { command: "npm run lint" });
    const options = question(view).confirmationRequest?.options ?? [];
    expect(
      options.find(({ id }) => id === "proceed_always_and_save")?.description,
    ).toContain("npm run lint");
    await view.answer(
      question(view).toolCallId,
      "proceed_always_and_save",
      soon(),
    );
    const saved = JSON.stringify(
      await Array.fromAsync(direct.audit.readAudit({})),
      (_, value) => (typeof value === "bigint" ? String(value) : value),
    );
    expect(saved).toContain("npm run lint");
    const again = createTaskView(direct);
    await again.send("run npm run build", soon());
    expect(question(again).inputParameters).toEqual({
      command: "npm run build",
    });
    const covered = createTaskView(direct);
    await covered.send("run npm run lint", soon());
    expect(covered.snapshot().questions).toEqual([]);
  });

  it("of a file are the same question as content from an editor", async () => {
    putFile(workspace, "a.txt", "old\n");
    const [one, other] = [createTaskView(direct), createTaskView(direct)];
    await ask(one, "write a.txt theirs\\n");
    await ask(other, "write a.txt theirs\\n");
    const { toolCallId } = question(one);
    await one.answer(toolCallId, "modify_with_editor", soon(), {
      newContent: "mine\n",
    });
    await edit(other, { file_path: "a.txt", content: "mine\n" });
    const [edited, changed] = [question(one), question(other)];
    expect(changed.shownDigest).toEqual(edited.shownDigest);
    expect(changed.confirmationRequest?.details).toEqual(
      edited.confirmationRequest?.details,
    );
    await other.answer(changed.toolCallId, "proceed_once", soon());
    expect(contentOf("a.txt")).toBe("mine\n");
  });

  it("of a file can name another one in the workspace, and none outside", async () => {
    const view = createTaskView(direct);
    await ask(view, "write a.txt theirs");
    await expect(
      edit(view, { file_path: "../b.txt", content: "x" }),
    ).rejects.toMatchObject({
      code: Code.PermissionDenied,
    });
    await expect(
      edit(view, { file_path: "kept/b.txt", content: "x" }),
    ).rejects.toThrow("is denied: it is kept");
    await edit(view, { file_path: "b.txt", content: "mine" });
    await view.answer(question(view).toolCallId, "proceed_once", soon());
    expect([
      contentOf("a.txt"),
      contentOf("b.txt"),
      existsSync(join(base, "b.txt")),
    ]).toEqual([undefined, "mine", false]);
  });

  it("are in the audit log, with the names of those that changed", async () => {
    const view = createTaskView(direct, { clientLabel: LABEL });
    const { toolCallId, shownDigest } = await ask(view, "run eval echo theirs");
    await edit(view, { command: "eval echo mine", description: "Say it" });
    await view.answer(toolCallId, "proceed_once", soon());
    const records = (await auditOf()).filter(
      (record) => record.toolCallId === toolCallId,
    );
    expect(records.map(({ action }) => AuditAction[action])).toEqual([
      "ASKED",
      "ARGUMENTS_CHANGED",
      "ASKED",
      "APPROVED",
      "STARTED",
      "SUCCEEDED",
    ]);
    const [asked, changed, again, approved, started] = records;
    expect(JSON.parse(changed?.shown ?? "")).toEqual({
      arguments: { command: "eval echo mine", description: "Say it" },
      changed: ["command", "description"],
    });
    expect(changed).toMatchObject({
      optionId: EDIT,
      clientLabel: LABEL,
      digest: asked?.digest,
    });
    expect([asked?.digest, again?.digest]).toEqual([
      shownDigest,
      approved?.digest,
    ]);
    expect(started?.digest).toEqual(again?.digest);
    expect(again?.shown).toContain("eval echo mine");
  });

  it("leave the messages that wait behind the question where they are", async () => {
    const view = createTaskView(direct);
    await ask(view, "run eval echo theirs");
    const { id: taskId } = view.snapshot().task;
    const message = {
      messageId: "later",
      role: Role.USER,
      parts: [{ content: { case: "text", value: "text Later." } as const }],
    };
    await direct.tasks.sendMessage({
      taskId,
      message,
      returnImmediately: true,
    });
    await edit(view, { command: "eval echo mine" });
    const { task } = await direct.tasks.getTask({ taskId });
    expect(
      task?.queuedMessages.map((queued) => queued.message?.messageId),
    ).toEqual(["later"]);
    await view.answer(question(view).toolCallId, "proceed_once", soon());
    const done = await direct.tasks.getTask({ taskId });
    expect([done.task?.state, done.task?.queuedMessages]).toEqual([
      TaskState.COMPLETED,
      [],
    ]);
  });

  async function ask(view: TaskView, script: string): Promise<AskedToolCall> {
    await view.send(script, soon());
    return question(view);
  }

  function edit(view: TaskView, modifiedArguments: JsonObject): Promise<void> {
    return view.answer(question(view).toolCallId, EDIT, soon(), {
      modifiedArguments,
    });
  }

  async function inputOf(view: TaskView): Promise<JsonObject | undefined> {
    const taskId = view.snapshot().task.id;
    const { task: { sequence: head } = emptyTask() } =
      await direct.tasks.getTask({ taskId });
    const other = createTaskView(direct, { taskId });
    const leave = new AbortController();
    const followed = other.follow(leave.signal);
    // The log begins with the question as it was first asked.
    await expect
      .poll(() => other.snapshot().task.sequence >= head, { timeout: 60_000 })
      .toBe(true);
    leave.abort();
    await followed;
    return question(other).inputParameters;
  }

  async function auditOf() {
    const responses = await Array.fromAsync(direct.audit.readAudit({}));
    return responses.flatMap(({ record }) => record ?? []);
  }

  async function lastAudit(): Promise<AuditAction | undefined> {
    return (await auditOf()).at(-1)?.action;
  }

  function post(
    version: string,
    view: TaskView,
    part: JsonObject,
  ): Promise<unknown> {
    const messageId = crypto.randomUUID();
    const { id: taskId } = view.snapshot().task;
    if (version === "1.0") {
      const parts = [{ ...part, mediaType: "application/json" }];
      return send(
        "SendMessage",
        { message: { role: "ROLE_USER", messageId, parts, taskId } },
        "1.0",
      );
    }
    const parts = [{ kind: "data", ...part }];
    return send("message/send", {
      message: { kind: "message", role: "user", messageId, parts, taskId },
    });
  }

  async function send(
    method: string,
    params: JsonObject,
    version = "0.3",
  ): Promise<unknown> {
    const { url, token } = server;
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      "A2A-Version": version,
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return (await fetch(url, { method: "POST", headers, body })).json();
  }

  function contentOf(name: string): string | undefined {
    const path = join(workspace, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }
});

const RULES = `
[[rule]]
command_prefix = "pwd"
decision = "allow"

[[rule]]
command_prefix = "git push"
decision = "deny"
deny_message = "pushing is for people"

[[rule]]
tool = "write_file"
path = "kept/**"
decision = "deny"
deny_message = "it is kept"
`;

function question(view: TaskView): AskedToolCall {
  return view.snapshot().questions[0] ?? expect.unreachable();
}
