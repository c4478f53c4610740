import type { DescMethod } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Caller } from "../../handler/caller.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { contextOf } from "../a2a_v03/call.ts";
import type { HttpRequest, HttpResponse } from "../route.ts";
import type { CoderAgentTasks } from "./coder-agent-tasks.ts";

/** What the routes of the dialect need. */
export interface CoderAgentRoutesOptions {
  readonly handler: RequestHandler;
  /** The tasks that are talked about in the dialect; the same that JSON-RPC has. */
  readonly coderAgent: CoderAgentTasks;
  /** A request may have so many bytes. */
  readonly maxRequestBytes: number;
  /** A stream says that it lives each so many milliseconds. */
  readonly heartbeatMs: number;
  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;
  readonly onError: (reason: unknown) => void;
}

/** One request to a route of the dialect. */
export interface Visit extends CoderAgentRoutesOptions, Caller {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
}

/** The context in which a request runs a method of our services. */
export function contextFor(visit: Visit, method: DescMethod): HandlerContext {
  return contextOf(visit, method);
}
