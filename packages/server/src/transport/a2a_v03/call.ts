import type { DescMethod, DescService, JsonValue } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext } from "@connectrpc/connect";
import type { StreamView } from "@devtool/schema/a2a-v03";
import { type Caller, contextValuesFor } from "../../handler/caller.ts";

/** How much of events a client is shown, and in which words: those of Gemini CLI's own server are a view too. */
export type CallView = StreamView | "coder-agent";

/** One JSON-RPC call, as its method sees it. */
export interface Call extends Caller {
  readonly params: JsonValue | undefined;
  /** How much of events the client is shown. */
  readonly view: CallView;
  /** The sequence of the last event that the client has, by `Last-Event-ID`; undefined when it sent none. */
  readonly lastEventId: bigint | undefined;
  /** Whether the client takes a stream where the method offers both. */
  readonly takesStream: boolean;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
}

/** The context in which a call runs a method of our services. */
export function contextOf(call: Pick<Call, "principal" | "rights" | "signal">, method: DescMethod): HandlerContext {
  return new CallContext(call, method);
}

/** Has headers only when somebody asks, which nobody does: with the first, Node loads all that `fetch` needs. */
class CallContext implements HandlerContext {
  readonly protocolName = "a2a-v0.3";
  readonly requestMethod = "POST";
  readonly url = "http://devtool.invalid/";
  readonly service: DescService;
  readonly method: DescMethod;
  readonly signal: AbortSignal;
  readonly values: ContextValues;

  constructor(call: Pick<Call, "principal" | "rights" | "signal">, method: DescMethod) {
    this.service = method.parent;
    this.method = method;
    this.signal = call.signal;
    this.values = contextValuesFor(call);
  }

  timeoutMs(): undefined {
    return undefined;
  }

  get requestHeader(): Headers {
    return new Headers();
  }

  get responseHeader(): Headers {
    return new Headers();
  }

  get responseTrailer(): Headers {
    return new Headers();
  }
}
