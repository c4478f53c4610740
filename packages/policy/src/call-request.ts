import { create, type JsonObject } from "@bufbuild/protobuf";
import { ExecuteDetailsSchema, FileDiffSchema, GenericDetailsSchema, ToolCallSchema } from "@devtool/schema";
import type { PolicyRequest, ToolFacts } from "./policy-engine.ts";

/** A call in plain words, for agents whose tools are not ours. The names of tools are what rules call them. */
export type PlainCall =
  /** Runs a command line in bash. Default of `tool`: `run_shell_command`; of `directory`: the workspace. */
  | { readonly case: "command"; readonly command: string; readonly directory?: string; readonly tool?: string }
  /** Changes a file. Default of `tool`: `write_file`. */
  | { readonly case: "edit"; readonly path: string; readonly tool?: string }
  /** Shows a file, and changes nothing. Default of `tool`: `read_file`. */
  | { readonly case: "read"; readonly path: string; readonly tool?: string }
  /** Does anything else that may change something, for instance as a tool of an MCP server, which the facts then name. */
  | { readonly case: "other"; readonly tool: string; readonly args: JsonObject; readonly facts?: ToolFacts };

/**
 * Makes what a policy is asked about a call. Paths are absolute or relative to the workspace.
 *
 * ```ts
 * await policy.decide(callRequest({ case: "command", command: "git status && git push" }), signal);
 * ```
 */
export function callRequest(call: PlainCall): PolicyRequest {
  switch (call.case) {
    case "command": {
      const { command, directory, tool = "run_shell_command" } = call;
      const args = { command, ...(directory !== undefined && { directory }) };
      return requestOf(tool, args, { case: "executeDetails", value: create(ExecuteDetailsSchema, { command }) });
    }
    case "edit": {
      const { path, tool = "write_file" } = call;
      return requestOf(
        tool,
        { file_path: path },
        { case: "fileEditDetails", value: create(FileDiffSchema, { filePath: path }) },
      );
    }
    case "read":
      return requestOf(call.tool ?? "read_file", { file_path: call.path }, undefined);
    case "other": {
      const { tool, args, facts } = call;
      const details = { case: "genericDetails", value: create(GenericDetailsSchema, { description: tool }) } as const;
      return { ...requestOf(tool, args, details), facts };
    }
    default:
      return call satisfies never;
  }
}

function requestOf(toolName: string, inputParameters: JsonObject, details: PolicyRequest["details"]): PolicyRequest {
  return { call: create(ToolCallSchema, { toolName, inputParameters }), facts: undefined, details };
}
