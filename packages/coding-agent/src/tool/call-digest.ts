import { hash } from "node:crypto";
import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ConfirmationRequestSchema, type ToolCall } from "@devtool/schema";
import { canonicalJson } from "@devtool/schema/json";
import type { ToolInvocation } from "./tool.ts";

/**
 * What a call would do, as text: the same for the same tool, arguments and proposal, whatever the order of keys. The tool of an
 * MCP server is the same as long as its definition and the place of its server are.
 */
function canonicalCall({ toolName }: ToolCall, invocation: ToolInvocation): string {
  const { args, changes, confinement, facts } = invocation;
  const details = detailsOf(invocation);
  const definition = facts && {
    ...{ server: facts.mcpServer ?? "", hash: facts.definitionHash ?? "" },
    ...(facts.mcpServerHash !== undefined && { serverHash: facts.mcpServerHash }),
  };
  return canonicalJson({
    ...{ tool: toolName, args, details },
    ...(changes && { changes: [...changes] }),
    ...(confinement && { confinement }),
    ...(definition && { definition }),
  });
}

/** What the user is asked. A file is the one in its workspace here, wherever that lies: approvals outlive a move of it. */
function detailsOf({ confirmation, edit }: ToolInvocation): JsonValue {
  if (!confirmation) return {};
  const isEdit = confirmation.case === "fileEditDetails" && edit !== undefined;
  const details = isEdit
    ? { case: confirmation.case, value: { ...confirmation.value, filePath: edit.path } }
    : confirmation;
  return toJson(ConfirmationRequestSchema, create(ConfirmationRequestSchema, { details }));
}

/** The SHA-256 of what a call would do: an approval holds for this and nothing else (S13). */
export function callDigest(call: ToolCall, invocation: ToolInvocation): Uint8Array {
  return hash("sha256", canonicalCall(call, invocation), "buffer");
}
