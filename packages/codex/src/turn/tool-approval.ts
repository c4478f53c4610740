import { create, type JsonObject } from "@bufbuild/protobuf";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import {
  McpDetailsSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ONCE,
} from "@devtool/schema";
import {
  approvalOf,
  type CallApproval,
  choice,
  IN_SESSION,
  SAVED,
} from "./approval.ts";
import { argsOf } from "./item-call.ts";
import { wordsOf } from "./odd-value.ts";
import { elicitationResult, formFields } from "./user-question.ts";

/**
 * A question of Codex whether a tool of an MCP server may be called, which it
 * asks as an elicitation of that server.
 */
export interface ToolApproval {
  readonly approval: CallApproval;
  /** The name of the call, as that of its item. */
  readonly toolName: string;
  readonly args: JsonObject;
}

/**
 * Reads an elicitation that asks for approval of a tool call
 * (`codex_approval_kind` of its `_meta`). Undefined for any other elicitation:
 * the answer of a form is nothing that a rule can give.
 *
 * An MCP server can send the same `_meta` with words of its own. A rule can
 * therefore allow a call only where the words are those in which Codex asks,
 * which name the tool.
 */
export function toolApproval(params: JsonObject): ToolApproval | undefined {
  const meta = objectOrEmpty(params._meta);
  const fields = formFields(params);
  if (
    meta.codex_approval_kind !== "mcp_tool_call" ||
    !fields ||
    Object.keys(fields).length > 0
  ) {
    return undefined;
  }
  const serverName = wordsOf(params.serverName);
  const words = wordsOf(params.message);
  // A server may have quotes in the name of a tool, to be shown as another one.
  const named = /\btool "(?<name>.+)"\?$/s.exec(words)?.groups?.name;
  const title = wordsOf(meta.tool_title);
  const tool = named ?? (title || "unknown");
  const asked = `Allow the ${serverName} MCP server to run tool "${tool}"?`;
  const toolName = `mcp__${serverName}__${tool}`;
  const args = argsOf(meta.tool_params);
  const details = {
    case: "mcpDetails" as const,
    value: create(McpDetailsSchema, { serverName, toolName: tool }),
  };
  return {
    toolName,
    args,
    approval: {
      ...approvalOf(details, choicesOf(meta)),
      claim: { kind: "other", details, paths: [] },
      coversMore: words !== asked,
    },
  };
}

/** Returns the answers that Codex takes: `persist` says how far they may go. */
function choicesOf({ persist }: JsonObject) {
  const offered = [persist, ...listOrEmpty(persist)];
  const lasting = [
    {
      value: "session",
      id: OPTION_PROCEED_ALWAYS,
      name: IN_SESSION,
      covers: "this tool of this server",
    },
    {
      value: "always",
      id: OPTION_PROCEED_ALWAYS_AND_SAVE,
      name: "Always allow, in later sessions too",
      covers: `this tool of this server: ${SAVED}`,
    },
  ].filter(({ value }) => offered.includes(value));
  return [
    choice(OPTION_PROCEED_ONCE, "Allow once", elicitationResult("accept", {})),
    ...lasting.map(({ value, id, name, covers }) =>
      choice(
        id,
        name,
        { ...elicitationResult("accept", {}), _meta: { persist: value } },
        covers,
      ),
    ),
    choice(OPTION_CANCEL, "Decline", elicitationResult("decline", null)),
  ];
}
