/** The maximum length of `tracestate` in characters; a longer one is dropped. */
const MAX_STATE_LENGTH = 512;

/** A place in a trace, in the form of the W3C recommendation Trace Context. */
interface TraceHeaders {
  readonly traceparent: string;
  /** Empty when there is none, or it is not valid. */
  readonly tracestate: string;
}

/**
 * Returns a place in a trace as another process sent it. Undefined when it is
 * missing or malformed, which the recommendation says to ignore.
 */
export function readTraceContext(
  traceparent: unknown,
  tracestate: unknown,
): TraceHeaders | undefined {
  if (typeof traceparent !== "string" || !isTraceParent(traceparent)) {
    return undefined;
  }
  const isState =
    typeof tracestate === "string" &&
    tracestate.length <= MAX_STATE_LENGTH &&
    /^[\x20-\x7e]*$/.test(tracestate);
  return { traceparent, tracestate: isState ? tracestate : "" };
}

/**
 * Returns a place in a trace as the headers of HTTP, and `_meta` of MCP and
 * ACP, have it: without `tracestate` when it is empty. Nothing for no place.
 */
export function traceFields(
  place: TraceHeaders | undefined,
): Partial<TraceHeaders> {
  if (!place) return {};
  const { traceparent, tracestate } = place;
  return tracestate === "" ? { traceparent } : { traceparent, tracestate };
}

/**
 * Whether a text is a `traceparent`. Later versions than 00 may have further
 * fields.
 */
function isTraceParent(text: string): boolean {
  const [, version, trace, span, rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/.exec(
      text,
    ) ?? [];
  if (version === undefined || version === "ff" || text.length > 256) {
    return false;
  }
  const isZero = /^0+$/.test(trace ?? "") || /^0+$/.test(span ?? "");
  return !isZero && (version !== "00" || rest === undefined);
}
