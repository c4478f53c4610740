import type { DescMethod } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Caller } from "../../handler/caller.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Heartbeats } from "../http/heartbeats.ts";
import { RequestContext } from "../http/request-context.ts";
import type { HttpRequest, HttpResponse } from "../http/route.ts";
import type { GeminiCliTasks } from "./gemini-cli-tasks.ts";

/** What the routes of the dialect need. */
export interface GeminiCliRoutesOptions {
  readonly handler: RequestHandler;
  /** The tasks that are talked about in the dialect; the same that JSON-RPC has. */
  readonly geminiCli: GeminiCliTasks;
  /** A request may have so many bytes. */
  readonly maxRequestBytes: number;
  /** When streams say that they live. */
  readonly heartbeats: Heartbeats;
  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;
  readonly onError: (reason: unknown) => void;
}

/** One request to a route of the dialect. */
export interface Visit extends GeminiCliRoutesOptions, Caller {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
}

/** The context in which a request runs a method of our services. */
export function contextFor({ request, signal }: Visit, method: DescMethod): HandlerContext {
  return new RequestContext(request, { method, protocolName: "gemini-cli", signal });
}
