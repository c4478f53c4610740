import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pendingToolCalls, textMessage } from "@devtool/client";
import {
  findToolCall,
  type TaskEvent,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import { AcpWorld, type AcpWorldOptions } from "./agent/world.ts";

const world = (options: AcpWorldOptions = {}): Promise<AcpWorld> =>
  new AcpWorld(options).start();

/** The statuses of a call, in the order of the events. */
function statuses(events: readonly TaskEvent[], toolCallId: string): string[] {
  return events.flatMap(({ payload }) =>
    payload.case === "toolCall" && payload.value.toolCallId === toolCallId
      ? [ToolCallStatus[payload.value.status]]
      : [],
  );
}

describe("an ACP agent behind the port", () => {
  it("answers with what the agent says and thinks", async () => {
    await using acp = await world();
    const { task, events, text } = await acp.say(
      "think **Plan**|Say hello.\nsay Hello\nsay , world.",
    );
    expect([TaskState[task.state], text]).toEqual([
      "COMPLETED",
      "Hello, world.",
    ]);
    const thoughts = events.flatMap(({ payload }) =>
      payload.case === "thought" ? [payload.value] : [],
    );
    expect(thoughts).toMatchObject([
      { subject: "Plan", description: "Say hello." },
    ]);
  });

  it("shows a call as the agent fills it in", async () => {
    await using acp = await world();
    const { task, events } = await acp.say("tool list files");
    expect(statuses(events, "call-1")).toEqual([
      "PENDING",
      "PENDING",
      "PENDING",
      "EXECUTING",
      "SUCCEEDED",
    ]);
    const live = events.map(({ payload }) =>
      payload.case === "toolCall" ? payload.value.liveContent : undefined,
    );
    expect(live).toContain("half");
    expect(findToolCall(task, "call-1")).toMatchObject({
      toolName: "read",
      description: "list files",
      inputParameters: { name: "list files" },
      result: {
        case: "output",
        value: { result: { case: "text", value: "list files done" } },
      },
    });
  });

  it("shows the output of the agent's own terminals, which Codex and others send in _meta", async () => {
    await using acp = await world();
    const piece = (fields: object): string =>
      `update ${JSON.stringify({ sessionUpdate: "tool_call_update", toolCallId: "c1", ...fields })}`;
    const content = [{ type: "terminal", terminalId: "c1" }];
    const output = (data: string): object => ({
      _meta: { terminal_output_delta: { data, terminal_id: "c1" } },
    });
    const exit = {
      terminal_exit: { exit_code: 3, signal: null, terminal_id: "c1" },
    };
    const { task, events } = await acp.say(
      [
        piece({
          sessionUpdate: "tool_call",
          title: "make",
          kind: "execute",
          status: "in_progress",
          content,
        }),
        ...["one\n", "two\n"].map((data) => piece(output(data))),
        piece({ status: "failed", _meta: exit }),
      ].join("\n"),
    );
    const live = events.map(({ payload }) =>
      payload.case === "toolCall" ? payload.value.liveContent : undefined,
    );
    expect(live).toContain("one\ntwo\n");
    expect(findToolCall(task, "c1")?.result).toMatchObject({
      case: "error",
      value: { message: "one\ntwo\n", statusCode: 3 },
    });
  });

  it("asks the user, and answers the agent with its own id of the option", async () => {
    await using acp = await world();
    const asked = await acp.say("ask make test");
    expect(TaskState[asked.task.state]).toBe("INPUT_REQUIRED");
    expect(
      findToolCall(asked.task, "call-1")?.confirmationRequest,
    ).toMatchObject({
      options: [
        { id: "proceed_once", name: 'Allow once ("Yes")' },
        { id: "proceed_always", name: 'Always allow ("Always")' },
        { id: "cancel", name: 'Decline ("No")' },
      ],
      details: { case: "executeDetails", value: { command: "make test" } },
    });
    const { task } = await acp.answer(asked.task, "proceed_once");
    expect([
      TaskState[task.state],
      findToolCall(task, "call-1")?.status,
    ]).toEqual(["COMPLETED", ToolCallStatus.SUCCEEDED]);
  });

  it("keeps a declined call cancelled, although the agent reports that it failed", async () => {
    await using acp = await world();
    const asked = await acp.say("ask make test\nsay done");
    const { task, text } = await acp.answer(asked.task, "cancel");
    expect([text, findToolCall(task, "call-1")?.status]).toEqual([
      "done",
      ToolCallStatus.CANCELLED,
    ]);
  });

  it("asks about several calls at once", async () => {
    await using acp = await world();
    const { task: asking } = await acp.say("asks one two three");
    let asked = asking;
    // The task waits from the first question on.
    await expect
      .poll(async () => {
        const got = await acp.client.tasks.getTask({ taskId: asking.id });
        asked = got.task ?? asked;
        return pendingToolCalls(asked).length;
      })
      .toBe(3);
    const { task } = await acp.answer(asked, "proceed_once");
    const all = ["call-1", "call-2", "call-3"].map(
      (id) => findToolCall(task, id)?.status,
    );
    expect(all).toEqual([
      ToolCallStatus.SUCCEEDED,
      ToolCallStatus.SUCCEEDED,
      ToolCallStatus.SUCCEEDED,
    ]);
  });
});

describe("a turn of an ACP agent", () => {
  const ends: readonly (readonly [reason: string, state: string])[] = [
    ["end_turn", "COMPLETED"],
    ["max_tokens", "FAILED"],
    ["max_turn_requests", "FAILED"],
    ["refusal", "REJECTED"],
    ["cancelled", "FAILED"],
  ];
  for (const [reason, state] of ends) {
    it(`is ${state} when the agent stops with ${reason}`, async () => {
      await using acp = await world();
      const { task } = await acp.say(`stop ${reason}`);
      expect(TaskState[task.state]).toBe(state);
    });
  }

  it("fails with the agent's words when the agent refuses the prompt", async () => {
    await using acp = await world();
    const { task } = await acp.say("fail -32603 no more credit");
    expect(task).toMatchObject({
      state: TaskState.FAILED,
      error: expect.stringContaining("no more credit"),
    });
  });

  it("waits for a login when the agent requires one, and names the ways", async () => {
    await using acp = await world({ flags: ["--auth"] });
    const { task } = await acp.say("say Hi.");
    expect([TaskState[task.state], task.stateText]).toEqual([
      "AUTH_REQUIRED",
      expect.stringContaining(
        'agent "fake" requires a login; it offers Fake login (fake-login)',
      ),
    ]);
  });

  it("logs in by itself where the operator chose how", async () => {
    await using acp = await world({
      flags: ["--auth"],
      authMethod: "fake-login",
    });
    expect((await acp.say("say Hi.")).text).toBe("Hi.");
  });

  it("goes on in the same session of the agent", async () => {
    await using acp = await world();
    const first = await acp.say("say one");
    const message = textMessage(crypto.randomUUID(), "say two");
    const second = await acp.say(message, first.task);
    expect(second.task.agentSessionId).toBe(first.task.agentSessionId);
    expect([second.text, second.task.agentSessionId === ""]).toEqual([
      "two",
      false,
    ]);
  });

  it("ends when it is canceled, and so does the call that runs", async () => {
    await using acp = await world();
    const { task } = await acp.until("work", ({ history }) =>
      JSON.stringify(history, bigints).includes("working"),
    );
    const canceled = await acp.cancel(task);
    expect([
      TaskState[canceled.state],
      findToolCall(canceled, "call-1")?.status,
    ]).toEqual(["CANCELED", ToolCallStatus.CANCELLED]);
  });
});

describe("an ACP agent that fails", () => {
  const cases: readonly (readonly [
    what: string,
    lines: string,
    error: RegExp,
    options?: AcpWorldOptions,
  ])[] = [
    ["ends in its turn again and again", "die 7", /it ended with exit code 7/],
    [
      "ends at the start",
      "say Hi.",
      /it ended with exit code 9/,
      { flags: ["--die-at", "session/new"] },
    ],
    [
      "writes a line without an end",
      "long 10000",
      /it wrote a line of more than 5000 bytes/,
      { limits: { maxMessageBytes: 5000 } },
    ],
    [
      "floods",
      "flood 3000",
      /it sent more than 20 messages within a second/,
      { limits: { maxMessagesPerSecond: 20 } },
    ],
    [
      "cannot be started",
      "say Hi.",
      /it could not be started/,
      { command: { command: "/no/such/agent" } },
    ],
    [
      "hangs at initialize",
      "say Hi.",
      /did not open a session within 1500 ms/,
      { flags: ["--hang-at", "initialize"], limits: { startTimeoutMs: 1500 } },
    ],
  ];
  for (const [what, lines, error, options] of variantsOf(
    "failures of an ACP agent",
    cases,
    2,
  )) {
    it(`fails its task, and no other, when it ${what}`, async () => {
      await using acp = await world(options);
      const { task } = await acp.say(lines);
      expect([TaskState[task.state], task.error]).toEqual([
        "FAILED",
        expect.stringMatching(error),
      ]);
    });
  }

  it("ignores lines that are not messages, and tells the operator once", async () => {
    await using acp = await world();
    const { text } = await acp.say(
      'print npm notice\nprint {"jsonrpc":"2.0"}\nprint [1]\nprint {"id":99,"result":{}}\nsay Hi.',
    );
    expect(text).toBe("Hi.");
    expect(acp.notices).toEqual([
      'agent "fake" writes lines that are no messages: they are skipped',
    ]);
  });

  it("tells the operator its last words", async () => {
    await using acp = await world();
    await acp.say("complain out of memory\ndie 1");
    expect(acp.notices.join("\n")).toMatch(
      /it ended with exit code 1; its last words: .*out of memory/,
    );
  });

  it("leaves a call that ran as interrupted", async () => {
    await using acp = await world();
    const running = {
      sessionUpdate: "tool_call",
      toolCallId: "c",
      title: "run",
      status: "in_progress",
      content: [],
    };
    const { task } = await acp.say(`update ${JSON.stringify(running)}\ndie 1`);
    expect(findToolCall(task, "c")).toMatchObject({
      status: ToolCallStatus.FAILED,
      result: { case: "error", value: { type: "interrupted" } },
    });
    expect(TaskState[task.state]).toBe("FAILED");
  });
});

describe("an ACP agent and a restart", () => {
  it("goes on with its session after a restart of the server, and shows nothing twice", async () => {
    await using acp = await world({ isDurable: true });
    const first = await acp.say("say one");
    await acp.restart();
    const second = await acp.say("say two", first.task);
    expect([second.text, second.task.agentSessionId]).toEqual([
      "two",
      first.task.agentSessionId,
    ]);
  });

  it("asks an open question again after a restart, and answers it once, without asking the user again", async () => {
    await using acp = await world({ isDurable: true, flags: ["--resume"] });
    const asked = await acp.say("say before\nask make\nsay after");
    await acp.restart();
    const { task, text, events } = await acp.answer(asked.task, "proceed_once");
    expect([TaskState[task.state], text]).toEqual(["COMPLETED", "after"]);
    expect(statuses(events, "call-1")).toEqual([
      "PENDING",
      "EXECUTING",
      "SUCCEEDED",
    ]);
  });

  it.each(
    variantsOf("questions of a call that runs", ["runask", "codexask"], 1),
  )(
    "asks again, too, where the agent said before that the call runs (%s)",
    async (step) => {
      await using acp = await world({ isDurable: true });
      const asked = await acp.say(`say before\n${step} make\nsay after`);
      await acp.restart();
      const { task, text, events } = await acp.answer(
        asked.task,
        "proceed_once",
      );
      expect([TaskState[task.state], text]).toEqual(["COMPLETED", "after"]);
      expect(statuses(events, "call-1")).toEqual([
        "PENDING",
        "EXECUTING",
        "SUCCEEDED",
      ]);
    },
  );

  it.skipIf(LEFT_TO_CI !== "")(
    `does the same when only the agent was killed while it asked${LEFT_TO_CI}`,
    async () => {
      await using acp = await world({ isDurable: true });
      const asked = await acp.say("say before\nask make\nsay after");
      acp.killAgents();
      await expect
        .poll(() => acp.notices, { timeout: 60_000 })
        .toContain('agent "fake" ended: it was ended by SIGKILL');
      const { task, text } = await acp.answer(asked.task, "proceed_once");
      expect([TaskState[task.state], text]).toEqual(["COMPLETED", "after"]);
      expect(findToolCall(task, "call-1")?.status).toBe(
        ToolCallStatus.SUCCEEDED,
      );
    },
  );

  it.skipIf(LEFT_TO_CI !== "")(
    `declines after a restart what the user declined${LEFT_TO_CI}`,
    async () => {
      await using acp = await world({ isDurable: true });
      const asked = await acp.say("ask make\nsay after");
      await acp.restart();
      const { task, text } = await acp.answer(asked.task, "cancel");
      expect([text, findToolCall(task, "call-1")?.status]).toEqual([
        "after",
        ToolCallStatus.CANCELLED,
      ]);
    },
  );

  it("C-M1: says in its answer that what the user approved did not run, when it does not make the call again", async () => {
    await using acp = await world({ isDurable: true });
    const asked = await acp.say("ask make\nsay after");
    await acp.restart();
    // The agent has forgotten what it asked.
    const path = join(acp.directory, `${asked.task.agentSessionId}.json`);
    const session: object = JSON.parse(readFileSync(path, "utf8"));
    writeFileSync(path, JSON.stringify({ ...session, todo: ["say after"] }));
    const { task, text } = await acp.answer(asked.task, "proceed_once");
    expect([TaskState[task.state], text]).toEqual([
      "COMPLETED",
      "after\n\n(What you approved did not run, because the agent did not make the call again after it was restarted: execute make)",
    ]);
    expect(findToolCall(task, "call-1")?.result).toMatchObject({
      value: { type: "approval_outdated" },
    });
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `begins again, and says so, where the agent cannot load a session${LEFT_TO_CI}`,
    async () => {
      await using acp = await world({ isDurable: true, flags: ["--no-load"] });
      const first = await acp.say("say one");
      await acp.restart();
      const second = await acp.say("say two", first.task);
      expect(second.text).toBe("two");
      const notices = second.events.flatMap(({ payload }) =>
        payload.case === "notice" ? [payload.value.text] : [],
      );
      expect(notices).toEqual([
        'Agent "fake" cannot go on with its earlier session: it begins a new one.',
      ]);
      expect(second.task.agentSessionId).not.toBe(first.task.agentSessionId);
    },
  );
});

function bigints(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
