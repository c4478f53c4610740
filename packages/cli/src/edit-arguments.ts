import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@bufbuild/protobuf";
import { type AskedToolCall, modifiedArgumentsPart } from "@devtool/client";
import type { Part } from "@devtool/schema";
import { isObject } from "@devtool/schema/json";
import { editText } from "./editor.ts";
import type { Io } from "./io.ts";

/**
 * Lets users write other arguments for tool calls, as JSON in their editor.
 *
 * Keeps what they wrote for a question, so that a mistake, or an answer that the server refuses, costs nobody their work.
 */
export class ArgumentsEditor {
  readonly #io: Pick<Io, "env">;
  /** What the user wrote last, by question. */
  readonly #drafts = new Map<string, string>();

  constructor(io: Pick<Io, "env">) {
    this.#io = io;
  }

  /**
   * Opens the editor, which gets the terminal, and returns the answer with the arguments that the user wrote.
   *
   * Throws if there is no editor or it fails, and if the user wrote anything but an object, or changed nothing.
   */
  async edit(call: AskedToolCall): Promise<Part> {
    const { toolCallId, inputParameters = {}, shownDigest = new Uint8Array() } = call;
    const key = `${toolCallId} ${Buffer.from(shownDigest).toString("hex")}`;
    const before = this.#drafts.get(key) ?? `${JSON.stringify(inputParameters, undefined, 2)}\n`;
    const text = await editText(before, "arguments.json", this.#io);
    this.#drafts.set(key, text);
    const args = readArguments(text);
    if (isDeepStrictEqual(args, inputParameters)) throw new Error("the arguments are as they were: nothing was sent");
    return modifiedArgumentsPart(call, args);
  }
}

function readArguments(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the arguments are not valid JSON: ${problem}: choose again to correct them`, { cause });
  }
  if (isObject(value)) return value;
  throw new Error("the arguments must be a JSON object, such as {}: choose again to correct them");
}
