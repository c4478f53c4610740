import { create, type JsonObject } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import { GenericDetailsSchema } from "@devtool/schema";
import type { Tool, ToolDeclaration } from "./tool.ts";
import { outputResult, textResult } from "./tool-result.ts";

/**
 * A tool whose calls are runs of one function.
 *
 * Implement `Tool` instead for live output, edits of files, or questions during
 * a call.
 */
export interface ToolDefinition extends ToolDeclaration {
  /**
   * Describes a call, for the user who approves it. Only the first line is
   * shown, with control characters escaped. Default: the name of the tool.
   */
  describe?(args: JsonObject): string;
  /**
   * Returns the question for the user before a call runs.
   *
   * Default: there is no question. The tool must then change nothing: its calls
   * run without approval, and side by side with others.
   */
  ask?(args: JsonObject): string;
  /**
   * Runs a call. Returns text or an object.
   *
   * `args` are the arguments that the model sent, without any validation.
   * Throws a `DevtoolError` when the call fails; the model gets its message.
   */
  run(
    args: JsonObject,
    signal: AbortSignal,
  ): string | JsonObject | Promise<string | JsonObject>;
}

/**
 * Creates a tool from a definition.
 *
 * Text that `run` returns becomes the output of the call, and an object its
 * structured data. The arguments are not checked against `parameters`.
 */
export function defineTool(definition: ToolDefinition): Tool {
  const { name, description, parameters } = definition;
  return {
    declaration: { name, description, parameters },
    prepare: async (args) => {
      const question = definition.ask?.(args);
      const details =
        question === undefined
          ? undefined
          : create(GenericDetailsSchema, { description: question });
      return defined({
        args,
        description: oneLine(definition.describe?.(args) ?? name),
        confirmation: details && {
          case: "genericDetails" as const,
          value: details,
        },
        execute: async function* (signal: AbortSignal) {
          const output = await definition.run(args, signal);
          const isText = typeof output === "string";
          yield isText
            ? textResult(output)
            : outputResult({ case: "structuredData", value: output });
        },
      });
    },
  };
}
