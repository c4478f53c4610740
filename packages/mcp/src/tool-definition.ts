import { createHash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { canonicalJson, plainJson } from "@devtool/internal/json";
import type { Tool as SdkTool } from "@modelcontextprotocol/client";
import { readToolSchema } from "./tool-schema.ts";

/** A tool as its server defines it. */
export interface ToolDefinition {
  /** The name by which the server knows the tool. */
  readonly name: string;
  /** The name for a person; empty when the server gives none. */
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** The parts of the input schema that are ignored, with the reasons. */
  readonly ignored: readonly string[];
  /** The hints that the server gives, by their MCP names. */
  readonly annotations: Readonly<Record<string, boolean>>;
  /**
   * The SHA-256, in hex, of name, description and input schema. A tool with
   * another hash is another tool.
   */
  readonly hash: string;
}

/** Reads a tool as the SDK lists it. */
export function readToolDefinition(tool: SdkTool): ToolDefinition {
  const { name, description = "" } = tool;
  const listed = plainJson(tool.inputSchema);
  const { schema: inputSchema, ignored } = readToolSchema(listed);
  const hints = Object.entries(tool.annotations ?? {}).flatMap(
    ([hint, value]) =>
      typeof value === "boolean" ? [[hint, value] as const] : [],
  );
  return {
    name,
    title: tool.title ?? tool.annotations?.title ?? "",
    description,
    inputSchema,
    ignored,
    annotations: Object.fromEntries(hints),
    hash: createHash("sha256")
      .update(canonicalJson({ name, description, inputSchema: listed }))
      .digest("hex"),
  };
}
