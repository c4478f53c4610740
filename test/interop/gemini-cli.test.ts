import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode } from "@devtool/schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readGolden } from "../gemini-cli/golden.ts";
import { startOurs } from "../gemini-cli/ours.ts";
import { HAS_PEER, type Served, startPeer } from "../gemini-cli/peer.ts";
import { type Frame, RawClient } from "../gemini-cli/raw-client.ts";
import { call, RAW_SCENARIOS } from "../gemini-cli/scenarios.ts";
import { askedIn, transcriptOf } from "../gemini-cli/transcript.ts";
import { callRpc } from "../post-json.ts";

/** The recorded answers of Gemini CLI's own server. */
function goldenOf(name: string): string[][] {
  return readGolden(name).map(transcriptOf);
}

/**
 * Our scheduler first reports a call once its decision is known: there is no
 * `validating` before.
 */
function withoutValidating(turns: readonly string[][]): string[][] {
  return turns.map((lines) =>
    lines.filter((line) => !line.endsWith(" validating")),
  );
}

const RAN_AT_ONCE = (tool: string, end: string): string[] => [
  "task submitted",
  `tool-call-update ${tool} scheduled`,
  `tool-call-update ${tool} executing`,
  `tool-call-update ${tool} ${end}`,
  "text-content Finished.",
  "end input-required",
];

/**
 * The intended differences of ours: read-only calls need no approval, and
 * "always" is remembered.
 */
const ON_PURPOSE: Readonly<Record<string, (golden: string[][]) => string[][]>> =
  {
    read: () => [RAN_AT_ONCE("read_file", "success")],
    failing: () => [RAN_AT_ONCE("read_file", "error")],
    always: ([asked = [], ran = []]) => [asked, ran, ran],
  };

describe("a client of Gemini CLI's own server, with ours", () => {
  let ours: Served;

  beforeAll(async () => {
    ours = await startOurs();
  });

  afterAll(() => ours[Symbol.asyncDispose]());

  for (const { name, play } of RAW_SCENARIOS) {
    it(`gets in "${name}" what it got there`, async () => {
      const golden = withoutValidating(goldenOf(name));
      const turns = (await play(new RawClient(ours), ours)).map(transcriptOf);
      expect(turns).toEqual(ON_PURPOSE[name]?.(golden) ?? golden);
    });
  }

  it("needs the token for everything", async () => {
    const stranger = new RawClient({ ...ours, token: "" });
    const requests = [
      ["GET", "/listCommands"],
      ["POST", "/executeCommand"],
      ["POST", "/tasks"],
      ["GET", "/tasks/metadata"],
      ["GET", "/tasks/any/metadata"],
    ] as const;
    for (const [method, path] of requests) {
      const { status } = await stranger.http(
        method,
        path,
        method === "POST" ? {} : undefined,
      );
      expect(status, path).toBe(401);
    }
  });

  it("gets back its settings, and the model with every update", async () => {
    const [task, ...updates] = await new RawClient(ours).begin("text Hi.", {
      autoExecute: false,
    });
    expect(task?.result).toMatchObject({
      metadata: {
        __persistedState: {
          _agentSettings: {
            kind: "agent-settings",
            workspacePath: ours.workspace,
            autoExecute: false,
          },
          _taskState: "submitted",
        },
      },
    });
    for (const { result } of updates) {
      expect(result).toMatchObject({ metadata: { model: "scripted" } });
    }
  });

  it("is asked in spite of autoExecute: a client cannot extend what the operator allows", async () => {
    const turn = await new RawClient(ours).begin(
      call("run_shell_command", { command: "echo no" }),
      {
        autoExecute: true,
      },
    );
    expect(transcriptOf(turn)).toContain(
      "tool-call-confirmation run_shell_command awaiting_approval exec",
    );
  });

  it("is asked without autoExecute where the operator would not ask, and not with it", async () => {
    await using free = await startOurs({ approvalMode: ApprovalMode.YOLO });
    const prompt = call("run_shell_command", { command: "echo free" });
    expect(
      askedIn(await new RawClient(free).begin(prompt, { autoExecute: false })),
    ).toHaveLength(1);
    expect(
      transcriptOf(
        await new RawClient(free).begin(prompt, { autoExecute: true }),
      ),
    ).toContain("output free");
    expect(transcriptOf(await new RawClient(free).begin(prompt))).toContain(
      "output free",
    );
  });

  it("that supports both dialects gets our extension", async () => {
    const message = {
      ...{
        kind: "message",
        role: "user",
        messageId: crypto.randomUUID(),
        parts: [{ kind: "text", text: "text Hi." }],
      },
      metadata: {
        coderAgent: { kind: "agent-settings", workspacePath: ours.workspace },
      },
    };
    const response = await callRpc(
      ours,
      "message/send",
      { message },
      {
        "x-a2a-extensions":
          "https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md",
      },
    );
    expect(await response.json()).toMatchObject({
      result: { status: { state: "completed" } },
    });
  });
});

