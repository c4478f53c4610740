import { isDeepStrictEqual } from "node:util";
import { type AskedToolCall, modifiedArgumentsPart } from "@devtool/client";
import { isObject } from "@devtool/internal/json";
import { assertExactJson, type Part, WireError } from "@devtool/schema";
import { editText } from "./editor.ts";
import { errorMessage } from "./errors.ts";
import type { Io } from "./io.ts";

/**
 * Lets users write other arguments for tool calls, as JSON in their editor.
 *
 * Keeps the text for each question, so that nobody loses their work by a
 * mistake, or by an answer that the server refuses.
 */
export class ArgumentsEditor {
  readonly #io: Pick<Io, "env">;
  /** What the user wrote last, by question. */
  readonly #drafts = new Map<string, string>();

  constructor(io: Pick<Io, "env">) {
    this.#io = io;
  }

  /**
   * Opens the editor, which gets the terminal, and returns the answer with the
   * arguments that the user wrote.
   *
   * Throws if there is no editor or it fails, and if the user wrote anything
   * but an object, or changed nothing.
   */
  async edit(call: AskedToolCall): Promise<Part> {
    const {
      toolCallId,
      inputParameters = {},
      shownDigest = new Uint8Array(),
    } = call;
    const key = `${toolCallId} ${Buffer.from(shownDigest).toString("hex")}`;
    const before =
      this.#drafts.get(key) ??
      `${JSON.stringify(inputParameters, undefined, 2)}\n`;
    const text = await editText(before, "arguments.json", this.#io);
    this.#drafts.set(key, text);
    let args: unknown;
    try {
      args = JSON.parse(text);
      assertExactJson(text);
    } catch (cause) {
      const problem =
        cause instanceof WireError
          ? `cannot be sent as they are: ${cause.message}`
          : `are not valid JSON: ${errorMessage(cause)}`;
      throw new Error(
        `the arguments ${problem}: choose again to correct them`,
        { cause },
      );
    }
    if (!isObject(args)) {
      throw new Error(
        "the arguments must be a JSON object, such as {}: choose again to correct them",
      );
    }
    if (isDeepStrictEqual(args, inputParameters)) {
      throw new Error("the arguments are unchanged: nothing was sent");
    }
    return modifiedArgumentsPart(call, args);
  }
}
