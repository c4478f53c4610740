import { randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import {
  type AnyMessage,
  agent,
  ndJsonStream,
  type Stream,
} from "@agentclientprotocol/sdk";
import { objectOrEmpty } from "@devtool/internal/json";
import { isRounded, LONG_ID_REFUSAL } from "../long-id.ts";
import { withPlainError } from "../plain-error.ts";
import { AcpAgent } from "./acp-agent.ts";
import { withExactIds } from "./exact-ids.ts";
import type { Port } from "./port.ts";

/** Options of `serveAcp`. */
export interface ServeAcpOptions {
  /** The connection to the ACP client, such as `stdioStream`. */
  readonly stream: Stream;
  /**
   * Returns the server for sessions in a working directory of the client.
   * Without one, the server that describes the agent and lists sessions. Called
   * for each session; errors become the answer to the client's request, with
   * the JSON-RPC code of ACP that their Connect code stands for. The signal
   * aborts at the latest when the connection closes.
   */
  readonly connect: (
    cwd: string | undefined,
    signal: AbortSignal,
  ) => Promise<Port>;
  /**
   * The agent of sessions that choose none, on a server with several.
   *
   * Default: the first of `Port.agents`, or the server's own.
   */
  readonly agent?: string;
  /**
   * The models that a client may choose from, with the configuration option
   * `model`.
   *
   * Default: none, so that the client is not offered a choice.
   */
  readonly models?: readonly string[];
  /**
   * Receives messages for the operator, such as that a task is no longer
   * followed.
   *
   * Default: they are dropped.
   */
  readonly log?: (text: string) => void;
  /**
   * Returns a new id for a session or a message.
   *
   * Default: a random UUID.
   */
  readonly nextId?: () => string;
}

/**
 * Serves the agent behind a port as an ACP v1 agent, until the connection
 * closes or the signal aborts. Tasks that work then go on.
 *
 * ```ts
 * const stream = stdioStream(process.stdin, process.stdout);
 * await serveAcp({ stream, connect: async (cwd) => ({ client, workspace: cwd, agent: portAgentFrom(card) }) }, signal);
 * ```
 */
export async function serveAcp(
  options: ServeAcpOptions,
  signal: AbortSignal,
): Promise<void> {
  const {
    stream,
    connect,
    log = () => undefined,
    nextId = randomUUID,
  } = options;
  const acp = new AcpAgent({
    connect,
    log,
    nextId,
    agent: options.agent ?? "",
    models: options.models ?? [],
  });
  const connection = agent({ name: "devtool" })
    .onRequest("initialize", ({ params, signal: limit }) =>
      acp.initialize(params, limit),
    )
    // The SDK would refuse a list as a whole for one odd element.
    .onRequest("session/new", objectOrEmpty, (context) =>
      acp.newSession(context.params, context.client),
    )
    .onRequest("session/load", objectOrEmpty, (context) =>
      acp.loadSession(context.params, context.client),
    )
    .onRequest("session/resume", objectOrEmpty, (context) =>
      acp.resumeSession(context.params, context.client),
    )
    .onRequest("session/fork", objectOrEmpty, (context) =>
      acp.forkSession(context.params, context.client),
    )
    .onRequest("session/list", ({ params, signal: limit }) =>
      acp.listSessions(params, limit),
    )
    .onRequest("session/close", ({ params }) => acp.closeSession(params))
    .onRequest("session/set_mode", ({ params }) => acp.setMode(params))
    .onRequest("session/set_config_option", ({ params }) =>
      acp.setConfigOption(params),
    )
    .onRequest("session/prompt", objectOrEmpty, ({ params, signal: limit }) =>
      acp.prompt(params, limit),
    )
    .onNotification("session/cancel", ({ params }) => acp.cancel(params))
    .connect(readableStream(stream));
  acp.closing(connection.signal);
  const close = (): void => connection.close();
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  try {
    await connection.closed;
  } finally {
    signal.removeEventListener("abort", close);
  }
}

/**
 * Returns a stream without the requests whose ids were rounded, which it
 * refuses: those of `stdioStream` keep their digits. It says in words what is
 * wrong with the parameters of others.
 */
function readableStream({ readable, writable }: Stream): Stream {
  const outgoing =
    Promise.withResolvers<TransformStreamDefaultController<AnyMessage>>();
  const answers = new TransformStream<AnyMessage, AnyMessage>({
    start: outgoing.resolve,
    transform: (message, controller) =>
      controller.enqueue(withPlainError(message)),
  });
  const requests = new TransformStream<AnyMessage, AnyMessage>({
    async transform(message, controller) {
      if (!isRounded(message)) return controller.enqueue(message);
      (await outgoing.promise).enqueue(LONG_ID_REFUSAL);
    },
  });
  answers.readable.pipeTo(writable).catch(() => undefined);
  return {
    readable: readable.pipeThrough(requests),
    writable: answers.writable,
  };
}

/**
 * Returns the connection to an ACP client over a pair of streams, such as
 * standard input and output: one JSON object a line.
 */
export function stdioStream(input: Readable, output: Writable): Stream {
  const streams = withExactIds({
    output: Writable.toWeb(output),
    input: Readable.toWeb(input),
  });
  return ndJsonStream(streams.output, streams.input);
}
