import type { JsonObject } from "@bufbuild/protobuf";

const PLACE = { threadId: "THREAD", turnId: "TURN" };
const note = (method: string, params: JsonObject): JsonObject => ({
  method,
  params: { ...PLACE, ...params },
});
const started = (item: JsonObject): JsonObject =>
  note("item/started", { item: { status: "inProgress", ...item } });
const completed = (item: JsonObject): JsonObject =>
  note("item/completed", { item: { status: "completed", ...item } });
/** An item that begins and ends; what is only known at its end. */
const whole = (item: JsonObject, end: JsonObject = {}): JsonObject[] => [
  started(item),
  completed({ ...item, ...end }),
];
const ask = (method: string, params: JsonObject): JsonObject => ({
  id: 900,
  ...note(method, params),
});
const delta = (method: string, itemId: string, text: string): JsonObject =>
  note(method, { itemId, delta: text });

const MESSAGE = { type: "agentMessage", id: "m1" };
const COMMAND = { type: "commandExecution", id: "c1", cwd: "/w" };
const PATCH = {
  type: "fileChange",
  id: "f1",
  changes: [
    { path: "/w/golf", kind: { type: "add" }, diff: "hotel\n" },
    { path: "/w/india", kind: { type: "delete" }, diff: "juliet\n" },
  ],
};
/** The last message of Codex in a scene. */
export const LAST: JsonObject = completed({
  type: "agentMessage",
  id: "m9",
  text: "zulu",
});

/**
 * What Codex sends in a turn, by what it is about. Each text is a word of its
 * own (NATO alphabet).
 */
