import { createInterface } from "node:readline";
import {
  Writable as NodeWritable,
  PassThrough,
  Readable,
  type Writable,
} from "node:stream";
import {
  type ClientCapabilities,
  type ClientContext,
  client,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { objectOrEmpty } from "@devtool/internal/json";
import { FrameChecker } from "./frames.ts";

/** How an editor of a test behaves. */
export interface EditorOptions {
  readonly capabilities?: ClientCapabilities;
  /** Answers a question. Default: none is expected. */
  readonly onPermission?: (
    asked: RequestPermissionRequest,
    signal: AbortSignal,
  ) => Promise<RequestPermissionResponse>;
  /** The text of open files. */
  readonly buffers?: Readonly<Record<string, string>>;
}

/** An ACP client on the SDK, which checks each frame of the agent. */
export class Editor implements AsyncDisposable {
  readonly agent: ClientContext;
  readonly updates: SessionUpdate[] = [];
  /** Every frame of the agent, in order. */
  readonly frames: { readonly [key: string]: unknown }[] = [];
  readonly #checker = new FrameChecker();
  readonly #close: () => void;
  readonly #waiting = new Set<() => void>();

  /** Speaks to an agent that reads `input` and writes `output`. */
  constructor(input: Writable, output: Readable, options: EditorOptions = {}) {
    const { onPermission, buffers = {} } = options;
    const copy = new PassThrough();
    createInterface({ input: output }).on("line", (line) => {
      this.frames.push(this.#checker.check(line));
      copy.write(`${line}\n`);
      for (const look of this.#waiting) look();
    });
    output.on("end", () => copy.end());
    const requests = new PassThrough();
    createInterface({ input: requests }).on("line", (line) => {
      const { id, method } = objectOrEmpty(JSON.parse(line));
      if (typeof method === "string" && id !== undefined) {
        this.#checker.request(id, method);
      }
      input.write(`${line}\n`);
    });
    requests.on("end", () => input.end());
    const connection = client({ name: "editor" })
      .onNotification("session/update", ({ params }) => {
        this.updates.push(params.update);
        for (const look of this.#waiting) look();
      })
      .onRequest("session/request_permission", ({ params, signal }) => {
        if (!onPermission) throw new Error("no question was expected");
        return onPermission(params, signal);
      })
      .onRequest("fs/read_text_file", ({ params }) => {
        const content = buffers[params.path];
        if (content === undefined) {
          throw new Error(`${params.path} is not open`);
        }
        return { content };
      })
      .connect(
        ndJsonStream(NodeWritable.toWeb(requests), Readable.toWeb(copy)),
      );
    this.agent = connection.agent;
    this.#close = () => {
      connection.close();
      input.end();
    };
  }

  /** The frames that do not match the schema of ACP v1. */
  get problems(): readonly string[] {
    return this.#checker.problems;
  }

  /** The text that the agent said so far. */
  get text(): string {
    return this.updates
      .map((update) =>
        update.sessionUpdate === "agent_message_chunk" &&
        update.content.type === "text"
          ? update.content.text
          : "",
      )
      .join("");
  }

  /** Waits until something is so. */
  async until(isSo: () => boolean): Promise<void> {
    if (isSo()) return;
    const done = Promise.withResolvers<void>();
    const look = (): void => {
      if (isSo()) done.resolve();
    };
    this.#waiting.add(look);
    try {
      await done.promise;
    } finally {
      this.#waiting.delete(look);
    }
  }

  /** Starts a session and returns its id. */
  async open(
    cwd: string,
    capabilities: ClientCapabilities = {},
  ): Promise<string> {
    await this.agent.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: capabilities,
    });
    const { sessionId } = await this.agent.request("session/new", {
      cwd,
      mcpServers: [],
    });
    return sessionId;
  }

  async prompt(sessionId: string, text: string): Promise<string> {
    const { stopReason } = await this.agent.request("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text }],
    });
    return stopReason;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
  }
}

/** Answers a question with the first option of a kind. */
export function choose(
  kind: string,
): (asked: RequestPermissionRequest) => Promise<RequestPermissionResponse> {
  return async ({ options }) => {
    const option = options.find((each) => each.kind === kind);
    return {
      outcome: option
        ? { outcome: "selected", optionId: option.optionId }
        : { outcome: "cancelled" },
    };
  };
}
