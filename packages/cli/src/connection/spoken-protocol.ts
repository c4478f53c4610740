import {
  Code,
  ConnectError,
  createClient,
  type Transport,
} from "@connectrpc/connect";
import { isObject, parseJsonOrUndefined } from "@devtool/internal/json";
import { findExtension, TaskService } from "@devtool/schema";
import type { AgentCard } from "@devtool/schema/a2a-v1";
import type { Address } from "./address.ts";
import { isNotConnected, urlProblem } from "./url-problem.ts";

/** Timeout of each question to a server, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** How a server is spoken to. */
export interface Spoken {
  readonly protocol: string;
  /**
   * Whether it is an agent that is not devtool's, and whether it has the
   * development-tool extension.
   */
  readonly foreign?: "extension" | "plain";
}

/**
 * Finds out how the server of a URL is spoken to, if the user does not say:
 * devtool's own services, or A2A if it has a card.
 *
 * Throws at once, with the remedy, if the server cannot be reached.
 */
export async function findProtocol(
  { url }: Pick<Address, "url">,
  given: string | undefined,
  fetch: typeof globalThis.fetch,
): Promise<Spoken> {
  if (given === "grpc") return { protocol: given };
  const card = await findCard(url, fetch);
  if (given === "connect") return { protocol: given };
  if (given !== "a2a" && (await isDevtool(url, fetch))) {
    return { protocol: "connect" };
  }
  if (card instanceof ConnectError) throw urlProblem(url, card);
  const uris = card.capabilities?.extensions.map(({ uri }) => uri) ?? [];
  if (findExtension(uris) === undefined) {
    return { protocol: "a2a", foreign: "plain" };
  }
  // The agents of a devtool server have paths of their own, and its card may be
  // at another host.
  const origins = [url, ...card.supportedInterfaces.map((each) => each.url)]
    .map((each) => (/^[\w.-]+:\d+$/.test(each) ? `http://${each}` : each))
    .map((each) => URL.parse(each, url)?.origin ?? "")
    .filter((origin) => origin.startsWith("http"));
  for (const origin of new Set(origins)) {
    if (await isDevtool(origin, fetch)) return { protocol: "a2a" };
  }
  return { protocol: "a2a", foreign: "extension" };
}

/** Fetches the card at a URL. Returns the error if there is none. */
async function findCard(
  url: string,
  fetch: typeof globalThis.fetch,
): Promise<AgentCard | ConnectError> {
  const { fetchAgentCard } = await import("@devtool/client/a2a");
  try {
    return await fetchAgentCard(
      { url, extension: "optional", fetch },
      AbortSignal.timeout(TIMEOUT_MS),
    );
  } catch (reason) {
    const error = ConnectError.from(reason);
    if (error.code === Code.Unavailable) throw urlProblem(url, error);
    return error;
  }
}

/**
 * Throws, within 5 seconds, if no server answers as gRPC. Else each call would
 * be repeated until its attempts are used up.
 */
export async function assertAnswersGrpc(
  { url }: Pick<Address, "url">,
  transport: Transport,
): Promise<void> {
  try {
    await createClient(TaskService, transport).getTask({}, { timeoutMs: 4000 });
  } catch (reason) {
    const error = ConnectError.from(reason);
    if (!UNANSWERED.has(error.code)) return;
    if (isNotConnected(error)) throw urlProblem(url, error);
    const problem = `nothing answers as gRPC there (${error.rawMessage}): check the port, or leave --protocol out`;
    throw urlProblem(url, new ConnectError(problem, Code.FailedPrecondition));
  }
}

/** The codes of calls that no server of gRPC has answered. */
const UNANSWERED: ReadonlySet<Code> = new Set([
  Code.DeadlineExceeded,
  Code.Internal,
  Code.Unavailable,
  Code.Unknown,
]);

/**
 * Whether a server has devtool's own services: it answers a request for no task
 * with an error of Connect.
 */
async function isDevtool(
  url: string,
  fetch: typeof globalThis.fetch,
): Promise<boolean> {
  const base = url.replace(/\/+$/, "");
  const response = await fetch(`${base}/${TaskService.typeName}/GetTask`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined);
  if (!response || response.ok) return false;
  const answer = parseJsonOrUndefined(await response.text().catch(() => ""));
  return (
    isObject(answer) &&
    typeof answer.code === "string" &&
    /^[a-z_]+$/.test(answer.code)
  );
}
