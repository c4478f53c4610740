import type {
  AnyMessage,
  ClientApp,
  ClientCapabilities,
  ClientConnection,
  ClientContext,
  InitializeResponse,
} from "@agentclientprotocol/sdk";
import { abortable } from "@devtool/internal/abortable";
import { keepStart } from "@devtool/internal/cut-text";
import { errorWords } from "@devtool/internal/error-words";
import { objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { unmarkLongIds } from "@devtool/internal/long-ids";
import { Code, DevtoolError, quoted, VERSION } from "@devtool/server/agent";
import { withPlainError } from "../plain-error.ts";
import type { AcpLimits, AcpPipe } from "./acp-agent-options.ts";
import { readMessages } from "./message-reader.ts";

/**
 * The maximum number of bytes that an agent may leave unread before it is
 * ended.
 */
const MAX_UNREAD_BYTES: number = 16 * 1024 * 1024;
/** The maximum length of an agent's text in an error, in characters. */
const MAX_ERROR_LENGTH = 500;

/** JSON-RPC's code for parameters that cannot be used. */
const INVALID_PARAMS = -32602;

/**
 * The method under which a `session/update` reaches its handler. The SDK drops
 * an update that it does not know, with all that it holds.
 */
export const UPDATE = "_devtool/session_update";

/** A request or a notification of the agent. */
type AnyCall = Extract<AnyMessage, { method: string }>;
type AnyResponse = Exclude<AnyMessage, AnyCall>;

/** The options of `AcpConnection`. */
export interface AcpConnectionOptions {
  /** The display name of the agent, for errors. */
  readonly name: string;
  readonly limits: AcpLimits;
  /** The capabilities that the client offers the agent. */
  readonly capabilities: ClientCapabilities;
  /**
   * Registers the handlers of the agent's requests and notifications. Those of
   * notifications run in the order of arrival.
   */
  readonly register: (app: ClientApp) => void;
  /**
   * Called for what the agent says or asks in another session than its own,
   * with the method and the id of that session. Neither is handled.
   */
  readonly onForeignSession: (method: string, sessionId: string) => void;
  /**
   * Resolves when there is room for another message. Nothing is read from the
   * agent until then.
   */
  readonly room: () => Promise<void>;
  /** Reports a message to the operator. */
  readonly onNotice: (text: string) => void;
  readonly nowMs: () => number;
}

/**
 * A connection to one agent, after `initialize`. Disposing of it ends the
 * agent.
 */
export class AcpConnection implements AsyncDisposable {
  readonly #options: AcpConnectionOptions;
  readonly #pipe: AcpPipe;
  readonly #ended = new AbortController();
  readonly #pending = new Set<unknown>();
  readonly #connection: ClientConnection;
  #hasForeignLine = false;
  #isClosing = false;
  #isFaulty = false;
  #initialized: InitializeResponse | undefined;
  /** The id of the session; empty until it is opened. */
  #sessionId = "";

  private constructor(
    pipe: AcpPipe,
    app: ClientApp,
    options: AcpConnectionOptions,
  ) {
    this.#pipe = pipe;
    this.#options = options;
    const writable = new WritableStream<AnyMessage>({
      write: (message) => {
        if ("method" in message && "id" in message) {
          this.#pending.add(message.id);
        }
        const text = JSON.stringify(withPlainError(message));
        if (!pipe.write(`${unmarkLongIds(text)}\n`)) {
          throw new Error("the agent accepts no more input");
        }
        if ((pipe.unreadBytes ?? 0) > MAX_UNREAD_BYTES) {
          this.#endFaulty("it does not read its input");
        }
      },
    });
    this.#connection = app.connect({
      readable: ReadableStream.from(this.#received()),
      writable,
    });
    pipe.ended
      .then((how) => this.#end(how))
      .catch((reason: unknown) => this.#end(String(reason)));
  }

  /**
   * Connects over a pipe and initializes the agent. Ends the agent when that
   * fails or the signal aborts.
   */
  static async open(
    pipe: AcpPipe,
    options: AcpConnectionOptions,
    signal: AbortSignal,
  ): Promise<AcpConnection> {
    const { client, PROTOCOL_VERSION } = await import(
      "@agentclientprotocol/sdk"
    );
    const app = client({ name: "devtool" });
    options.register(app);
    const connection = new AcpConnection(pipe, app, options);
    try {
      const initialized = await connection.request(
        "initialize",
        signal,
        (agent) =>
          agent.request("initialize", {
            protocolVersion: PROTOCOL_VERSION,
            clientCapabilities: options.capabilities,
            clientInfo: { name: "devtool", version: VERSION },
          }),
      );
      const { protocolVersion } = objectOrEmpty(initialized);
      if (protocolVersion !== PROTOCOL_VERSION) {
        throw connection.#unavailable(
          `it speaks version ${JSON.stringify(protocolVersion)} of ACP, not ${PROTOCOL_VERSION}`,
        );
      }
      connection.#initialized = initialized;
      return connection;
    } catch (reason) {
      await connection[Symbol.asyncDispose]();
      throw reason;
    }
  }

  /** Aborts when the agent has ended. The reason is a `DevtoolError`. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /**
   * Whether the agent was ended because it broke a limit: it would do so again.
   */
  get isFaulty(): boolean {
    return this.#isFaulty;
  }

  /** The agent's answer to `initialize`. */
  get initialized(): InitializeResponse {
    if (!this.#initialized) {
      throw new DevtoolError("the agent is not initialized", Code.Internal);
    }
    return this.#initialized;
  }

  /** Takes the id of the session that was opened. */
  enter(sessionId: string): void {
    this.#sessionId = sessionId;
  }

  /** The context for notifications to the agent. */
  get agent(): ClientContext {
    return this.#connection.agent;
  }

  /**
   * Makes a request of a method and waits for the answer. Throws a
   * `DevtoolError` when the agent refuses it or has ended.
   */
  async request<Response>(
    method: string,
    signal: AbortSignal,
    send: (agent: ClientContext) => Promise<Response>,
  ): Promise<Response> {
    this.#ended.signal.throwIfAborted();
    try {
      return await abortable(
        send(this.#connection.agent),
        AbortSignal.any([signal, this.#ended.signal]),
      );
    } catch (reason) {
      signal.throwIfAborted();
      // The connection closes before the way in which the process ended is
      // known.
      if (this.#connection.signal.aborted) {
        await this.#pipe.ended.then((how) => this.#end(how));
      }
      this.#ended.signal.throwIfAborted();
      if (
        !(
          reason instanceof Error &&
          "code" in reason &&
          typeof reason.code === "number"
        )
      ) {
        throw DevtoolError.from(reason);
      }
      const data = "data" in reason ? reason.data : undefined;
      const words = errorWords(reason.message, data);
      const said = keepStart(words, MAX_ERROR_LENGTH);
      const text = `agent ${JSON.stringify(this.#options.name)} answered ${method} with error ${reason.code}: ${said}`;
      throw new DevtoolError(text, CODES.get(reason.code) ?? Code.Unknown, {
        cause: reason,
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    this.#end("it was stopped");
    await this.#pipe[Symbol.asyncDispose]();
    this.#connection.close();
  }

  async *#received(): AsyncGenerator<AnyMessage> {
    const messages = readMessages(this.#pipe.output, {
      limits: this.#options.limits,
      nowMs: this.#options.nowMs,
      onForeignLine: () => {
        if (this.#hasForeignLine) return;
        this.#hasForeignLine = true;
        const agent = `agent ${JSON.stringify(this.#options.name)}`;
        this.#options.onNotice(
          `${agent} writes lines that are no messages: they are skipped`,
        );
      },
    });
    try {
      for await (const message of messages) {
        const taken =
          "method" in message ? this.#own(message) : this.#answer(message);
        if (taken) yield taken;
        await this.#options.room();
      }
    } catch (reason) {
      this.#endFaulty(
        reason instanceof Error ? reason.message : "its output cannot be read",
      );
    }
    // Whatever ended the output, an agent that cannot answer is of no more use.
    Promise.resolve(this.#pipe[Symbol.asyncDispose]()).catch(
      (reason: unknown) => this.#end(String(reason)),
    );
  }

  /**
   * Returns an answer with the id of the request that it is for. Undefined for
   * one to no request of ours, which the SDK would print.
   */
  #answer(message: AnyResponse): AnyResponse | undefined {
    const { id: given } = message;
    const isNumber = typeof given === "string" && /^\d+$/.test(given);
    const ids = [given, ...(isNumber ? [Number(given)] : [])];
    const id = ids.find((each) => this.#pending.delete(each));
    return id === undefined ? undefined : { ...message, id };
  }

  /**
   * Returns a request or a notification, unless it is of another session: such
   * a request is refused.
   */
  #own(message: AnyCall): AnyCall | undefined {
    const { sessionId } = objectOrEmpty(message.params);
    const isOwn =
      this.#sessionId === "" ||
      sessionId === undefined ||
      sessionId === null ||
      sessionId === this.#sessionId;
    if (isOwn) {
      const { method } = message;
      return method === "session/update"
        ? { ...message, method: UPDATE }
        : message;
    }
    const id = stringOrEmpty(sessionId) || JSON.stringify(sessionId);
    this.#options.onForeignSession(message.method, id);
    if ("id" in message) {
      const text = `session ${quoted(id)} is not the session of this connection`;
      const error = { code: INVALID_PARAMS, message: text };
      const answer = { jsonrpc: "2.0", id: message.id, error };
      this.#pipe.write(`${unmarkLongIds(JSON.stringify(answer))}\n`);
    }
    return undefined;
  }

  #endFaulty(why: string): void {
    this.#isFaulty = true;
    this.#end(why);
    this.#pipe.kill?.();
  }

  #end(why: string): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort(this.#unavailable(why));
    if (this.#isClosing) return;
    const { lastWords = "" } = this.#pipe;
    const said = lastWords === "" ? "" : `; its last words: ${lastWords}`;
    this.#options.onNotice(
      `agent ${JSON.stringify(this.#options.name)} ended: ${why}${said}`,
    );
  }

  #unavailable(why: string): DevtoolError {
    return new DevtoolError(
      `agent ${JSON.stringify(this.#options.name)}: ${why}`,
      Code.Unavailable,
    );
  }
}

/** The codes of JSON-RPC and ACP with a counterpart among ours. */
const CODES: ReadonlyMap<number, Code> = new Map([
  [-32000, Code.Unauthenticated],
  [-32002, Code.NotFound],
  [-32601, Code.Unimplemented],
  [-32602, Code.InvalidArgument],
  [-32800, Code.Canceled],
]);
