import { isIPv6, type LookupFunction } from "node:net";
import { abortable } from "@devtool/internal/abortable";
import { failpoint } from "@devtool/internal/failpoint";
import { retryAfterMs } from "@devtool/internal/retry-after";
import type { Dispatcher } from "undici";
import { Code, DevtoolError } from "../errors.ts";
import { interimLimit } from "./interim-limit.ts";
import {
  checkedAddresses,
  type OutboundPolicy,
  parseTarget,
} from "./outbound-policy.ts";

/** A request to a host that a model or a client named. */
export interface OutboundRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;

  /**
   * The maximum number of redirects that a GET follows; each target is checked
   * like the first URL. With 0, and for a POST, a redirect is the response.
   */
  readonly maxRedirects: number;

  /** The maximum number of bytes to read of the body. */
  readonly maxBytes: number;

  /**
   * The timeout in milliseconds of the whole request, including redirects and
   * the body.
   */
  readonly timeoutMs: number;
}

/** The response to an `OutboundRequest`. */
export interface OutboundResponse {
  /** The URL after redirects. */
  readonly url: string;
  readonly status: number;

  /** The media type with its parameters; empty when there is none. */
  readonly contentType: string;

  /** The wait in milliseconds that `Retry-After` asks for; 0 without one. */
  readonly retryAfterMs: number;

  /** The body, up to `maxBytes`. */
  readonly body: Buffer;

  /** Whether the body was longer than `maxBytes`. */
  readonly isTruncated: boolean;
}

/**
 * Makes a request that can reach only what the policy permits (S7).
 *
 * The host's name is resolved once, and the connection goes to an address that
 * was checked. Uses no proxy, and no connection of another request.
 *
 * Rejects with the signal's reason when the signal aborts, and otherwise with a
 * `DevtoolError`:
 *
 * - `Code.InvalidArgument` for a URL that `parseTarget` refuses
 * - `Code.PermissionDenied` for a target that the policy forbids
 * - `Code.FailedPrecondition` when the host redirects more than `maxRedirects`
 *   times, compresses the body, or sends more than 16 interim responses
 * - `Code.DeadlineExceeded` after the timeout
 * - `Code.Unavailable` when the host cannot be found or does not respond
 */
export async function guardedFetch(
  request: OutboundRequest,
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<OutboundResponse> {
  const timeout = AbortSignal.timeout(request.timeoutMs);
  const limits = AbortSignal.any([signal, timeout]);
  try {
    // A connection attempt does not end at once when its signal aborts, so the
    // wait for it does.
    return await abortable(follow(request, policy, limits), limits);
  } catch (reason) {
    signal.throwIfAborted();
    if (reason instanceof DevtoolError) throw reason;
    const { host } = parseTarget(request.url);
    if (timeout.aborted) {
      const problem = `host ${JSON.stringify(host)} took longer than ${request.timeoutMs} ms`;
      throw new DevtoolError(problem, Code.DeadlineExceeded, {
        remedy: "try again later",
        cause: reason,
      });
    }
    const why =
      reason instanceof Error && "code" in reason
        ? String(reason.code)
        : "the connection broke";
    throw new DevtoolError(
      `host ${JSON.stringify(host)} did not answer: ${why}`,
      Code.Unavailable,
      { cause: reason },
    );
  }
}

/** Makes a request and follows its redirects. */
async function follow(
  request: OutboundRequest,
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<OutboundResponse> {
  let url = parseTarget(request.url);
  let { headers } = request;
  for (let redirects = 0; ; redirects++) {
    const { response, location } = await send(
      url,
      { ...request, headers },
      policy,
      signal,
    );
    if (
      location === "" ||
      request.method !== "GET" ||
      request.maxRedirects === 0
    ) {
      return response;
    }
    if (redirects === request.maxRedirects) {
      const problem = `host ${JSON.stringify(url.host)} redirects more than ${request.maxRedirects} times`;
      throw new DevtoolError(problem, Code.FailedPrecondition, {
        remedy: "use the URL that it redirects to",
      });
    }
    const next = parseTarget(URL.parse(location, url.href)?.href ?? location);
    // Credentials for one origin must not reach another.
    if (next.origin !== url.origin) {
      const kept = Object.entries(headers).filter(([name]) =>
        CROSS_ORIGIN_HEADERS.has(name.toLowerCase()),
      );
      headers = Object.fromEntries(kept);
    }
    url = next;
  }
}

const CROSS_ORIGIN_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "user-agent",
]);

/** A response before redirects are followed. */
interface Hop {
  readonly response: OutboundResponse;
  /** The target of a redirect; empty for any other response. */
  readonly location: string;
}

/**
 * Sends one request over a connection of its own, to an address that was
 * checked.
 */
async function send(
  url: URL,
  { method, headers, body, maxBytes }: OutboundRequest,
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<Hop> {
  const addresses = await checkedAddresses(url, policy, signal);
  const { Agent, request } = await import("undici");
  const agent = new Agent({
    connect: { lookup: lookupOf(addresses) },
    pipelining: 0,
  });
  try {
    const { onInfo, signal: tooMany } = interimLimit(url.host);
    const limits = AbortSignal.any([signal, tooMany]);
    const sent = { ...headers, "accept-encoding": "identity" };
    const options = {
      dispatcher: agent,
      method,
      headers: sent,
      onInfo,
      signal: limits,
    };
    failpoint("devtool:outbound.request.before");
    const answer = await request(
      url.href,
      body === undefined ? options : { ...options, body },
    );
    failpoint("devtool:outbound.request.after");
    // A compressed body could expand without limit.
    const encoding = readHeader(answer, "content-encoding");
    if (encoding !== "" && encoding !== "identity") {
      answer.body.on("error", () => {}).destroy();
      const problem = `host ${JSON.stringify(url.host)} sends ${JSON.stringify(encoding)} although it was asked for plain content`;
      throw new DevtoolError(problem, Code.FailedPrecondition, {
        remedy: "use another host",
      });
    }
    const read = await readBody(answer.body, maxBytes);
    const contentType = readHeader(answer, "content-type");
    const response = {
      url: url.href,
      status: answer.statusCode,
      contentType,
      retryAfterMs: retryAfterMs(
        readHeader(answer, "retry-after"),
        readHeader(answer, "date"),
      ),
      ...read,
    };
    return {
      response,
      location: REDIRECTS.has(answer.statusCode)
        ? readHeader(answer, "location")
        : "",
    };
  } finally {
    await agent.destroy();
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Returns a resolver that knows only the given addresses, whatever the host.
 */
export function lookupOf(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({
    address,
    family: isIPv6(address) ? 6 : 4,
  }));
  return (_host, { all: wantsAll }, callback) => {
    const [first] = all;
    if (wantsAll || !first) {
      callback(null, all);
    } else {
      callback(null, first.address, first.family);
    }
  };
}

async function readBody(
  body: Dispatcher.ResponseData["body"],
  maxBytes: number,
): Promise<Pick<OutboundResponse, "body" | "isTruncated">> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const piece = Buffer.from(chunk);
    chunks.push(piece);
    bytes += piece.length;
    if (bytes > maxBytes) break;
  }
  return {
    body: Buffer.concat(chunks).subarray(0, maxBytes),
    isTruncated: bytes > maxBytes,
  };
}

function readHeader(
  { headers }: Dispatcher.ResponseData,
  name: string,
): string {
  const value = headers[name];
  return typeof value === "string" ? value : (value?.[0] ?? "");
}
