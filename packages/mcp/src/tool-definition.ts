import { createHash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { canonicalJson } from "@devtool/schema/json";
import type { Tool as SdkTool } from "@modelcontextprotocol/client";

/** A tool as its server defines it. */
export interface ToolDefinition {
  /** As the server calls it. */
  readonly name: string;
  /** What it is called for a person; empty when the server does not say. */
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** The hints of the server that are set, by their MCP names. */
  readonly annotations: Readonly<Record<string, boolean>>;
  /** The SHA-256, in hex, of name, description and input schema: another one is another tool. */
  readonly hash: string;
}

/** Reads the definition of a tool as the SDK gives it. */
export function definitionOf(tool: SdkTool): ToolDefinition {
  const { name, description = "" } = tool;
  const inputSchema = plainObject(tool.inputSchema);
  const hints = Object.entries(tool.annotations ?? {}).flatMap(([hint, value]) =>
    typeof value === "boolean" ? [[hint, value] as const] : [],
  );
  return {
    name,
    title: tool.title ?? tool.annotations?.title ?? "",
    description,
    inputSchema,
    annotations: Object.fromEntries(hints),
    hash: createHash("sha256").update(canonicalJson({ name, description, inputSchema })).digest("hex"),
  };
}

/** A value of the SDK as plain JSON: what JSON has no word for is left out. */
export function plainObject(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value));
}
