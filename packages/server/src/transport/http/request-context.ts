import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext } from "@connectrpc/connect";
import { TaskService } from "@devtool/schema";
import type { HttpRequest, ResponseHeaders } from "./route.ts";

const NO_HEADERS: ResponseHeaders = {};

/**
 * The context in which an HTTP request calls the services of the handler.
 *
 * A stream keeps its context as long as it lasts. The headers are therefore
 * created on first use: those of `createHandlerContext` cost an idle stream
 * five kilobytes.
 */
export class RequestContext implements HandlerContext {
  readonly url = "http://devtool.invalid/";
  readonly requestMethod: string;
  readonly protocolName = "http";
  readonly service: DescService = TaskService;
  readonly method: DescMethod = TaskService.method.subscribeTask;
  readonly signal: AbortSignal;
  readonly values: ContextValues;
  readonly #request: HttpRequest;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;

  constructor(
    request: HttpRequest,
    signal: AbortSignal,
    values: ContextValues,
  ) {
    this.requestMethod = request.method ?? "POST";
    this.signal = signal;
    this.values = values;
    this.#request = request;
  }

  timeoutMs(): undefined {
    return undefined;
  }

  get requestHeader(): Headers {
    if (this.#requestHeader) return this.#requestHeader;
    const header = new Headers();
    for (const [name, value] of Object.entries(this.#request.headers)) {
      // HTTP/2 has the method and the path among its headers.
      if (value !== undefined && !name.startsWith(":")) {
        header.set(name, String(value));
      }
    }
    this.#requestHeader = header;
    return header;
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
   * Returns the response headers that were set so far, and releases the headers
   * of request and response: a stream that has begun needs none.
   */
  takeHeaders(): ResponseHeaders {
    const headers = this.#responseHeader;
    this.#requestHeader = undefined;
    this.#responseHeader = undefined;
    return headers ? Object.fromEntries(headers) : NO_HEADERS;
  }
}
