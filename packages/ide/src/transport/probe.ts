import { type RequestOptions, request } from "node:http";
import type { Agent } from "../discovery/places.ts";

/** How long a companion may take to answer, in milliseconds. */
const TIMEOUT_MS = 3000;

/** Where an agent would connect. */
export interface Target {
  readonly agent: Agent;
  /** `127.0.0.1`, or the name of its host in a container. */
  readonly host: string;
  readonly port: number;
  readonly token: string;
  /** How names are resolved. Default: as the system does. */
  readonly lookup: RequestOptions["lookup"];
}

/**
 * Knocks at a companion as an agent does, without beginning a session. Returns
 * why the agent would not get in; undefined when it would.
 */
export async function probe(target: Target): Promise<string | undefined> {
  const { agent, host, port } = target;
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  if (port < 1 || port > 65_535) return `port ${port} is none`;
  const at = `${host}:${port}`;
  // A timeout of the socket would begin again with each byte.
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const sent = request({
    host,
    port,
    path: agent === "claude-code" ? "/" : "/mcp",
    headers: headersFor(target),
    signal,
    agent: false,
    ...(target.lookup && { lookup: target.lookup }),
  });
  sent.on("upgrade", (_response, socket) => {
    socket.destroy();
    resolve(agent === "claude-code" ? undefined : stranger(at));
  });
  sent.on("response", ({ statusCode = 0 }) =>
    resolve(problemOfStatus(statusCode, target)),
  );
  sent.on("error", ({ message }) => {
    if (signal.aborted) {
      return resolve(`${at} does not answer: start the companion again`);
    }
    resolve(
      /ENOTFOUND|EAI_AGAIN/.test(message)
        ? `"${host}" is not known in this container: start it with that name for its host`
        : `nobody listens at ${at}: start the companion again`,
    );
  });
  sent.end();
  return await promise.finally(() => sent.destroy());
}

function headersFor({ agent, token }: Target): Record<string, string> {
  return agent === "claude-code"
    ? {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": Buffer.alloc(16).toString("base64"),
        "x-claude-code-ide-authorization": token,
      }
    : { authorization: `Bearer ${token}`, accept: "text/event-stream" };
}

function problemOfStatus(
  status: number,
  { agent, host, port }: Target,
): string | undefined {
  const at = `${host}:${port}`;
  if (status === 401) {
    return `${at} refuses the token of the file (401): another companion has the port, start this one again`;
  }
  if (status === 403) {
    return host === "127.0.0.1"
      ? `${at} refuses the request (403)`
      : `the companion refuses "${host}" as Host (403), which agents in a container send: allow containers in the companion, or set SSH_CONNECTION=1 in a container that shares its host's network`;
  }
  if (status === 503)
    return `${at} has as many agents as it may (503): end one`;
  // It asks for a session, which a knock does not have.
  return agent !== "claude-code" && [400, 405, 406].includes(status)
    ? undefined
    : stranger(at);
}

function stranger(at: string): string {
  return `another program listens at ${at}: remove the file, and start the companion again`;
}
