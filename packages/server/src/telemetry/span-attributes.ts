import { snakeCase } from "@devtool/internal/snake-case";
import { oneLine } from "@devtool/internal/visible-text";
import { TaskState, type Usage } from "@devtool/schema";
import { type Attributes, SpanKind } from "@opentelemetry/api";
import { Code } from "../errors.ts";
import type { Operation, OperationFacts, OperationKind } from "../observer.ts";
import { A2A_METHODS, ATTRIBUTE } from "./conventions.ts";

/** The maximum length of a name that comes from outside, in characters. */
const MAX_NAME_LENGTH = 128;

/** The kinds of operations that have spans. */
type TracedKind = Exclude<OperationKind, "outage">;

/** What the spans of each kind of operation are called and are. */
const SPANS: Readonly<
  Record<
    TracedKind,
    {
      /** What stands before the name of the operation. */
      readonly prefix?: string;
      /** The name without the one of the operation. */
      readonly name?: string;
      readonly kind: SpanKind;
      readonly openInference: string;
    }
  >
> = {
  request: { kind: SpanKind.SERVER, openInference: "CHAIN" },
  turn: {
    prefix: "invoke_agent",
    kind: SpanKind.INTERNAL,
    openInference: "AGENT",
  },
  step: { prefix: "chat", kind: SpanKind.CLIENT, openInference: "LLM" },
  call: {
    prefix: "execute_tool",
    kind: SpanKind.INTERNAL,
    openInference: "TOOL",
  },
  question: {
    name: "devtool.approval",
    kind: SpanKind.INTERNAL,
    openInference: "CHAIN",
  },
  append: {
    name: "devtool.task.append",
    kind: SpanKind.INTERNAL,
    openInference: "CHAIN",
  },
  takeover: {
    name: "devtool.task.takeover",
    kind: SpanKind.INTERNAL,
    openInference: "CHAIN",
  },
  post: {
    name: "devtool.push.post",
    kind: SpanKind.CLIENT,
    openInference: "CHAIN",
  },
};

/** An operation that has a span. */
export interface Traced extends Operation {
  readonly kind: TracedKind;
}

/**
 * Whether an operation has a span. Appends of pieces of an answer have none, as
 * a turn can have thousands of them, nor has a request that reaches no method,
 * such as a health probe.
 */
export function isTraced(operation: Operation): operation is Traced {
  const { kind, binding, facts } = operation;
  if (kind === "outage") return false;
  if (kind === "request") return binding !== "http";
  return kind !== "append" || facts?.isProgress !== true;
}

/** Returns the name of the span of an operation. */
export function spanNameOf({ kind, name }: Traced): string {
  const { prefix = "", name: own } = SPANS[kind];
  if (own !== undefined) return own;
  const shown = shownName(name) ?? "";
  if (kind === "request") return A2A_METHODS.get(name) ?? shown;
  return shown === "" ? prefix : `${prefix} ${shown}`;
}

export function spanKindOf({ kind }: Traced): SpanKind {
  return SPANS[kind].kind;
}

/** Returns the value of `openinference.span.kind`. */
export function openInferenceKind({ kind }: Traced): string {
  return SPANS[kind].openInference;
}

/**
 * Returns what a sampler decides by. The SDK copies attributes of the begin
 * twice, so the others follow at the end. What is undefined is no attribute, to
 * OpenTelemetry as well.
 */
export function attributesAtBegin(operation: Traced): Attributes {
  const { kind, name, subjectId, facts = {} } = operation;
  switch (kind) {
    case "request":
      return requestAttributes(operation);
    case "turn":
      return { [ATTRIBUTE.operationName]: "invoke_agent" };
    case "step":
      return {
        [ATTRIBUTE.operationName]: "chat",
        [ATTRIBUTE.requestModel]: shownName(name),
        [ATTRIBUTE.providerName]: facts.provider || undefined,
      };
    case "call":
      return {
        [ATTRIBUTE.operationName]: "execute_tool",
        [ATTRIBUTE.toolName]: shownName(name),
        [ATTRIBUTE.toolCallId]: shownName(subjectId),
        ...toolKind(name),
      };
    case "takeover":
      return {};
    case "question":
      return {
        [ATTRIBUTE.toolName]: shownName(name),
        [ATTRIBUTE.toolCallId]: shownName(subjectId),
        [ATTRIBUTE.approvalRule]: facts.rule || undefined,
      };
    case "append":
      return appendAttributes(facts);
    case "post": {
      const url = URL.parse(name);
      return {
        [ATTRIBUTE.httpRequestMethod]: "POST",
        [ATTRIBUTE.serverAddress]: url?.hostname || undefined,
        [ATTRIBUTE.serverPort]: url?.port ? Number(url.port) : undefined,
        [ATTRIBUTE.sequence]: numberOf(facts.sequence),
        [ATTRIBUTE.configId]: shownName(subjectId),
      };
    }
    default:
      return kind satisfies never;
  }
}

