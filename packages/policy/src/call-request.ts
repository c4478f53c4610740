import { create, type JsonObject } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  ExecuteDetailsSchema,
  FileDiffSchema,
  GenericDetailsSchema,
  ToolCallSchema,
} from "@devtool/schema";
import type { PolicyRequest, ToolFacts } from "./policy-engine.ts";

/**
 * A tool call in plain values, for agents that do not use the messages of
 * `@devtool/schema`.
 *
 * `tool` is the name that rules refer to. Paths are absolute or relative to the
 * workspace.
 */
export type PlainCall =
  /**
   * Runs a command line in bash. Default of `tool`: `run_shell_command`.
   * Default of `directory`: the workspace.
   */
  | {
      readonly case: "command";
      readonly command: string;
      readonly directory?: string;
      readonly tool?: string;
    }
  /** Changes a file. Default of `tool`: `write_file`. */
  | { readonly case: "edit"; readonly path: string; readonly tool?: string }
  /** Shows a file and changes nothing. Default of `tool`: `read_file`. */
  | { readonly case: "read"; readonly path: string; readonly tool?: string }
  /**
   * Does anything else that may change something. For a tool of an MCP server,
   * `facts` names the server.
   */
  | {
      readonly case: "other";
      readonly tool: string;
      readonly args: JsonObject;
      readonly facts?: ToolFacts;
    };

/**
 * Returns the request by which a policy decides about a call.
 *
 * ```ts
 * await policy.decide(callRequest({ case: "command", command: "git status && git push" }), signal);
 * ```
 */
export function callRequest(call: PlainCall): PolicyRequest {
  switch (call.case) {
    case "command": {
      const { command, directory, tool = "run_shell_command" } = call;
      const value = create(ExecuteDetailsSchema, { command });
      return createRequest(tool, defined({ command, directory }), {
        case: "executeDetails",
        value,
      });
    }
    case "edit": {
      const { path, tool = "write_file" } = call;
      const value = create(FileDiffSchema, { filePath: path });
      return createRequest(
        tool,
        { file_path: path },
        { case: "fileEditDetails", value },
      );
    }
    case "read": {
      const { path, tool = "read_file" } = call;
      return createRequest(tool, { file_path: path }, undefined);
    }
    case "other": {
      const { tool, args, facts } = call;
      const value = create(GenericDetailsSchema, { description: tool });
      return {
        ...createRequest(tool, args, { case: "genericDetails", value }),
        facts,
      };
    }
    default:
      return call satisfies never;
  }
}

function createRequest(
  toolName: string,
  inputParameters: JsonObject,
  details: PolicyRequest["details"],
): PolicyRequest {
  return {
    call: create(ToolCallSchema, { toolName, inputParameters }),
    facts: undefined,
    details,
  };
}
