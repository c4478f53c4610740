import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext } from "@connectrpc/connect";
import { contextValuesFor } from "../../handler/caller.ts";
import { callerOf } from "../auth/admitted.ts";
import type { HttpRequest, ResponseHeaders } from "./route.ts";

/** The method that a request calls, and the circumstances of the call. */
export interface RequestedCall {
  readonly method: DescMethod;

  /** The name of the protocol, for instance `a2a-v1`. */
  readonly protocolName: string;

  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal;

  /** The request headers that the method reads. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;

  /** Default: those of the request's caller. */
  readonly values?: ContextValues;
}

const NO_HEADERS: ResponseHeaders = {};

/**
 * The context in which an HTTP request runs a method of a service.
 *
 * A stream keeps its context as long as it lasts. The headers are therefore
 * created on first use: those of `createHandlerContext` cost an idle stream
 * five kilobytes.
 */
export class RequestContext implements HandlerContext {
  readonly url = "http://devtool.invalid/";
  readonly requestMethod: string;
  readonly protocolName: string;
  readonly service: DescService;
  readonly method: DescMethod;
  readonly signal: AbortSignal;
  readonly values: ContextValues;
  readonly #headers: Readonly<Record<string, string>>;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;

  constructor(request: HttpRequest, call: RequestedCall) {
    this.requestMethod = request.method ?? "POST";
    this.protocolName = call.protocolName;
    this.service = call.method.parent;
    this.method = call.method;
    this.signal = call.signal;
    this.values = call.values ?? contextValuesFor(callerOf(request));
    this.#headers = call.headers ?? NO_HEADERS;
  }

  timeoutMs(): undefined {
    return undefined;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= new Headers(this.#headers);
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  /**
   * Returns the response headers that the method has set so far, and releases
   * the headers of request and response: a stream that has begun needs none.
   */
  takeAnswerHeaders(): ResponseHeaders {
    const headers = this.#responseHeader;
    this.#requestHeader = undefined;
    this.#responseHeader = undefined;
    return headers ? Object.fromEntries(headers) : NO_HEADERS;
  }
}
