import { snakeCase } from "@devtool/internal/snake-case";
import { oneLine } from "@devtool/internal/visible-text";
import { TaskState, type Usage } from "@devtool/schema";
import { SpanKind } from "@opentelemetry/api";
import { Code } from "../errors.ts";
import type { Operation, OperationFacts, OperationKind } from "../observer.ts";
import { A2A_METHODS, type SpanAttributes } from "./conventions.ts";

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
export function attributesAtBegin(operation: Traced): SpanAttributes {
  const { kind, name, subjectId, facts = {} } = operation;
  switch (kind) {
    case "request":
      return requestAttributes(operation);
    case "turn":
      return { "gen_ai.operation.name": "invoke_agent" };
    case "step":
      return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": shownName(name),
        "gen_ai.provider.name": facts.provider || undefined,
      };
    case "call":
      return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": shownName(name),
        "gen_ai.tool.call.id": shownName(subjectId),
        ...toolKind(name),
      };
    case "takeover":
      return {};
    case "question":
      return {
        "gen_ai.tool.name": shownName(name),
        "gen_ai.tool.call.id": shownName(subjectId),
        "devtool.approval.rule": facts.rule || undefined,
      };
    case "append":
      return appendAttributes(facts);
    case "post": {
      const url = URL.parse(name);
      return {
        "http.request.method": "POST",
        "server.address": url?.hostname || undefined,
        "server.port": url?.port ? Number(url.port) : undefined,
        "devtool.sequence": numberOf(facts.sequence),
        "devtool.push.config.id": shownName(subjectId),
      };
    }
    default:
      return kind satisfies never;
  }
}

/** Returns what is known of a write to the log. */
export function appendAttributes(facts: OperationFacts): SpanAttributes {
  return {
    "devtool.sequence": numberOf(facts.sequence),
    "devtool.event.count": facts.eventCount,
  };
}

function requestAttributes(operation: Operation): SpanAttributes {
  const { name, binding, principal } = operation;
  const [dialect = "", over = ""] = binding.split("/");
  return {
    "a2a.method.name": A2A_METHODS.get(name),
    "a2a.protocol.version": dialect.startsWith("a2a-")
      ? dialect.slice("a2a-".length)
      : undefined,
    "a2a.tenant": shownName(userOf(principal).tenant),
    "rpc.system.name": RPC.get(over || dialect),
    "devtool.binding": binding || undefined,
  };
}

/** The values of `rpc.system.name` for bindings. */
const RPC: ReadonlyMap<string, string> = new Map([
  ["connect", "connectrpc"],
  ["grpc", "grpc"],
  ["grpc-web", "grpc"],
]);

/** Returns what the name of a tool says: tools of MCP servers have a prefix. */
function toolKind(name: string): SpanAttributes {
  return name.startsWith("mcp__")
    ? {
        "gen_ai.tool.type": "extension",
        "mcp.method.name": "tools/call",
      }
    : { "gen_ai.tool.type": "function" };
}

/** Returns whose an operation was, and what became known until its end. */
export function attributesAtEnd(
  operation: Traced,
  facts: OperationFacts,
): SpanAttributes {
  const { state, optionId = "", firstPieceMs, finishReason, usage } = facts;
  const contextId = facts.contextId || operation.contextId || undefined;
  const taskId = shownName(facts.taskId || operation.taskId);
  const attributes: SpanAttributes = {
    "gen_ai.conversation.id": contextId,
    "session.id": contextId,
    "gen_ai.agent.name": shownName(operation.agent),
    "user.id": userOf(operation.principal).user,
    "devtool.task.id": taskId,
  };
  if (operation.kind === "request") {
    const messageId = facts.messageId || operation.subjectId;
    attributes["a2a.message.id"] = shownName(messageId);
    attributes["a2a.task.id"] = taskId;
  }
  if (state !== undefined) {
    attributes["a2a.task.state"] = `TASK_STATE_${TaskState[state]}`;
  }
  if (optionId) attributes["devtool.approval.option"] = shownName(optionId);
  if (firstPieceMs !== undefined) {
    attributes["gen_ai.response.time_to_first_chunk"] = firstPieceMs / 1000;
  }
  if (finishReason) {
    attributes["gen_ai.response.finish_reasons"] = [finishReason];
  }
  return usage ? Object.assign(attributes, usageAttributes(usage)) : attributes;
}

function usageAttributes(usage: Usage): SpanAttributes {
  const { inputTokens, cachedTokens, outputTokens, thoughtTokens } = usage;
  return {
    "gen_ai.usage.input_tokens": Number(inputTokens),
    "gen_ai.usage.output_tokens": Number(outputTokens),
    "gen_ai.usage.cache_read.input_tokens": Number(cachedTokens) || undefined,
    "gen_ai.usage.reasoning.output_tokens": Number(thoughtTokens) || undefined,
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
