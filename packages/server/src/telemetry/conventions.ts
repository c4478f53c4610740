/**
 * The commit of open-telemetry/semantic-conventions-genai (0.1.0, with the
 * convention of A2A) whose names are used here.
 */
export const CONVENTIONS_COMMIT = "6718089fe6e0530fdf498d845f0532e9cf172c81";

/** Names of attributes. Those that begin with `devtool.` are our own. */
export const ATTRIBUTE = {
  appendCount: "devtool.append.count",
  appendDuration: "devtool.append.duration",
  a2aMessageId: "a2a.message.id",
  a2aMethodName: "a2a.method.name",
  a2aProtocolVersion: "a2a.protocol.version",
  a2aTaskId: "a2a.task.id",
  a2aTaskState: "a2a.task.state",
  a2aTenant: "a2a.tenant",
  agentName: "gen_ai.agent.name",
  approvalOption: "devtool.approval.option",
  approvalRule: "devtool.approval.rule",
  binding: "devtool.binding",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  configId: "devtool.push.config.id",
  conversationId: "gen_ai.conversation.id",
  errorType: "error.type",
  eventCount: "devtool.event.count",
  finishReasons: "gen_ai.response.finish_reasons",
  httpRequestMethod: "http.request.method",
  inputMessages: "gen_ai.input.messages",
  inputTokens: "gen_ai.usage.input_tokens",
  mcpMethodName: "mcp.method.name",
  operationName: "gen_ai.operation.name",
  outcome: "devtool.outcome",
  outputMessages: "gen_ai.output.messages",
  outputTokens: "gen_ai.usage.output_tokens",
  providerName: "gen_ai.provider.name",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  requestModel: "gen_ai.request.model",
  rpcSystem: "rpc.system.name",
  sequence: "devtool.sequence",
  serverAddress: "server.address",
  serverPort: "server.port",
  sessionId: "session.id",
  spanKind: "openinference.span.kind",
  taskId: "devtool.task.id",
  timeToFirstChunk: "gen_ai.response.time_to_first_chunk",
  toolArguments: "gen_ai.tool.call.arguments",
  toolCallId: "gen_ai.tool.call.id",
  toolName: "gen_ai.tool.name",
  toolResult: "gen_ai.tool.call.result",
  toolType: "gen_ai.tool.type",
  userId: "user.id",
} as const;

/**
 * The method of A2A 1.0 that a method is, whichever protocol it came over; each
 * by its name in our own services and in A2A.
 */
export const A2A_METHODS: ReadonlyMap<string, string> = new Map([
  ["SendMessage", "SendMessage"],
  ["StreamMessage", "SendStreamingMessage"],
  ["SendStreamingMessage", "SendStreamingMessage"],
  ["GetTask", "GetTask"],
  ["ListTasks", "ListTasks"],
  ["CancelTask", "CancelTask"],
  ["SubscribeTask", "SubscribeToTask"],
  ["ResubscribeTask", "SubscribeToTask"],
  ["SubscribeToTask", "SubscribeToTask"],
  ...[
    ["SetPushConfig", "CreateTaskPushNotificationConfig"] as const,
    ["GetPushConfig", "GetTaskPushNotificationConfig"] as const,
    ["ListPushConfigs", "ListTaskPushNotificationConfigs"] as const,
    ["DeletePushConfig", "DeleteTaskPushNotificationConfig"] as const,
    ["GetAuthenticatedExtendedCard", "GetExtendedAgentCard"] as const,
  ].flatMap(([own, name]): [string, string][] => [
    [own, name],
    [name, name],
  ]),
]);