export const SCENES: Readonly<Record<string, readonly JsonObject[]>> = {
  words: [
    started({ ...MESSAGE, text: "" }),
    delta("item/agentMessage/delta", "m1", "alpha "),
    delta("item/agentMessage/delta", "m1", "bravo"),
    completed({ ...MESSAGE, text: "alpha bravo" }),
    ...whole(
      { type: "reasoning", id: "r1" },
      { summary: ["charlie", "delta"] },
    ),
    note("item/reasoning/summaryTextDelta", {
      itemId: "r2",
      summaryIndex: 0,
      delta: "echo",
    }),
    completed({ type: "reasoning", id: "r2", summary: [] }),
    completed({ type: "reasoning", id: "r3", content: ["foxtrot"] }),
    completed({ type: "plan", id: "p1", text: "golf" }),
    completed({ type: "exitedReviewMode", id: "v1", review: "hotel" }),
    completed({
      type: "subAgentActivity",
      id: "s1",
      agentPath: "india",
      kind: "juliet",
    }),
    LAST,
  ],
  calls: [
    ...whole(
      { ...COMMAND, command: "alpha", processId: "1" },
      { aggregatedOutput: "bravo", exitCode: 0 },
    ),
    ...whole(PATCH),
    ...whole(
      {
        type: "mcpToolCall",
        id: "t1",
        server: "charlie",
        tool: "delta",
        arguments: { a: ["echo"] },
      },
      {
        result: {
          content: [
            { type: "text", text: "kilo" },
            { type: "text", text: "lima" },
          ],
        },
        error: null,
      },
    ),
    ...whole(
      { type: "mcpToolCall", id: "t2", server: "s", tool: "t", arguments: {} },
      { status: "failed", error: { message: "mike" } },
    ),
    LAST,
  ],
  others: [
    ...whole(
      { type: "dynamicToolCall", id: "d1", tool: "alpha", arguments: "bravo" },
      { contentItems: [{ type: "inputText", text: "charlie" }] },
    ),
    ...whole(
      {
        type: "collabAgentToolCall",
        id: "g1",
        tool: "spawnAgent",
        senderThreadId: "THREAD",
        receiverThreadIds: ["delta"],
        prompt: "echo",
      },
      { agentsStates: { child: { status: "foxtrot" } } },
    ),
    ...whole(
      { type: "webSearch", id: "w1", query: "golf" },
      { action: { type: "search", query: "hotel" } },
    ),
    ...whole({ type: "imageView", id: "i1", path: "/india" }),
    ...whole(
      { type: "imageGeneration", id: "i2", revisedPrompt: "juliet" },
      { savedPath: "/kilo" },
    ),
    ...whole({ type: "sleep", id: "z1", durationMs: 5 }),
    LAST,
  ],
  live: [
    started({ ...COMMAND, command: "alpha", processId: "1" }),
    delta("item/commandExecution/outputDelta", "c1", "bravo "),
    completed({
      ...COMMAND,
      command: "alpha",
      aggregatedOutput: "bravo charlie",
    }),
    started({ type: "mcpToolCall", id: "t1", server: "s", tool: "t" }),
    note("item/mcpToolCall/progress", { itemId: "t1", message: "delta" }),
    completed({ type: "mcpToolCall", id: "t1", server: "s", tool: "t" }),
    note("turn/plan/updated", {
      explanation: "echo",
      plan: [
        { step: "foxtrot", status: "completed" },
        { step: "golf", status: "pending" },
      ],
    }),
    note("turn/diff/updated", { diff: "--- hotel\n" }),
    note("thread/tokenUsage/updated", {
      tokenUsage: {
        last: { inputTokens: 11, outputTokens: 12, totalTokens: 13 },
        modelContextWindow: 14,
      },
    }),
    LAST,
  ],
  notices: [
    note("warning", { message: "alpha" }),
    note("guardianWarning", { message: "bravo" }),
    note("configWarning", { summary: "charlie" }),
    note("mcpServer/startupStatus/updated", {
      name: "delta",
      status: "failed",
      error: "echo",
    }),
    note("model/rerouted", { fromModel: "a", toModel: "foxtrot" }),
    note("error", {
      error: { message: "golf", codexErrorInfo: "hotel" },
      willRetry: true,
    }),
    note("some/unknown", { x: 1 }),
    LAST,
  ],
  // Codex asks here.
  "a command": [
    started({ ...COMMAND, command: "alpha" }),
    ask("item/commandExecution/requestApproval", {
      itemId: "c1",
      command: "alpha",
      cwd: "/bravo",
      reason: "charlie",
      availableDecisions: [
        "accept",
        "acceptForSession",
        {
          acceptWithExecpolicyAmendment: {
            execpolicy_amendment: ["delta", "echo"],
          },
        },
        "decline",
        "cancel",
      ],
    }),
    completed({ ...COMMAND, command: "alpha", aggregatedOutput: "golf" }),
    LAST,
  ],
  "a connection": [
    started({ ...COMMAND, command: "alpha" }),
    ask("item/commandExecution/requestApproval", {
      itemId: "c1",
      approvalId: "x",
      kind: "network",
      command: "alpha",
      networkApprovalContext: { host: "bravo", protocol: "charlie" },
      additionalPermissions: { network: { delta: true } },
      availableDecisions: [
        "accept",
        {
          applyNetworkPolicyAmendment: {
            network_policy_amendment: { host: "echo", action: "allow" },
          },
        },
        "cancel",
      ],
    }),
    completed({ ...COMMAND, command: "alpha", aggregatedOutput: "golf" }),
    LAST,
  ],
  changes: [
    started(PATCH),
    ask("item/fileChange/requestApproval", {
      itemId: "f1",
      reason: "alpha",
      grantRoot: "/bravo",
    }),
    completed(PATCH),
    LAST,
  ],
  "one change": [
    started({ ...PATCH, changes: PATCH.changes.slice(0, 1) }),
    note("item/fileChange/patchUpdated", {
      itemId: "f1",
      changes: PATCH.changes,
    }),
    ask("item/fileChange/requestApproval", { itemId: "f1", reason: "alpha" }),
    completed(PATCH),
    LAST,
  ],
  permissions: [
    ask("item/permissions/requestApproval", {
      itemId: "x",
      reason: "alpha",
      permissions: {
        network: { enabled: true },
        fileSystem: { write: ["/bravo", "/charlie"] },
      },
    }),
    LAST,
  ],
  questions: [
    ask("item/tool/requestUserInput", {
      itemId: "x",
      questions: [
        {
          id: "q1",
          header: "alpha",
          question: "bravo",
          isOther: false,
          options: [
            { label: "charlie", description: "delta" },
            { label: "echo", description: "foxtrot" },
          ],
        },
        {
          id: "q2",
          header: "",
          question: "golf",
          isOther: true,
          options: null,
        },
      ],
    }),
    LAST,
  ],
  form: [
    ask("mcpServer/elicitation/request", {
      serverName: "alpha",
      mode: "form",
      message: "bravo",
      requestedSchema: {
        type: "object",
        properties: { charlie: { type: "string", title: "delta" } },
      },
    }),
    ask("mcpServer/elicitation/request", {
      serverName: "alpha",
      mode: "url",
      message: "echo",
      url: "https://foxtrot.test/",
    }),
    LAST,
  ],
  "a tool": [
    started({
      type: "mcpToolCall",
      id: "t1",
      server: "alpha",
      tool: "bravo",
      arguments: { a: "charlie" },
    }),
    ask("mcpServer/elicitation/request", {
      serverName: "alpha",
      mode: "form",
      message: 'Allow the alpha MCP server to run tool "bravo"?',
      requestedSchema: { type: "object", properties: {} },
      _meta: {
        codex_approval_kind: "mcp_tool_call",
        persist: ["session", "always"],
        tool_params: { a: "charlie" },
      },
    }),
    completed({
      type: "mcpToolCall",
      id: "t1",
      server: "alpha",
      tool: "bravo",
      arguments: { a: "charlie" },
      result: { content: [{ type: "text", text: "delta" }] },
    }),
    LAST,
  ],
  end: [
    LAST,
    {
      method: "turn/completed",
      params: {
        threadId: "THREAD",
        turn: {
          id: "TURN",
          items: [],
          status: "failed",
          error: { message: "alpha", codexErrorInfo: { bravo: {} } },
        },
      },
    },
  ],
};

/** The scenes in which Codex asks. */
export const ASKING: readonly string[] = Object.keys(SCENES).filter((name) =>
  SCENES[name]?.some(({ id }) => id !== undefined),
);
