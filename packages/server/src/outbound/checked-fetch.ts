import { Readable } from "node:stream";
import { Code, DevtoolError } from "../errors.ts";
import { lookupOf } from "./guarded-fetch.ts";
import { interimLimit } from "./interim-limit.ts";
import {
  checkedAddresses,
  hostPort,
  type OutboundPolicy,
  parseTarget,
} from "./outbound-policy.ts";

/** The methods that MCP over HTTP has. */
const METHODS = ["GET", "POST", "DELETE"] as const;

/**
 * Creates a `fetch` that can reach only what the policy permits (S7), for
 * libraries that stream.
 *
 * Each request resolves the host's name once, and connects to an address that
 * was checked. It sends GET, POST and DELETE, and refuses other methods. Unlike
 * `guardedFetch`, it limits neither time nor size.
 *
 * The function rejects with `Code.InvalidArgument` for a URL that `parseTarget`
 * refuses and for another method, with `Code.PermissionDenied` for a target that the policy forbids,
 * with `Code.Unavailable` when the host cannot be found, and with
 * `Code.FailedPrecondition` when the host redirects or sends more than 16
 * interim responses. Other failures of the connection are errors of undici.
 */
export function checkedFetch(
  policy: OutboundPolicy,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const target = parseTarget(String(url));
    const request = new Request(target, init);
    const method = METHODS.find((name) => name === request.method);
    if (method === undefined) {
      throw new DevtoolError(
        `method ${JSON.stringify(request.method)} is not sent: use GET, POST or DELETE`,
        Code.InvalidArgument,
      );
    }
    const addresses = await checkedAddresses(target, policy, request.signal);
    const { Agent, request: send } = await import("undici");
    const agent = new Agent({
      connect: { lookup: lookupOf(addresses) },
      pipelining: 0,
    });
    const { onInfo, signal: tooMany } = interimLimit(hostPort(target));
    try {
      const answer = await send(target.href, {
        dispatcher: agent,
        method,
        headers: {
          ...Object.fromEntries(request.headers),
          "accept-encoding": "identity",
        },
        ...(request.body ? { body: await request.text() } : {}),
        onInfo,
        signal: AbortSignal.any([request.signal, tooMany]),
      });
      const { statusCode, body, headers } = answer;
      body.once("close", () => void agent.destroy());
      if (statusCode >= 300 && statusCode < 400) {
        body.on("error", () => undefined).destroy();
        throw new DevtoolError(
          `host ${JSON.stringify(hostPort(target))} redirects`,
          Code.FailedPrecondition,
          {
            remedy: "use the URL that it redirects to",
          },
        );
      }
      return toResponse(target, statusCode, headers, body);
    } catch (reason) {
      void agent.destroy();
      throw reason;
    }
  };
}

/** Converts a response of undici to one of the Fetch standard. */
function toResponse(
  url: URL,
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Readable,
): Response {
  const isEmpty = status === 204 || status === 205;
  if (isEmpty) body.resume();
  const fields = Object.entries(headers).flatMap(
    ([name, value]): [string, string][] =>
      [value ?? []].flat().map((each) => [name, each]),
  );
  const response = new Response(isEmpty ? null : Readable.toWeb(body), {
    status,
    headers: fields,
  });
  Object.defineProperty(response, "url", { value: url.href });
  return response;
}
