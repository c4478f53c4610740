import { create } from "@bufbuild/protobuf";
import { McpDetailsSchema } from "@devtool/schema";
import type { ReadResourceResult } from "@modelcontextprotocol/client";
import { invalid } from "../../errors.ts";
import type { Tool, ToolEvent } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import { contentText, cut } from "./call-result.ts";

const PARAMETERS: Parameters = {
  required: {
    server: { type: "string", description: "The MCP server that has the resource." },
    uri: { type: "string", description: "The URI of the resource." },
  },
  optional: {},
};
const NAME = "read_mcp_resource";
/** The description lists so many resources; a model may know others from results. */
const MAX_LISTED = 100;

/** A resource that a server listed. */
export interface McpResource {
  readonly server: string;
  readonly uri: string;
  /** What it is called, for a person. */
  readonly name: string;
}

/** What reading takes. */
export interface ReadMcpResourceOptions {
  readonly resources: readonly McpResource[];
  /** Reads a resource of a server that is there. */
  readonly read: (server: string, uri: string, signal: AbortSignal) => Promise<ReadResourceResult>;
  /** So many characters are kept: the first. */
  readonly maxOutputBytes: number;
}

/** `read_mcp_resource`: reads a resource of an MCP server; asks, since the URI goes to the server. */
export function readMcpResourceTool({ resources, read, maxOutputBytes }: ReadMcpResourceOptions): Tool {
  const servers = new Set(resources.map(({ server }) => server));
  return {
    declaration: { name: NAME, description: describe(resources), parameters: jsonSchemaOf(PARAMETERS) },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const [server, uri] = [checked.text("server"), checked.text("uri")];
      if (!servers.has(server)) throw invalid("server", server, `has no resources: choose ${[...servers].join(", ")}`);
      return {
        args,
        description: `Read resource ${uri} (MCP server ${server})`,
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
