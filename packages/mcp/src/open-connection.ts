import type { McpServer } from "@devtool/schema";
import { abortable, Code, DevtoolError } from "@devtool/server/agent";
import type { Client, VersionNegotiationOptions } from "@modelcontextprotocol/client";
import { type ConnectionOptions, McpConnection } from "./mcp-connection.ts";
import { createTransport, type McpTransport } from "./mcp-transport.ts";
import { messageOf } from "./message-of.ts";
import { createSafeValidator } from "./safe-validator.ts";
import { loadSdk } from "./sdk.ts";
import { serverPlace } from "./server-place.ts";
import { answerRequests, capabilitiesFor } from "./server-requests.ts";
import { ServerSecrets } from "./server-secrets.ts";

/** The time in milliseconds in which a server says that it speaks the protocol of 2026; then it is asked in that of 2025. */
const PROBE_MS = 10_000;
/** A list that changed is asked for when somebody needs it, not when the server says so. */
const ON_CHANGE = { autoRefresh: false, debounceMs: 0 } as const;

/**
 * Connects to a server, in the newest revision of the protocol that both speak. Throws `Code.Unavailable` with what the
 * server said when it cannot, and leaves no process behind.
 */
export async function openConnection(
  server: McpServer,
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<McpConnection> {
  const open = (versionNegotiation: VersionNegotiationOptions): Promise<McpConnection | FailedAttempt> =>
    tryOpen(server, { ...options, versionNegotiation }, signal);
  const attempt = await open({ mode: "auto", probe: { timeoutMs: PROBE_MS } });
  if (attempt instanceof McpConnection) return attempt;
  // Some old servers end when they are asked what they do not know; those get a second life without the question.
  const again = attempt.next === "legacy" ? await open({ mode: "legacy" }) : attempt;
  // After the user gave consent the same is tried once more.
  const last = attempt.next === "authorized" ? await open({ mode: "auto" }) : again;
  if (last instanceof McpConnection) return last;
  throw last.error;
}

/** What to do after an attempt that failed. */
interface FailedAttempt {
  readonly error: DevtoolError;
  readonly next: "legacy" | "authorized" | "nothing";
}

/** How one attempt is made. */
interface AttemptOptions extends ConnectionOptions {
  readonly versionNegotiation: VersionNegotiationOptions;
}

async function tryOpen(
  server: McpServer,
  options: AttemptOptions,
  signal: AbortSignal,
): Promise<McpConnection | FailedAttempt> {
  const way = await createTransport(server, options);
  const { client, connection } = await prepare(server, options, way);
  try {
    signal.throwIfAborted();
    await abortable(client.connect(way.transport, { signal }), signal);
    client.onclose = () => connection.closed();
    return connection;
  } catch (reason) {
    const next = await nextAfter(reason, way, signal);
    await way.transport.close().catch(() => undefined);
    await connection[Symbol.asyncDispose]();
    signal.throwIfAborted();
    return { error: openError(server, way, reason), next };
  }
}

async function prepare(
  server: McpServer,
  options: AttemptOptions,
  way: McpTransport,
): Promise<{ readonly client: Client; readonly connection: McpConnection }> {
  const { Client } = await loadSdk();
  const validator = await createSafeValidator();
  const client: Client = new Client(
    { ...options.clientInfo },
    {
      capabilities: capabilitiesFor({ sample: options.sample }),
      jsonSchemaValidator: validator,
      versionNegotiation: options.versionNegotiation,
      listChanged: {
        tools: { ...ON_CHANGE, onChanged: () => connection.lists.tools.forget() },
        prompts: { ...ON_CHANGE, onChanged: () => connection.lists.prompts.forget() },
        resources: { ...ON_CHANGE, onChanged: () => connection.lists.resources.forget() },
      },
    },
  );
  const connection: McpConnection = new McpConnection({ server, client, way, validator });
  client.onerror = () => {
    if (server.transport.case !== "stdio" && connection.callAsking()) connection.checkAlive();
  };
  const { workspacePath, sample } = options;
  const callOf = (): ReturnType<McpConnection["callAsking"]> => connection.callAsking();
  const secrets = new ServerSecrets(server);
  const asking = { name: server.name, place: serverPlace(server, options.originOf?.(server) ?? "operator") };
  answerRequests(client, { server: asking, secrets, workspacePath, sample, validator, callOf });
  return { client, connection };
}

async function nextAfter(reason: unknown, way: McpTransport, signal: AbortSignal): Promise<FailedAttempt["next"]> {
  const { SdkError, SdkErrorCode, UnauthorizedError } = await loadSdk();
  if (reason instanceof UnauthorizedError && way.authorize) {
    await way.authorize(signal);
    return "authorized";
  }
  const isUnclear = reason instanceof SdkError && reason.code === SdkErrorCode.EraNegotiationFailed;
  return isUnclear && way.closeReason() !== "" ? "legacy" : "nothing";
}

function openError(server: McpServer, way: McpTransport, reason: unknown): DevtoolError {
  const secrets = new ServerSecrets(server);
  const why = secrets.hide(way.closeReason() || messageOf(reason));
  const message = `MCP server ${JSON.stringify(server.name)}: ${why}`;
  return new DevtoolError(message, Code.Unavailable, { cause: secrets.hideInError(reason) });
}
