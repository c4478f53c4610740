import { hash } from "node:crypto";
import { create, toJson } from "@bufbuild/protobuf";
import { canonicalJson, defined } from "@devtool/internal/json";
import { ConfirmationRequestSchema, type ToolCall } from "@devtool/schema";
import type { ToolInvocation } from "./tool.ts";

/**
 * Returns the SHA-256 of the effect of a call: its tool, arguments and
 * proposal.
 *
 * An approval applies only to calls with the same digest (S13). The order of
 * keys in the arguments does not change the digest. For the tool of an MCP
 * server, it covers the tool's definition and the address of the server.
 */
export function callDigest(
  { toolName }: ToolCall,
  invocation: ToolInvocation,
): Uint8Array {
  const { access, args, changes, confinement, confirmation, edit, facts } =
    invocation;
  // A file has its path in the workspace, so that an approval outlives a move
  // of the workspace.
  const details =
    confirmation?.case === "fileEditDetails" && edit
      ? {
          case: confirmation.case,
          value: { ...confirmation.value, filePath: edit.path },
        }
      : confirmation;
  const effect = defined({
    tool: toolName,
    args,
    details: details
      ? toJson(
          ConfirmationRequestSchema,
          create(ConfirmationRequestSchema, { details }),
        )
      : {},
    changes: changes && [...changes],
    confinement,
    access: access && [...access],
    definition:
      facts &&
      defined({
        server: facts.mcpServer ?? "",
        hash: facts.definitionHash ?? "",
        serverHash: facts.mcpServerHash,
      }),
  });
  return hash("sha256", canonicalJson(effect), "buffer");
}
