import { abortable } from "@devtool/internal/abortable";
import type { McpServer } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type {
  Client,
  VersionNegotiationOptions,
} from "@modelcontextprotocol/client";
import { describeError } from "./describe-error.ts";
import { LeftOut } from "./left-out.ts";
import type { ListKind } from "./list-items.ts";
import {
  type ConnectionOptions,
  McpConnection,
  type OpenedConnection,
} from "./mcp-connection.ts";
import { createTransport, type McpTransport } from "./mcp-transport.ts";
import { MessageReader } from "./message-reader.ts";
import { createSafeValidator } from "./safe-validator.ts";
import { loadSdk } from "./sdk.ts";
import { serverPlace } from "./server-place.ts";
import { answerRequests, CLIENT_CAPABILITIES } from "./server-requests.ts";
import { ServerSecrets } from "./server-secrets.ts";

/**
 * The timeout of the probe for the protocol of 2026, in milliseconds. Without
 * an answer the protocol of 2025 is used, until the answer comes after all.
 */
const PROBE_MS = 10_000;
/**
 * A list that has changed is loaded when it is next needed, not when the server
 * says so.
 */
const ON_CHANGE = { autoRefresh: false, debounceMs: 0 } as const;

/**
 * Connects to a server, in the newest revision of the protocol that both sides
 * support.
 *
 * Throws `Code.Unavailable` with the server's own reason when that fails, and
 * then leaves no process behind.
 */
export async function openConnection(
  server: McpServer,
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<McpConnection> {
  const open = (
    versionNegotiation: VersionNegotiationOptions,
  ): Promise<McpConnection | FailedAttempt> =>
    tryOpen(server, options, versionNegotiation, signal);
  const attempt = await open({ mode: "auto", probe: { timeoutMs: PROBE_MS } });
  if (attempt instanceof McpConnection) return attempt;
  let last: McpConnection | FailedAttempt = attempt;
  // Some old servers exit at the probe, because they do not know the request.
  // They are started again without it.
  if (attempt.next === "legacy") last = await open({ mode: "legacy" });
  // The user has given the consent for lack of which the first attempt failed,
  // or the server began so slowly that it was taken for an old one.
  if (attempt.next === "patient") last = await open({ mode: "auto" });
  if (last instanceof McpConnection) return last;
  throw last.error;
}

/** An attempt that failed, and whether another one may succeed. */
interface FailedAttempt {
  readonly error: DevtoolError;
  readonly next: "legacy" | "patient" | "nothing";
}

async function tryOpen(
  server: McpServer,
  options: ConnectionOptions,
  versionNegotiation: VersionNegotiationOptions,
  signal: AbortSignal,
): Promise<McpConnection | FailedAttempt> {
  const leftOut = new LeftOut();
  const secrets = new ServerSecrets(server);
  const reader = new MessageReader(
    await loadSdk(),
    (list, text) => leftOut.add(list, secrets.hide(text)),
    (list) => leftOut.clear(list),
  );
  const transport = await createTransport(server, options, reader);
  const { client, connection } = await createClient(
    { server, transport, leftOut },
    options,
    versionNegotiation,
  );
  try {
    signal.throwIfAborted();
    await abortable(client.connect(transport.transport, { signal }), signal);
    if (reader.isLateModern) throw new Error("it answered the probe late");
    client.onclose = () => connection.handleClose();
    connection.changes.begin();
    return connection;
  } catch (reason) {
    const next = reader.isLateModern
      ? "patient"
      : await nextAttempt(reason, transport, signal);
    await transport.transport.close().catch(() => undefined);
    await connection[Symbol.asyncDispose]();
    signal.throwIfAborted();
    const why = secrets.hide(transport.closeReason() || describeError(reason));
    const message = `MCP server ${JSON.stringify(server.name)}: ${why}`;
    return {
      error: new DevtoolError(message, Code.Unavailable, {
        cause: secrets.hideInError(reason),
      }),
      next,
    };
  }
}

/**
 * Creates a client of the SDK that is not connected yet, and the connection for
 * it.
 */
async function createClient(
  opened: Pick<OpenedConnection, "server" | "transport" | "leftOut">,
  options: ConnectionOptions,
  versionNegotiation: VersionNegotiationOptions,
): Promise<{ readonly client: Client; readonly connection: McpConnection }> {
  const { Client } = await loadSdk();
  const { clientInfo, originOf, workspacePath } = options;
  const { server } = opened;
  const validator = await createSafeValidator();
  const changeOf = (...lists: readonly ListKind[]) => ({
    ...ON_CHANGE,
    onChanged: () => {
      for (const list of lists) connection.lists[list].invalidate();
    },
  });
  const client: Client = new Client(
    { ...clientInfo },
    {
      capabilities: CLIENT_CAPABILITIES,
      jsonSchemaValidator: validator,
      versionNegotiation,
      // The reader ends long lists, and keeps what came until then.
      listMaxPages: 0,
      listChanged: {
        tools: changeOf("tools"),
        prompts: changeOf("prompts"),
        resources: changeOf("resources", "resourceTemplates"),
      },
    },
  );
  client.setNotificationHandler(
    "notifications/resources/updated",
    ({ params }) => connection.changes.noteChange(params.uri),
  );
  const answer = answerRequests(client, {
    server: {
      name: server.name,
      place: serverPlace(server, originOf?.(server) ?? "operator"),
    },
    secrets: new ServerSecrets(server),
    workspacePath,
    validator,
    findCall: () => connection.findCall(),
  });
  const connection: McpConnection = new McpConnection({
    ...opened,
    client,
    validator,
    answer,
  });
  client.onerror = () => {
    if (server.transport.case !== "stdio" && connection.findCall()) {
      connection.checkAlive();
    }
  };
  return { client, connection };
}

/**
 * Returns which attempt may succeed after a failure. Waits for the user's
 * consent if the failure was the lack of it.
 */
async function nextAttempt(
  reason: unknown,
  transport: McpTransport,
  signal: AbortSignal,
): Promise<FailedAttempt["next"]> {
  const { SdkError, SdkErrorCode, UnauthorizedError } = await loadSdk();
  if (reason instanceof UnauthorizedError && transport.authorize) {
    await transport.authorize(signal);
    return "patient";
  }
  const isUnclear =
    reason instanceof SdkError &&
    reason.code === SdkErrorCode.EraNegotiationFailed;
  return isUnclear && transport.closeReason() !== "" ? "legacy" : "nothing";
}
