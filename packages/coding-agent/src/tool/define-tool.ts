import { create, type JsonObject } from "@bufbuild/protobuf";
import { GenericDetailsSchema, oneLine, ToolOutputSchema } from "@devtool/schema";
import type { Tool, ToolDeclaration, ToolEvent, ToolInvocation } from "./tool.ts";

/** A tool that is one function. `Tool` says more: live output, edits of files, questions while it runs. */
export interface ToolDefinition extends ToolDeclaration {
  /** What a call does, in a line. Default: the name of the tool. */
  describe?(args: JsonObject): string;
  /**
   * What to ask the user before a call runs, in words. Left out, calls change nothing: they run without being asked about,
   * beside others.
   */
  ask?(args: JsonObject): string;
  /**
   * Runs a call and gives text or an object. The arguments are what the model sent: checked by nobody before. Throws a
   * `DevtoolError` when the call fails; its message goes to the model.
   */
  run(args: JsonObject, signal: AbortSignal): string | JsonObject | Promise<string | JsonObject>;
}

/** Makes a tool of one function. */
export function defineTool(definition: ToolDefinition): Tool {
  const { name, description, parameters } = definition;
  return { declaration: { name, description, parameters }, prepare: async (args) => invocationOf(definition, args) };
}

function invocationOf(definition: ToolDefinition, args: JsonObject): ToolInvocation {
  const question = definition.ask?.(args);
  return {
    args,
    description: oneLine(definition.describe?.(args) ?? definition.name),
    ...(question !== undefined && {
      confirmation: { case: "genericDetails", value: create(GenericDetailsSchema, { description: question }) },
    }),
    async *execute(signal) {
      yield resultOf(await definition.run(args, signal));
    },
  };
}

function resultOf(output: string | JsonObject): ToolEvent {
  const value = create(ToolOutputSchema, {
    result: typeof output === "string" ? { case: "text", value: output } : { case: "structuredData", value: output },
  });
  return { case: "result", value: { case: "output", value } };
}
