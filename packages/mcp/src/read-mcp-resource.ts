import { create } from "@bufbuild/protobuf";
import { type Tool, type ToolEvent, textResult, toolArgs } from "@devtool/coding-agent/tool";
import { McpDetailsSchema, oneLine } from "@devtool/schema";
import { invalid } from "@devtool/server/agent";
import type { ReadResourceResult } from "@modelcontextprotocol/client";
import { z } from "zod";
import { contentText, cut } from "./call-result.ts";

const PARAMETERS = toolArgs({
  server: z.string().describe("The MCP server that has the resource."),
  uri: z.string().describe("The URI of the resource."),
});
const NAME = "read_mcp_resource";
/** The maximum number of resources that the description lists; a model may know others from results. */
const MAX_LISTED = 100;
/** The maximum number of characters of a resource's address that a question shows. */
const MAX_URI_LENGTH = 150;

/** A resource that a server listed. */
export interface McpResource {
  readonly server: string;
  /** The SHA-256, in hex, of where the server is. */
  readonly serverHash: string;
  /** Where the server is, in words for a question. */
  readonly place: string;
  readonly uri: string;
  /** What it is called, for a person. */
  readonly name: string;
}

/** What reading takes. */
export interface ReadMcpResourceOptions {
  readonly resources: readonly McpResource[];
  /** Reads a resource of a server that is there. */
  readonly read: (server: string, uri: string, signal: AbortSignal) => Promise<ReadResourceResult>;
  /** The maximum number of characters that are kept, the first. */
  readonly maxOutputBytes: number;
}

/** `read_mcp_resource`: reads a resource of an MCP server; asks, since the URI goes to the server. */
export function readMcpResourceTool({ resources, read, maxOutputBytes }: ReadMcpResourceOptions): Tool {
  const servers = new Map(resources.map((resource) => [resource.server, resource]));
  return {
    declaration: { name: NAME, description: describe(resources), parameters: PARAMETERS.jsonSchema },
    prepare: async (args) => {
      const { server, uri } = PARAMETERS.read(args);
      const known = servers.get(server);
      if (known === undefined)
        throw invalid("server", server, "has no resources", `choose ${[...servers.keys()].join(", ")}`);
      return {
        args,
        // Rules and answers about a server are about its resources, too.
        facts: { mcpServer: server, mcpServerHash: known.serverHash },
        description: `Read resource ${oneLine(uri, MAX_URI_LENGTH)} (MCP server ${server}: ${known.place})`,
        confirmation: { case: "mcpDetails", value: create(McpDetailsSchema, { serverName: server, toolName: NAME }) },
        execute: (signal) => run(read(server, uri, signal), maxOutputBytes),
      };
    },
  };
}

async function* run(reading: Promise<ReadResourceResult>, maxOutputBytes: number): AsyncIterable<ToolEvent> {
  const { contents } = await reading;
  const blocks = contents.map((resource) => ({ type: "resource" as const, resource }));
  yield textResult(cut(contentText(blocks), maxOutputBytes));
}

function describe(resources: readonly McpResource[]): string {
  const listed = resources.slice(0, MAX_LISTED).map(({ server, uri, name }) => `- ${server}: ${uri} (${name})`);
  const more = resources.length > MAX_LISTED ? [`and ${resources.length - MAX_LISTED} more`] : [];
  return ["Reads a resource of an MCP server. Resources:", ...listed, ...more].join("\n");
}
