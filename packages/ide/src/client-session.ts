import { setImmediate } from "node:timers/promises";
import { plainJson } from "@devtool/internal/json";
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type Tool,
  type Transport,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Dialect, Notice } from "./dialect/dialect.ts";
import type { Editor } from "./editor.ts";
import { IdeError } from "./ide-error.ts";
import { CONTEXT_DELAY_MS } from "./limits.ts";
import type { OpenDiffs } from "./open-diffs.ts";

/** What a session works with. */
export interface SessionParts {
  readonly dialect: Dialect;
  readonly editor: Editor;
  readonly diffs: OpenDiffs;
  /** The version of the companion. */
  readonly version: string;
  /** Whether the client reads slower than it is told. */
  isSlow(): boolean;
}

/** One client: an MCP server of its own, and the diffs that it has open. */
export class ClientSession {
  readonly #parts: SessionParts;
  readonly #server: Server;
  readonly #gone = new AbortController();
  #isReady = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    const { dialect, version } = parts;
    this.#server = new Server(
      { name: dialect.serverName, version },
      { capabilities: { tools: {}, logging: {} } },
    );
    const tools = dialect.tools.map(toolDescription);
    this.#server.setRequestHandler("tools/list", () => {
      // Only now does the client listen: Gemini CLI drops what comes before.
      this.#isReady = true;
      this.contextChanged();
      return { tools };
    });
    this.#server.setRequestHandler("tools/call", ({ params }, { mcpReq }) =>
      this.#call(params.name, params.arguments ?? {}, mcpReq.signal),
    );
  }

  /** Serves the client over a transport, until that closes. */
  async connect(transport: Transport): Promise<void> {
    this.#server.onclose = () => void this.#end();
    await this.#server.connect(transport);
  }

  /** Tells the client the context, soon. */
  contextChanged(): void {
    if (!this.#isReady || this.#gone.signal.aborted) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#parts.isSlow()) return this.contextChanged();
      this.#tellContext();
    }, CONTEXT_DELAY_MS).unref();
  }

  /** Ends the session and closes its diffs, which the client hears of. */
  async close(): Promise<void> {
    this.#gone.abort(new Error("the companion ends"));
    // What the dialect then says is sent before the connection ends.
    await setImmediate();
    await this.#server.close();
    await this.#end();
  }

  #tellContext(): void {
    const { dialect, editor } = this.#parts;
    try {
      const notice = dialect.contextNotice(editor.context());
      if (notice) this.#notify(notice);
    } catch {
      // The editor failed. Its next change tells the client what is then there.
    }
  }

  async #end(): Promise<void> {
    clearTimeout(this.#timer);
    this.#gone.abort(new Error("the client is gone"));
    await this.#parts.diffs.closeAll(this);
  }

  async #call(
    name: string,
    input: unknown,
    cancelled: AbortSignal,
  ): Promise<CallToolResult> {
    const { dialect, editor, diffs } = this.#parts;
    const tool = dialect.tools.find((each) => each.name === name);
    if (!tool) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `tool "${name}" is not one of ${dialect.tools.map((each) => each.name).join(", ")}`,
      );
    }
    const sessionSignal = this.#gone.signal;
    try {
      const texts = await tool.run(input, {
        editor,
        diffs,
        owner: this,
        notify: (notice) => this.#notify(notice),
        callSignal: AbortSignal.any([cancelled, sessionSignal]),
        sessionSignal,
      });
      return { content: texts.map(textContent) };
    } catch (reason) {
      return { isError: true, content: [textContent(problemOf(name, reason))] };
    }
  }

  /** What cannot be sent is lost: the client is gone. */
  #notify(notice: Notice): void {
    this.#server.notification(notice).catch(() => undefined);
  }
}

function toolDescription({
  name,
  description,
  input,
}: Dialect["tools"][number]): Tool {
  const { properties, required } = z.toJSONSchema(input, { io: "input" });
  return {
    name,
    description,
    inputSchema: {
      type: "object",
      ...(properties && { properties: plainJson(properties) }),
      ...(required && { required }),
    },
  };
}

function textContent(text: string) {
  return { type: "text" as const, text };
}

/** What the client is told of an error. */
function problemOf(name: string, reason: unknown): string {
  if (reason instanceof IdeError) return reason.message;
  if (reason instanceof z.ZodError) {
    const [issue] = reason.issues;
    return `${name}: ${issue?.path.join(".")}: ${issue?.message}`;
  }
  return `${name} failed in the companion`;
}
