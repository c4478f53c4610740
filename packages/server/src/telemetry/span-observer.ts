import type { McpServer, TraceContext } from "@devtool/schema";
import {
  type Context,
  createTraceState,
  INVALID_TRACEID,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type {
  EndListener,
  Observer,
  Operation,
  OperationEnd,
  OperationFacts,
} from "../observer.ts";
import { VERSION } from "../version.ts";
import { contentOf } from "./content.ts";
import type { SpanAttributes } from "./conventions.ts";
import { SecretFilter } from "./secret-filter.ts";
import {
  appendAttributes,
  attributesAtBegin,
  attributesAtEnd,
  errorTypeOf,
  isTraced,
  openInferenceKind,
  spanKindOf,
  spanNameOf,
  type Traced,
} from "./span-attributes.ts";

/** Options of `spanObserver`. */
export interface SpanOptions {
  /**
   * Makes the spans. Default: the provider that the application has registered
   * with `@opentelemetry/api`, without which nothing is recorded.
   */
  readonly tracerProvider?: TracerProvider | undefined;
  /**
   * Whether spans hold content: prompts, answers, arguments and results of
   * tools, without the secrets that are known. Default false.
   */
  readonly content?: boolean | undefined;
  /**
   * Secrets to replace in content, in addition to those of sessions' MCP
   * servers and to credentials of known forms. Those with fewer than 8
   * characters are left. Default: none.
   */
  readonly secrets?: readonly string[] | undefined;
  /** The operator's MCP servers, whose secrets are replaced. Default: none. */
  readonly mcpServers?: readonly McpServer[] | undefined;
  /**
   * Whether spans have `openinference.span.kind`, for tools that need it.
   * Default false.
   */
  readonly openInference?: boolean | undefined;
}

/**
 * Creates an observer that records what a server does as spans, in the names of
 * OpenTelemetry's conventions for generative AI, MCP and A2A.
 */
export function spanObserver(options: SpanOptions = {}): Observer {
  const recorder = new SpanRecorder(options);
  return (operation) => recorder.begin(operation);
}

/** An operation that has a span. */
interface Open {
  readonly span: Span;
  readonly filter: SecretFilter;
  /** The writes to the log that were a part of it, and the time they took. */
  readonly appends: { count: number; ms: number };
}

class SpanRecorder {
  readonly #tracer: Tracer;
  readonly #options: SpanOptions;
  readonly #filter: SecretFilter;
  /** The operations that have begun, by their ids. */
  readonly #open = new Map<string, Open>();

  constructor(options: SpanOptions) {
    this.#options = options;
    this.#tracer = (options.tracerProvider ?? trace).getTracer(
      "@devtool/server",
      VERSION,
    );
    this.#filter = new SecretFilter(options.secrets ?? []).with(
      options.mcpServers ?? [],
    );
  }

  begin(operation: Operation): EndListener | undefined {
    if (!isTraced(operation)) return undefined;
    const { id, parentId, links = [], facts = {} } = operation;
    const above = this.#open.get(parentId);
    // A span for each write to the log would double what a turn costs, and an
    // event for each would cost a fifth of all its spans.
    if (operation.kind === "append" && above) {
      const begunMs = performance.now();
      return (how) => {
        above.appends.count++;
        above.appends.ms += performance.now() - begunMs;
        if (how.outcome === "failed") addFailedAppend(above.span, facts, how);
      };
    }
    const attributes = attributesAtBegin(operation);
    if (this.#options.openInference) {
      attributes["openinference.span.kind"] = openInferenceKind(operation);
    }
    const span = this.#tracer.startSpan(
      spanNameOf(operation),
      { kind: spanKindOf(operation), links: linksTo(links), attributes },
      above
        ? trace.setSpan(ROOT_CONTEXT, above.span)
        : contextFrom(operation.traceContext),
    );
    let filter = above?.filter ?? this.#filter;
    if (this.#options.content && span.isRecording()) {
      filter = filter.with(facts.task?.sessionSettings?.mcpServers ?? []);
      span.setAttributes(contentOf(operation, facts, filter, "begin"));
    }
    const open = { span, filter, appends: { count: 0, ms: 0 } };
    this.#open.set(id, open);
    const end = (how: OperationEnd): void => {
      this.#open.delete(id);
      this.#end(operation, how, open);
    };
    return Object.assign(end, { traceContext: traceContextOf(span) });
  }

  /** Ends a span, whatever can be said of it. */
  #end(operation: Traced, how: OperationEnd, open: Open): void {
    try {
      if (open.span.isRecording()) this.#noteEnd(operation, how, open);
    } finally {
      open.span.end();
    }
  }

  #noteEnd(
    operation: Traced,
    { outcome, error, facts = {}, links = [] }: OperationEnd,
    { span, filter, appends }: Open,
  ): void {
    const attributes = attributesAtEnd(operation, facts);
    if (appends.count > 0) {
      attributes["devtool.append.count"] = appends.count;
      attributes["devtool.append.duration"] = appends.ms / 1000;
    }
    if (outcome === "failed") {
      // Its words may be those of clients, models and tools.
      attributes["error.type"] = errorTypeOf(error);
      span.setStatus({ code: SpanStatusCode.ERROR });
    } else if (outcome === "canceled") {
      attributes["devtool.outcome"] = outcome;
    }
    span.setAttributes(attributes);
    span.addLinks(linksTo(links));
    if (this.#options.content) {
      span.setAttributes(contentOf(operation, facts, filter, "end"));
    }
  }
}

/** Adds a write to the log that failed to the span that it is a part of. */
function addFailedAppend(
  span: Span,
  facts: OperationFacts,
  { error }: OperationEnd,
): void {
  const attributes: SpanAttributes = {
    ...appendAttributes(facts),
    "error.type": errorTypeOf(error),
  };
  span.addEvent("devtool.task.append", attributes);
}

/** Returns the context of a span that is elsewhere, or the root. */
function contextFrom(place: TraceContext | undefined): Context {
  return place
    ? trace.setSpanContext(ROOT_CONTEXT, spanContextFrom(place))
    : ROOT_CONTEXT;
}

function linksTo(places: readonly TraceContext[]): Link[] {
  return places.map((place) => ({ context: spanContextFrom(place) }));
}

/** Reads a place in a trace, whose form the server has checked. */
function spanContextFrom({
  traceparent,
  tracestate,
}: TraceContext): SpanContext {
  const [, traceId = "", spanId = "", flags = ""] = traceparent.split("-");
  const context = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
  };
  return tracestate === ""
    ? context
    : { ...context, traceState: createTraceState(tracestate) };
}

/** Returns the place of a span; undefined for one that nobody records. */
function traceContextOf(span: Span): TraceContext | undefined {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  if (traceId === INVALID_TRACEID) return undefined;
  const flags = traceFlags.toString(16).padStart(2, "0");
  // Not by `create`, whose time each span would cost.
  return {
    $typeName: "devtool.v1alpha.TraceContext",
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    tracestate: traceState?.serialize() ?? "",
  };
}