describe("our server corrects faults of Gemini CLI's own: it", () => {
  let ours: Served;
  let client: RawClient;

  beforeAll(async () => {
    ours = await startOurs();
  });

  afterAll(() => ours[Symbol.asyncDispose]());

  async function asked(prompt: string): Promise<string> {
    client = new RawClient(ours);
    const [callId = ""] = askedIn(await client.begin(prompt));
    return callId;
  }

  const SHELL = call("run_shell_command", { command: "echo ran" });

  it("answers an unknown callId with an error, and the approval stays open", async () => {
    const callId = await asked(SHELL);
    expect(
      await client.answer({ callId: "nobody", outcome: "proceed_once" }),
    ).toMatchObject([{ error: { code: -32602 } }]);
    expect(
      transcriptOf(await client.answer({ callId, outcome: "proceed_once" })),
    ).toContain("output ran");
  });

  it("answers an unknown outcome with the known ones", async () => {
    const callId = await asked(SHELL);
    const [refused] = await client.answer({ callId, outcome: "perhaps" });
    expect(refused).toMatchObject({
      error: {
        code: -32602,
        message: expect.stringContaining("choose proceed_once"),
      },
    });
  });

  it("keeps a prompt that comes in place of an answer until the approval is answered", async () => {
    const callId = await asked(SHELL);
    const waits = {
      result: {
        kind: "status-update",
        status: { state: "input-required" },
        final: true,
      },
    };
    expect(await client.say("text Then this.")).toMatchObject([waits]);
    const turn = transcriptOf(
      await client.answer({ callId, outcome: "cancel" }),
    );
    expect(turn.slice(-2)).toEqual([
      "text-content Then this.",
      "end input-required",
    ]);
  });

  it("writes the content that the user gives in place of the proposed one, without asking again", async () => {
    const file = join(ours.workspace, "mine.txt");
    const callId = await asked(
      call("write_file", { file_path: file, content: "theirs\n" }),
    );
    const turn = transcriptOf(
      await client.answer({
        callId,
        outcome: "proceed_once",
        newContent: "mine\n",
      }),
    );
    expect(turn.slice(-3)).toEqual([
      "tool-call-update write_file success",
      "text-content Finished.",
      "end input-required",
    ]);
    expect(readFileSync(file, "utf8")).toBe("mine\n");
  });

  it("accepts empty content for an empty file", async () => {
    const file = join(ours.workspace, "empty.txt");
    const callId = await asked(
      call("write_file", { file_path: file, content: "theirs\n" }),
    );
    await client.answer({ callId, outcome: "proceed_once", newContent: "" });
    expect(readFileSync(file, "utf8")).toBe("");
  });

  it("asks again with the content of the user for modify_with_editor, and opens no editor", async () => {
    const file = join(ours.workspace, "again.txt");
    const callId = await asked(
      call("write_file", { file_path: file, content: "theirs\n" }),
    );
    const again = await client.answer({
      callId,
      outcome: "modify_with_editor",
      newContent: "mine\n",
    });
    expect(transcriptOf(again).slice(-2)).toEqual([
      "tool-call-confirmation write_file awaiting_approval edit",
      "end input-required",
    ]);
    await client.answer({ callId, outcome: "proceed_once" });
    expect(readFileSync(file, "utf8")).toBe("mine\n");
  });

  it("asks about all calls of a step together, and accepts the answers in one message", async () => {
    client = new RawClient(ours);
    const lines = ["one", "two"].map(
      (word) =>
        `call run_shell_command ${JSON.stringify({ command: `echo ${word}` })}`,
    );
    const ids = askedIn(
      await client.begin([...lines, "text Finished."].join("\n")),
    );
    expect(ids).toHaveLength(2);
    const turn = await client.answer(
      ...ids.map((callId) => ({ callId, outcome: "proceed_once" })),
    );
    expect(transcriptOf(turn)).toEqual(
      expect.arrayContaining([
        "output one",
        "output two",
        "end input-required",
      ]),
    );
  });

  it("ends the command of a canceled task, and accepts a further message to the task", async () => {
    const mark = join(ours.workspace, "outlived");
    const callId = await asked(
      call("run_shell_command", {
        command: `echo begun; sleep 30; touch ${mark}`,
      }),
    );
    const running = client.answer({ callId, outcome: "proceed_once" });
    await expect
      .poll(() => client.call("tasks/get", { id: client.taskId }))
      .toMatchObject({ result: { status: { state: "working" } } });
    expect(
      await client.call("tasks/cancel", { id: client.taskId }),
    ).toMatchObject({
      result: { status: { state: "canceled" } },
    });
    expect(transcriptOf(await running).slice(-2)).toEqual([
      "tool-call-update run_shell_command cancelled",
      "end canceled",
    ]);
    expect(existsSync(mark)).toBe(false);
    expect(transcriptOf(await client.say("text On we go."))).toEqual([
      "text-content On we go.",
      "end input-required",
    ]);
  });

  it("continues when its client disconnects", async () => {
    const gone = new AbortController();
    const message = {
      ...{
        kind: "message",
        role: "user",
        messageId: crypto.randomUUID(),
        parts: [{ kind: "text", text: "wait 50\ntext Late." }],
      },
      metadata: { coderAgent: { kind: "agent-settings" } },
    };
    const response = await fetch(ours.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${ours.token}`,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "message/stream",
        params: { message },
      }),
      signal: gone.signal,
    });
    const first = await response.body
      ?.pipeThrough(new TextDecoderStream())
      .getReader()
      .read();
    const [, id = ""] = /"id":"([0-9a-f-]{36})"/.exec(first?.value ?? "") ?? [];
    gone.abort();
    client = new RawClient(ours);
    await expect
      .poll(() => client.call("tasks/get", { id }))
      .toMatchObject({
        result: {
          status: { state: "input-required" },
          history: [{}, { parts: [{ text: "Late." }] }],
        },
      });
  });

  it("keeps its approvals over a restart", async () => {
    const dataDirectory = temporaryDirectory();
    const { workspace } = ours;
    const file = join(workspace, "restarted.txt");
    const options = { workspace, dataDirectory };
    let callId = "";
    let taskId = "";
    {
      await using before = await startOurs(options);
      const asking = new RawClient({ ...before, workspace });
      [callId = ""] = askedIn(
        await asking.begin(
          call("write_file", { file_path: file, content: "kept\n" }),
        ),
      );
      taskId = asking.taskId;
    }
    await using after = await startOurs(options);
    const answering = new RawClient({ ...after, workspace });
    answering.resume(taskId);
    const turn = transcriptOf(
      await answering.answer({ callId, outcome: "proceed_once" }),
    );
    expect(turn.slice(-3)).toEqual([
      "tool-call-update write_file success",
      "text-content Finished.",
      "end input-required",
    ]);
    expect(readFileSync(file, "utf8")).toBe("kept\n");
  });

  it("streams the history also of a task at rest", async () => {
    await asked("text Hello.");
    const told = await client.call("tasks/get", { id: client.taskId });
    expect(told).toMatchObject({
      result: {
        status: { state: "input-required" },
        history: [{ role: "user" }, { parts: [{ text: "Hello." }] }],
      },
    });
  });
});

describe("the routes of Gemini CLI's own server, in ours", () => {
  let ours: Served;
  let client: RawClient;

  beforeAll(async () => {
    ours = await startOurs();
    client = new RawClient(ours);
  });

  afterAll(() => ours[Symbol.asyncDispose]());

  it("list no tasks before there is one", async () => {
    expect(await client.http("GET", "/tasks/metadata")).toEqual({
      status: 204,
      body: "",
    });
  });

  it("list commands with their subcommands", async () => {
    const { status, body } = await client.http("GET", "/listCommands");
    const { commands } = JSON.parse(body);
    const memory = commands.find(
      ({ name }: { name: string }) => name === "memory",
    );
    expect(status).toBe(200);
    expect(memory.arguments).toEqual([]);
    expect(
      memory.subCommands.map(({ name }: { name: string }) => name),
    ).toContain("memory show");
  });

  it("run a command to its end and return its text", async () => {
    const { status, body } = await client.http("POST", "/executeCommand", {
      command: "about",
      args: [],
    });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({
      name: "about",
      data: expect.stringContaining("model: scripted"),
    });
  });

  it("run a command until its approval, which is answered in its task", async () => {
    const { body } = await client.http("POST", "/executeCommand", {
      command: "shell",
      args: ["echo from", "a command"],
    });
    const { taskId, data } = JSON.parse(body);
    expect(data).toContain("approval");
    client.resume(taskId);
    const { result } = JSON.parse(
      JSON.stringify(await client.call("tasks/get", { id: taskId })),
    );
    const asked = result.history.flatMap(
      ({ parts }: { parts: { data?: { request?: { callId: string } } }[] }) =>
        parts,
    );
    const callId = asked.find((part: { data?: object }) => part.data)?.data
      .request.callId;
    expect(
      transcriptOf(await client.answer({ callId, outcome: "proceed_once" })),
    ).toContain("output from a command");
  });

  it.each([
    [404, { command: "nothing" }],
    [400, {}],
    [400, { command: 7 }],
    [400, { command: "about", args: "none" }],
    [400, { command: "shell" }],
  ])("answer %i with a message to %j", async (expected, body) => {
    const answer = await client.http("POST", "/executeCommand", body);
    expect(answer.status).toBe(expected);
    expect(JSON.parse(answer.body).error).toMatch(/\w/);
  });

  it("stream init as server-sent events", async () => {
    const { body } = await client.http("POST", "/executeCommand", {
      command: "init",
    });
    const events = body
      .split("\n\n")
      .filter((event) => event.startsWith("id:"));
    const frames: Frame[] = events.map((event) =>
      JSON.parse(event.slice(event.indexOf("data:") + 5)),
    );
    expect(transcriptOf(frames)[0]).toBe("task submitted");
    expect(frames.at(-1)).toMatchObject({ result: { final: true } });
  });

  it("promise a task that begins with its first message, under the promised id", async () => {
    const agentSettings = {
      kind: "agent-settings",
      workspacePath: ours.workspace,
    };
    const { status, body } = await client.http("POST", "/tasks", {
      agentSettings,
      contextId: "mine",
    });
    expect(status).toBe(201);
    const id: string = JSON.parse(body);
    expect(
      JSON.parse((await client.http("GET", `/tasks/${id}/metadata`)).body),
    ).toEqual({
      metadata: {
        id,
        contextId: "mine",
        taskState: "submitted",
        model: "",
        mcpServers: [],
        availableTools: [],
      },
    });
    client.resume(id);
    const turn = await client.say(
      call("run_shell_command", { command: "echo promised" }),
    );
    for (const { result } of turn.slice(1)) {
      expect(result).toMatchObject({ taskId: id, contextId: "mine" });
    }
    const [callId = ""] = askedIn(turn);
    expect(
      transcriptOf(await client.answer({ callId, outcome: "proceed_once" })),
    ).toContain("output promised");
    const info = JSON.parse(
      (await client.http("GET", `/tasks/${id}/metadata`)).body,
    );
    expect(info).toMatchObject({
      metadata: { id, taskState: "input-required", model: "scripted" },
    });
    expect((await client.http("GET", "/tasks/metadata")).status).toBe(200);
  });

  it("keep a promise when its first message is refused", async () => {
    const id: string = JSON.parse(
      (await client.http("POST", "/tasks", {})).body,
    );
    client.resume(id);
    expect(await client.answer()).toMatchObject([{ error: { code: -32602 } }]);
    expect((await client.say("text Now."))[0]).toMatchObject({
      result: { kind: "task", id },
    });
  });

  it("refuse settings with which no task could work", async () => {
    const agentSettings = { kind: "agent-settings", workspacePath: "/etc" };
    const { status, body } = await client.http("POST", "/tasks", {
      agentSettings,
    });
    expect(status).toBe(400);
    expect(JSON.parse(body).error).toContain("/etc");
  });

  it("answer 404 for an unknown task", async () => {
    expect((await client.http("GET", "/tasks/none/metadata")).status).toBe(404);
  });
});

if (!HAS_PEER) {
  console.info(
    "skipped: Gemini CLI's own server is not installed: run npx -y pnpm@12 install:peers",
  );
}
describe.skipIf(!HAS_PEER)("Gemini CLI's own server itself", () => {
  let peer: Served;

  beforeAll(async () => {
    peer = await startPeer();
  });

  afterAll(() => peer[Symbol.asyncDispose]());

  for (const { name, play } of RAW_SCENARIOS) {
    it(`still answers "${name}" as it was recorded`, async () => {
      expect((await play(new RawClient(peer), peer)).map(transcriptOf)).toEqual(
        goldenOf(name),
      );
    });
  }

  it.each([
    [
      "an unknown callId",
      () => ({ callId: "nobody", outcome: "proceed_once" }),
    ],
    [
      "an unknown outcome",
      (callId: string) => ({ callId, outcome: "perhaps" }),
    ],
    [
      "content of the user's",
      (callId: string) => ({
        callId,
        outcome: "proceed_once",
        newContent: "mine\n",
      }),
    ],
  ])("does not answer %s", async (_what, answer) => {
    const client = new RawClient(peer);
    const file = join(peer.workspace, "never.txt");
    const [callId = ""] = askedIn(
      await client.begin(
        call("write_file", { file_path: file, content: "theirs\n" }),
      ),
    );
    const waiting = new RawClient(peer, 1500);
    waiting.resume(client.taskId);
    await expect(waiting.answer(answer(callId))).rejects.toMatchObject({
      name: "TimeoutError",
    });
    expect(existsSync(file)).toBe(false);
  });
});
