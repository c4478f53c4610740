import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext } from "@connectrpc/connect";
import { contextValuesOf } from "../auth/admitted.ts";
import type { HttpRequest } from "./route.ts";

/** A call that a request makes of a method. */
export interface RequestedCall {
  readonly method: DescMethod;
  readonly protocolName: string;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
  /** The headers that the method looks at. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: those of the caller. */
  readonly values?: ContextValues;
}

/**
 * The context in which a request of HTTP runs a method. A stream holds it as long as it lasts, so it makes headers when
 * they are first asked for: with those of `createHandlerContext` an idle stream holds five kilobytes more.
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
    this.values = call.values ?? contextValuesOf(request);
    this.#headers = call.headers ?? NONE;
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

  /** The headers that the method has set on the response so far. */
  get answerHeaders(): Readonly<Record<string, string>> {
    return this.#responseHeader ? Object.fromEntries(this.#responseHeader) : NONE;
  }
}

const NONE: Readonly<Record<string, string>> = {};
