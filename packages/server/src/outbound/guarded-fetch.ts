import { isIPv6, type LookupFunction } from "node:net";
import type { Dispatcher } from "undici";
import { Code, DevtoolError } from "../errors.ts";
import { failpoint } from "../failpoint.ts";
import { abortable } from "../stream/abortable.ts";
import { checkedAddresses, type OutboundPolicy, parseTarget } from "./outbound-policy.ts";

/** A request to a host that a model or a client named. */
export interface OutboundRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A GET follows so many redirects, each checked like the first URL. 0 gives the redirect itself, as a POST always does. */
  readonly maxRedirects: number;
  /** So much of the body is read. */
  readonly maxBytes: number;
  /** The whole request, redirects and body included, may take so long. */
  readonly timeoutMs: number;
}

/** What came back. */
export interface OutboundResponse {
  /** The URL that answered. */
  readonly url: string;
  readonly status: number;
  /** The media type with its parameters; empty when there is none. */
  readonly contentType: string;
  /** The body, as far as it was read. */
  readonly body: Buffer;
  /** Tells whether there was more. */
  readonly isTruncated: boolean;
}

/**
 * Makes a request that can reach only what the policy lets it reach (S7). Names are resolved once, and the connection
 * goes to the addresses that were checked; no proxy is used and nothing is kept for another request.
 *
 * Throws `Code.PermissionDenied` for a forbidden target, `Code.DeadlineExceeded` past its time, `Code.Unavailable` when
 * there is no answer.
 */
export async function guardedFetch(
  request: OutboundRequest,
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<OutboundResponse> {
  const timeout = AbortSignal.timeout(request.timeoutMs);
  const limits = AbortSignal.any([signal, timeout]);
  try {
    // A connection that is being made ends later than the wait for it.
    return await abortable(follow(request, policy, limits), limits);
  } catch (reason) {
    signal.throwIfAborted();
    if (reason instanceof DevtoolError) throw reason;
    const { host } = parseTarget(request.url);
    if (timeout.aborted) {
      const problem = `host ${JSON.stringify(host)} took longer than ${request.timeoutMs} ms`;
      throw new DevtoolError(problem, Code.DeadlineExceeded, { remedy: "try again later", cause: reason });
    }
    throw new DevtoolError(`host ${JSON.stringify(host)} did not answer: ${wordsOf(reason)}`, Code.Unavailable, {
      cause: reason,
    });
  }
}

async function follow(
  request: OutboundRequest,
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<OutboundResponse> {
  let url = parseTarget(request.url);
  let { headers } = request;
  for (let redirects = 0; ; redirects++) {
    const answer = await exchange(url, { ...request, headers }, { policy, signal });
    if (answer.location === "" || request.method !== "GET" || request.maxRedirects === 0) return answer.response;
    if (redirects === request.maxRedirects) {
      const problem = `host ${JSON.stringify(url.host)} redirects more than ${request.maxRedirects} times`;
      throw new DevtoolError(problem, Code.FailedPrecondition, { remedy: "name the last address" });
    }
    const next = parseTarget(URL.parse(answer.location, url.href)?.href ?? answer.location);
    // What the caller sends to one origin is not for another.
    if (next.origin !== url.origin) headers = pick(headers, ["accept", "user-agent"]);
    url = next;
  }
}

interface Answer {
  readonly response: OutboundResponse;
  /** Where a redirect leads; empty for other answers. */
  readonly location: string;
}

async function exchange(
  url: URL,
  { method, headers, body, maxBytes }: OutboundRequest,
  { policy, signal }: { readonly policy: OutboundPolicy; readonly signal: AbortSignal },
): Promise<Answer> {
  const addresses = await checkedAddresses(url, policy, signal);
  const { Agent, request } = await import("undici");
  const agent = new Agent({ connect: { lookup: lookupOf(addresses) }, pipelining: 0 });
  try {
    const options = { dispatcher: agent, method, headers: { ...headers, "accept-encoding": "identity" }, signal };
    failpoint("devtool:outbound.request.before");
    const answer = await request(url.href, body === undefined ? options : { ...options, body });
    failpoint("devtool:outbound.request.after");
    assertPlain(answer, url);
    const read = await readBody(answer.body, maxBytes);
    const contentType = headerOf(answer, "content-type");
    const response = { url: url.href, status: answer.statusCode, contentType, ...read };
    return { response, location: REDIRECTS.has(answer.statusCode) ? headerOf(answer, "location") : "" };
  } finally {
    await agent.destroy();
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** A resolver that knows the checked addresses and nothing else. */
export function lookupOf(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_host, { all: wantsAll }, callback) => {
    const [first] = all;
    if (wantsAll || !first) callback(null, all);
    else callback(null, first.address, first.family);
  };
}

async function readBody(
  body: Dispatcher.ResponseData["body"],
  maxBytes: number,
): Promise<{ readonly body: Buffer; readonly isTruncated: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const piece = Buffer.from(chunk);
    chunks.push(piece);
    bytes += piece.length;
    if (bytes > maxBytes) break;
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), isTruncated: bytes > maxBytes };
}

/** A body that is compressed although that was not asked for could grow without end. */
function assertPlain(answer: Dispatcher.ResponseData, { host }: URL): void {
  const encoding = headerOf(answer, "content-encoding");
  if (encoding === "" || encoding === "identity") return;
  answer.body.on("error", () => {}).destroy();
  const problem = `host ${JSON.stringify(host)} sends ${JSON.stringify(encoding)} although it was asked for plain content`;
  throw new DevtoolError(problem, Code.FailedPrecondition, { remedy: "name another" });
}

function headerOf({ headers }: Dispatcher.ResponseData, name: string): string {
  const value = headers[name];
  return typeof value === "string" ? value : (value?.[0] ?? "");
}

function pick(headers: Readonly<Record<string, string>>, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name.toLowerCase())));
}

function wordsOf(reason: unknown): string {
  if (reason instanceof Error && "code" in reason) return String(reason.code);
  return "the connection broke";
}