/** Returns what is known of a write to the log. */
export function appendAttributes(facts: OperationFacts): Attributes {
  return {
    [ATTRIBUTE.sequence]: numberOf(facts.sequence),
    [ATTRIBUTE.eventCount]: facts.eventCount,
  };
}

function requestAttributes(operation: Operation): Attributes {
  const { name, binding, principal } = operation;
  const [dialect = "", over = ""] = binding.split("/");
  return {
    [ATTRIBUTE.a2aMethodName]: A2A_METHODS.get(name),
    [ATTRIBUTE.a2aProtocolVersion]: dialect.startsWith("a2a-")
      ? dialect.slice("a2a-".length)
      : undefined,
    [ATTRIBUTE.a2aTenant]: shownName(userOf(principal).tenant),
    [ATTRIBUTE.rpcSystem]: RPC.get(over || dialect),
    [ATTRIBUTE.binding]: binding || undefined,
  };
}

/** The values of `rpc.system.name` for bindings. */
const RPC: ReadonlyMap<string, string> = new Map([
  ["connect", "connectrpc"],
  ["grpc", "grpc"],
  ["grpc-web", "grpc"],
]);

/** Returns what the name of a tool says: tools of MCP servers have a prefix. */
function toolKind(name: string): Attributes {
  return name.startsWith("mcp__")
    ? {
        [ATTRIBUTE.toolType]: "extension",
        [ATTRIBUTE.mcpMethodName]: "tools/call",
      }
    : { [ATTRIBUTE.toolType]: "function" };
}

/** Returns whose an operation was, and what became known until its end. */
export function attributesAtEnd(
  operation: Traced,
  facts: OperationFacts,
): Attributes {
  const { state, optionId = "", firstPieceMs, finishReason, usage } = facts;
  const contextId = facts.contextId || operation.contextId || undefined;
  const taskId = shownName(facts.taskId || operation.taskId);
  const attributes: Attributes = {
    [ATTRIBUTE.conversationId]: contextId,
    [ATTRIBUTE.sessionId]: contextId,
    [ATTRIBUTE.agentName]: shownName(operation.agent),
    [ATTRIBUTE.userId]: userOf(operation.principal).user,
    [ATTRIBUTE.taskId]: taskId,
  };
  if (operation.kind === "request") {
    const messageId = facts.messageId || operation.subjectId;
    attributes[ATTRIBUTE.a2aMessageId] = shownName(messageId);
    attributes[ATTRIBUTE.a2aTaskId] = taskId;
  }
  if (state !== undefined) {
    attributes[ATTRIBUTE.a2aTaskState] = `TASK_STATE_${TaskState[state]}`;
  }
  if (optionId) attributes[ATTRIBUTE.approvalOption] = shownName(optionId);
  if (firstPieceMs !== undefined) {
    attributes[ATTRIBUTE.timeToFirstChunk] = firstPieceMs / 1000;
  }
  if (finishReason) attributes[ATTRIBUTE.finishReasons] = [finishReason];
  return usage ? Object.assign(attributes, usageAttributes(usage)) : attributes;
}

function usageAttributes(usage: Usage): Attributes {
  const { inputTokens, cachedTokens, outputTokens, thoughtTokens } = usage;
  return {
    [ATTRIBUTE.inputTokens]: Number(inputTokens),
    [ATTRIBUTE.outputTokens]: Number(outputTokens),
    [ATTRIBUTE.cacheReadTokens]: Number(cachedTokens) || undefined,
    [ATTRIBUTE.reasoningTokens]: Number(thoughtTokens) || undefined,
  };
}

/**
 * Returns the class of an error: its code, the type of a tool's error, or else
 * its name. Never its message.
 */
export function errorTypeOf(error: unknown): string {
  if (error instanceof Error) {
    const code = "code" in error ? error.code : undefined;
    const name = typeof code === "number" ? Code[code] : undefined;
    const known = name && snakeCase(name);
    return known ?? shownName(error.name) ?? OTHER;
  }
  const isTyped =
    typeof error === "object" && error !== null && "type" in error;
  return isTyped && typeof error.type === "string"
    ? (shownName(error.type) ?? OTHER)
    : OTHER;
}

/** The class of an error that has none. */
const OTHER = "_OTHER";

/** Returns the user of a principal, and the tenant that it is in. */
function userOf(principal: string): {
  readonly user: string | undefined;
  readonly tenant: string;
} {
  if (!principal.startsWith("tenant:")) {
    return { user: shownName(principal), tenant: "" };
  }
  const [, tenant = "", user = principal] =
    /^tenant:([^:]*):(.*)$/s.exec(principal) ?? [];
  return { user: shownName(user), tenant: decodeURIComponent(tenant) };
}

/**
 * Returns a name of others, short and on one line; undefined for an empty one.
 */
function shownName(name: string): string | undefined {
  // Nearly all names are plain, and each span has several.
  const shown = PLAIN_NAME.test(name) ? name : oneLine(name, MAX_NAME_LENGTH);
  return shown || undefined;
}

const PLAIN_NAME = /^[\w.:/@-]{0,128}$/;

function numberOf(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}
