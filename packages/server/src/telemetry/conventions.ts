import type { AttributeValue } from "@opentelemetry/api";

/**
 * The commit of open-telemetry/semantic-conventions-genai (0.1.0, with the
 * convention of A2A) whose names are used here.
 */
export const CONVENTIONS_COMMIT = "6718089fe6e0530fdf498d845f0532e9cf172c81";

/** Names of attributes. Those that begin with `devtool.` are our own. */
export type AttributeName =
  | "a2a.message.id"
  | "a2a.method.name"
  | "a2a.protocol.version"
  | "a2a.task.id"
  | "a2a.task.state"
  | "a2a.tenant"
  | "devtool.append.count"
  | "devtool.append.duration"
  | "devtool.approval.option"
  | "devtool.approval.rule"
  | "devtool.binding"
  | "devtool.event.count"
  | "devtool.outcome"
  | "devtool.push.config.id"
  | "devtool.sequence"
  | "devtool.task.id"
  | "error.type"
  | "gen_ai.agent.name"
  | "gen_ai.conversation.id"
  | "gen_ai.input.messages"
  | "gen_ai.operation.name"
  | "gen_ai.output.messages"
  | "gen_ai.provider.name"
  | "gen_ai.request.model"
  | "gen_ai.response.finish_reasons"
  | "gen_ai.response.time_to_first_chunk"
  | "gen_ai.tool.call.arguments"
  | "gen_ai.tool.call.id"
  | "gen_ai.tool.call.result"
  | "gen_ai.tool.name"
  | "gen_ai.tool.type"
  | "gen_ai.usage.cache_read.input_tokens"
  | "gen_ai.usage.input_tokens"
  | "gen_ai.usage.output_tokens"
  | "gen_ai.usage.reasoning.output_tokens"
  | "http.request.method"
  | "mcp.method.name"
  | "openinference.span.kind"
  | "rpc.system.name"
  | "server.address"
  | "server.port"
  | "session.id"
  | "user.id";

/** Attributes of a span. Undefined is none, to OpenTelemetry as well. */
export type SpanAttributes = {
  [Name in AttributeName]?: AttributeValue | undefined;
};

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
