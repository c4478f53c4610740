import type { Readable, Writable } from "node:stream";
import {
  create,
  fromJsonString,
  type MessageInitShape,
  toJsonString,
} from "@bufbuild/protobuf";
import { LineReader } from "@devtool/internal/line-reader";
import { type Companion, startCompanion } from "../companion.ts";
import type { Environment } from "../discovery/places.ts";
import {
  CompanionMessageSchema,
  type EditorHello,
  type EditorMessage,
  EditorMessageSchema,
  type EditorState,
} from "../gen/devtool/ide/v1alpha/stdio_pb.ts";
import { MAX_MESSAGE_BYTES } from "../limits.ts";
import { RemoteEditor } from "./remote-editor.ts";

/** How an editor reaches its companion in a child process. */
export interface EditorStreams {
  /** What the editor writes: a message a line. */
  readonly input: Readable;
  /** What it reads. */
  readonly output: Writable;
  readonly env: Environment;
}

/**
 * Runs a companion for the editor at the streams, with the messages of
 * `stdio.proto`, until it closes them or the signal aborts.
 *
 * Rejects when the companion cannot start, or a line is too long.
 */
export async function serveEditor(
  { input, output, env }: EditorStreams,
  signal: AbortSignal,
): Promise<void> {
  const served = new ServedEditor(output, env);
  const end = (): void => void input.destroy();
  signal.addEventListener("abort", end, { once: true });
  // An editor that died cannot be told anything.
  output.on("error", end);
  const lines = new LineReader(MAX_MESSAGE_BYTES);
  try {
    if (signal.aborted) return;
    for await (const chunk of input) {
      for (const line of lines.push(chunk)) await served.take(line);
    }
  } catch (reason) {
    if (!input.destroyed || input.errored) throw reason;
  } finally {
    signal.removeEventListener("abort", end);
    await served.end();
  }
}

/** An editor that is served, and its companion once it has said who it is. */
class ServedEditor {
  readonly #output: Writable;
  readonly #env: Environment;
  #hello: EditorHello | undefined;
  #running: { editor: RemoteEditor; companion: Companion } | undefined;
  #told = "";

  constructor(output: Writable, env: Environment) {
    this.#output = output;
    this.#env = env;
  }

  /** Reads a line. One that is not a message costs itself alone. */
  async take(line: string): Promise<void> {
    if (line.trim() === "") return;
    const read = readLine(line);
    if (typeof read === "string") {
      return this.#say({ case: "problem", value: { message: read } });
    }
    await this.#receive(read);
    this.#tellState();
  }

  async end(): Promise<void> {
    this.#running?.editor.abandon();
    await this.#running?.companion.close();
  }

  async #receive({ message }: EditorMessage): Promise<void> {
    const { editor } = this.#running ?? {};
    switch (message.case) {
      case "hello":
        this.#hello ??= message.value;
        return;
      case "state":
        if (editor) return editor.update(message.value);
        return await this.#start(message.value);
      case "answer":
        return editor?.takeAnswer(message.value);
      case "diffEnded":
        return editor?.endDiff(message.value);
      case undefined:
        return;
    }
  }

  async #start(state: EditorState): Promise<void> {
    const hello = this.#hello;
    if (!hello) {
      const message = 'the first line must be a "hello": say who the editor is';
      return this.#say({ case: "problem", value: { message } });
    }
    const editor = new RemoteEditor(hello, state, (request) =>
      this.#say({ case: "request", value: request }),
    );
    const { pid, containerAddress } = hello;
    const companion = await startCompanion(editor, {
      env: this.#env,
      ...(pid > 0 && { editorPid: pid }),
      ...(containerAddress !== "" && {
        allowContainers: { address: containerAddress },
      }),
    });
    this.#running = { editor, companion };
  }

  /** Tells how the companion works, when that has changed. */
  #tellState(): void {
    if (!this.#running) return;
    const { port, environment, problems } = this.#running.companion;
    const value = { port, environment, problems: [...problems] };
    const text = JSON.stringify(value);
    if (text === this.#told) return;
    this.#told = text;
    this.#say({ case: "state", value });
  }

  #say(
    message: MessageInitShape<typeof CompanionMessageSchema>["message"],
  ): void {
    const line = create(CompanionMessageSchema, message ? { message } : {});
    this.#output.write(`${toJsonString(CompanionMessageSchema, line)}\n`);
  }
}

/** Returns a message, or what is wrong with the line. */
function readLine(line: string): EditorMessage | string {
  try {
    return fromJsonString(EditorMessageSchema, line, {
      ignoreUnknownFields: true,
    });
  } catch (reason) {
    return `not a message of an editor: ${reason instanceof Error ? reason.message : String(reason)}`;
  }
}
