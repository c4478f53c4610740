import { create } from "@bufbuild/protobuf";
import {
  type Tool,
  type ToolEvent,
  textResult,
  toolArgs,
} from "@devtool/coding-agent/tool";
import { oneLine } from "@devtool/internal/visible-text";
import { McpDetailsSchema } from "@devtool/schema";
import { invalid } from "@devtool/server/agent";
import type { ReadResourceResult } from "@modelcontextprotocol/client";
import { z } from "zod";
import { contentText, cut, withFiles } from "./call-result.ts";
import type { ResourceRequest } from "./mcp-connection.ts";
import type { ResourceChange } from "./server-changes.ts";

const PARAMETERS = toolArgs({
  server: z.string().describe("The MCP server that has the resource."),
  uri: z.string().describe("The URI of the resource."),
});
const NAME = "read_mcp_resource";
/**
 * The maximum number of resources in the description. A model may know others
 * from results.
 */
const MAX_LISTED = 100;
/** The maximum length of a URI in a question, in characters. */
const MAX_URI_LENGTH = 150;

/** A resource that a server lists, or a template of resources. */
export interface McpResource {
  /** The name of the server. */
  readonly server: string;
  /** The SHA-256, in hex, of where the server is. */
  readonly serverHash: string;
  /** Where the server is, as `serverPlace` describes it. */
  readonly place: string;
  /** Whether the server has the name of one of the operator's. */
  readonly isNamesake: boolean;
  /** A URI, or a template with variables such as `{path}` (RFC 6570). */
  readonly uri: string;
  readonly isTemplate: boolean;
  /** What is known of it since it was read. */
  readonly change: ResourceChange;
  /** The name of the resource for a person. */
  readonly name: string;
}

/** Reads a resource of a server, by the name of the server. */
export type ReadMcpResource = (
  server: string,
  request: ResourceRequest,
  signal: AbortSignal,
) => Promise<ReadResourceResult>;

/**
 * Creates the tool `read_mcp_resource`, which reads a resource of an MCP
 * server.
 *
 * Every call asks, because the model chooses the URI that is sent to the
 * server. A result is cut after `maxOutputLength` characters.
 */
export function readMcpResourceTool(
  resources: readonly McpResource[],
  read: ReadMcpResource,
  maxOutputLength: number,
): Tool {
  const servers = new Map(
    resources.map((resource) => [resource.server, resource]),
  );
  return {
    declaration: {
      name: NAME,
      description: describeTool(resources),
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const { server, uri } = PARAMETERS.read(args);
      const known = servers.get(server);
      if (known === undefined) {
        throw invalid(
          "server",
          server,
          "has no resources",
          `choose ${[...servers.keys()].join(", ")}`,
        );
      }
      return {
        args,
        // Rules and answers about a server apply to its resources too.
        facts: {
          mcpServer: server,
          mcpServerHash: known.serverHash,
          isNamesake: known.isNamesake,
        },
        description: `Read resource ${oneLine(uri, MAX_URI_LENGTH)} (MCP server ${server}: ${known.place})`,
        confirmation: {
          case: "mcpDetails",
          value: create(McpDetailsSchema, {
            serverName: server,
            toolName: NAME,
          }),
        },
        execute: async function* (signal, trace): AsyncIterable<ToolEvent> {
          const { contents } = await read(server, { uri, trace }, signal);
          const blocks = contents.map((resource) => ({
            type: "resource" as const,
            resource,
          }));
          const text = cut(contentText(blocks), maxOutputLength);
          yield { ...textResult(text), ...withFiles(blocks) };
        },
      };
    },
  };
}

const CHANGES: Readonly<Record<ResourceChange, string>> = {
  none: "",
  changed: "changed since you read it, ",
  unknown: "may have changed since you read it, ",
};

function describeTool(resources: readonly McpResource[]): string {
  const listed = resources
    .slice(0, MAX_LISTED)
    .map(
      ({ server, uri, isTemplate, change, name }) =>
        `- ${server}: ${uri} (${isTemplate ? "template, " : ""}${CHANGES[change]}${name})`,
    );
  const more =
    resources.length > MAX_LISTED
      ? [`and ${resources.length - MAX_LISTED} more`]
      : [];
  return [
    resources.some(({ isTemplate }) => isTemplate)
      ? "Reads a resource of an MCP server. Resources, and templates whose {variables} you fill in (RFC 6570):"
      : "Reads a resource of an MCP server. Resources:",
    ...listed,
    ...more,
  ].join("\n");
}
