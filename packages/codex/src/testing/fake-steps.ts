import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { patch, runAsking, runCommand, say } from "./fake-items.ts";
import {
  running,
  type Turn,
  usage,
  waitForSteer,
  withdrawLastRequest,
} from "./fake-turn.ts";
import {
  die,
  type Json,
  memoryOf,
  nextNumber,
  notify,
  objectOf,
  pending,
  remember,
} from "./fake-wire.ts";

const update = (name: string): Json => ({
  path: join(process.cwd(), name),
  kind: { type: "update", move_path: null },
  diff: "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n",
});

/** The action of each line of a prompt, by its first word. */
export const STEPS: Readonly<
  Record<string, (current: Turn, rest: string) => void | Promise<void>>
> = {
  say,
  remember: ({ threadId }, rest) => remember(threadId, rest),
  /**
   * Says which process this is, and what it has been told to `remember` in the
   * thread.
   */
  recall: (current) => {
    const { threadId } = current;
    say(
      current,
      JSON.stringify({
        process: process.pid,
        session: threadId,
        known: memoryOf(threadId),
      }),
    );
  },
  run: (current, rest) => runCommand(current, rest, 0, "out\n"),
  fail: (current, rest) => runCommand(current, rest, 3, "bad\n"),
  big: (current, rest) =>
    runCommand(current, "big", 0, "x".repeat(Number(rest))),
  ask: (current, rest) => runAsking(current, rest),
  escalate: (current, rest) =>
    runAsking(current, rest, { reason: "outside, please" }),
  connect: (current, rest) =>
    runAsking(current, rest, {
      networkApprovalContext: { host: "h", protocol: "https" },
    }),
  // A line that a bridge writes after a restart.
  The: async (current, rest) => {
    const command = /^user approved this call.*: shell: (.*)$/.exec(rest)?.[1];
    if (command !== undefined) await runAsking(current, command);
  },
  patch: (current, rest) =>
    patch(
      current,
      rest === "" ? [update("a.txt")] : rest.split(" ").map(update),
    ),
  think: (current, rest) => {
    const id = `rs_${nextNumber()}`;
    current.start({ type: "reasoning", id, summary: [], content: [] });
    current.note("item/reasoning/summaryPartAdded", {
      itemId: id,
      summaryIndex: 0,
    });
    current.note("item/reasoning/summaryTextDelta", {
      itemId: id,
      delta: rest,
      summaryIndex: 0,
    });
    current.complete({ type: "reasoning", id, summary: [rest], content: [] });
  },
  plan: (current) =>
    current.note("turn/plan/updated", {
      explanation: "why",
      plan: [{ step: "a", status: "completed" }],
    }),
  usage: (current) =>
    current.note("thread/tokenUsage/updated", { tokenUsage: usage }),
  mcp: (current) => {
    const item = {
      type: "mcpToolCall",
      id: `call_${nextNumber()}`,
      server: "s",
      tool: "t",
      arguments: { a: 1 },
    };
    current.start({ ...item, status: "inProgress", result: null, error: null });
    const result = {
      content: [{ type: "text", text: "hello" }],
      structuredContent: null,
    };
    current.complete({ ...item, status: "completed", result, error: null });
  },
  collab: (current) => {
    const item = {
      type: "collabAgentToolCall",
      id: `call_${nextNumber()}`,
      tool: "spawnAgent",
      prompt: "Help.",
    };
    const threads = {
      senderThreadId: current.threadId,
      receiverThreadIds: ["child"],
    };
    current.start({
      ...item,
      ...threads,
      status: "inProgress",
      agentsStates: {},
    });
    const child = {
      type: "agentMessage",
      id: "msg_child",
      text: "for the parent only",
    };
    notify("item/completed", { threadId: "child", turnId: "t", item: child });
    const agentsStates = { child: { status: "running", message: null } };
    current.complete({
      ...item,
      ...threads,
      status: "completed",
      agentsStates,
    });
  },
  permit: async (current) => {
    const permissions = { network: { enabled: true }, fileSystem: null };
    say(
      current,
      JSON.stringify(
        await current.request("item/permissions/requestApproval", {
          permissions,
          reason: "r",
        }),
      ),
    );
  },
  input: async (current) => {
    const options = [
      { label: "A", description: "a" },
      { label: "B", description: "b" },
    ];
    const questions = [
      {
        id: "q1",
        header: "H",
        question: "Which?",
        isOther: false,
        isSecret: false,
        options,
      },
      {
        id: "q2",
        header: "",
        question: "Why?",
        isOther: true,
        isSecret: false,
        options: null,
      },
    ];
    say(
      current,
      JSON.stringify(
        await current.request("item/tool/requestUserInput", {
          itemId: "i",
          questions,
        }),
      ),
    );
  },
  elicit: async (current) => {
    const requestedSchema = {
      type: "object",
      properties: { name: { type: "string" } },
    };
    const asked = {
      serverName: "s",
      mode: "form",
      message: "Name?",
      requestedSchema,
    };
    say(
      current,
      JSON.stringify(
        await current.request("mcpServer/elicitation/request", asked),
      ),
    );
  },
  /**
   * Asks whether a tool of an MCP server may be called, as an elicitation, with
   * changes to the request as JSON.
   */
  mcpask: async (current, rest) => {
    const args = { a: 1 };
    const item = {
      type: "mcpToolCall",
      id: `call_${nextNumber()}`,
      server: "s",
      tool: "t",
      arguments: args,
    };
    current.start({ ...item, status: "inProgress", result: null, error: null });
    const asked = {
      serverName: "s",
      mode: "form",
      message: 'Allow the s MCP server to run tool "t"?',
      requestedSchema: { type: "object", properties: {} },
      _meta: {
        codex_approval_kind: "mcp_tool_call",
        persist: ["session", "always"],
        tool_params: args,
      },
      ...JSON.parse(rest || "{}"),
    };
    const answer = await current.request(
      "mcpServer/elicitation/request",
      asked,
    );
    const isAccepted = objectOf(answer).action === "accept";
    current.complete({
      ...item,
      status: isAccepted ? "completed" : "failed",
      result: isAccepted
        ? { content: [{ type: "text", text: "hello" }] }
        : null,
      error: isAccepted ? null : { message: "user rejected MCP tool call" },
    });
    say(current, JSON.stringify(answer));
  },
  tool: async (current) =>
    say(
      current,
      JSON.stringify(await current.request("item/tool/call", { tool: "x" })),
    ),
  withdraw: async (current, command) => {
    const id = `call_${nextNumber()}`;
    current.start({
      type: "commandExecution",
      id,
      command,
      cwd: ".",
      processId: null,
      status: "inProgress",
    });
    const asked = current.request("item/commandExecution/requestApproval", {
      itemId: id,
      command,
    });
    await waitForSteer();
    withdrawLastRequest();
    await asked;
    current.complete({
      type: "commandExecution",
      id,
      command,
      cwd: ".",
      status: "declined",
    });
  },
  steer: async (current) => {
    // A finished item is where the bridge looks for messages that steer.
    while (!current.isOver) {
      const text = await Promise.race([waitForSteer(), delay(20)]);
      if (text !== undefined) return say(current, `steered: ${text}`);
      current.complete({
        type: "reasoning",
        id: `rs_${nextNumber()}`,
        summary: [],
        content: [],
      });
    }
  },
  hang: async () => {
    const stopped = Promise.withResolvers<void>();
    const end = running.interrupt;
    running.interrupt = () => {
      end?.();
      stopped.resolve();
    };
    await stopped.promise;
  },
  deaf: () => new Promise(() => (running.interrupt = undefined)),
  broken: (current) => {
    const codexErrorInfo = {
      responseStreamDisconnected: { httpStatusCode: 502 },
    };
    current.end("failed", { message: "stream disconnected", codexErrorInfo });
  },
  login: (current) =>
    current.end("failed", {
      message: "log in",
      codexErrorInfo: "unauthorized",
    }),
  askdie: (current, rest) => runAsking(current, rest, { dies: true }),
  rundie: (current, command) => {
    const item = {
      type: "commandExecution",
      id: `call_${nextNumber()}`,
      command,
      cwd: process.cwd(),
      processId: "1",
    };
    current.start({ ...item, status: "inProgress" });
    die();
  },
  killed: die,
  die: () => process.exit(7),
  garbage: (_current, rest) => {
    for (let count = 0; count < Number(rest); count++) {
      process.stdout.write("this is not JSON\n");
    }
  },
  flood: (current, rest) => {
    for (let count = 0; count < Number(rest); count++) {
      current.note("item/agentMessage/delta", { itemId: "m", delta: "x" });
    }
  },
  long: () => void process.stdout.write("x".repeat(40 * 1024 * 1024)),
  /**
   * Writes a message as it is, but for the ids of the thread and the turn. Says
   * what a request is answered with.
   */
  emit: async (current, rest) => {
    const line = rest
      .replaceAll("THREAD", current.threadId)
      .replaceAll("TURN", current.turnId);
    const { id, method } = objectOf(JSON.parse(line));
    const answer = Promise.withResolvers<Json>();
    const isRequest = typeof id === "string" || typeof id === "number";
    if (isRequest) pending.set(Number(id), answer.resolve);
    process.stdout.write(`${line}\n`);
    if (method === "turn/completed") current.isOver = true;
    if (!isRequest) return;
    const { result, error } = await answer.promise;
    notify("serverRequest/resolved", {
      threadId: current.threadId,
      requestId: id,
    });
    say(current, `answer: ${JSON.stringify(result ?? { refused: error })};;`);
  },
  unknown: (current) => {
    current.note("some/new/notification", { x: 1 });
    current.start({ type: "someNewItem", id: "new" });
    current.complete({ type: "someNewItem", id: "new", newField: true });
  },
};
