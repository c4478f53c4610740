import { create, type JsonObject } from "@bufbuild/protobuf";
import { failureResult, type Tool, type ToolEvent } from "@devtool/coding-agent/tool";
import { McpDetailsSchema, oneLine } from "@devtool/schema";
import { Code, DevtoolError, invalid } from "@devtool/server/agent";
import type { jsonSchemaValidator } from "@modelcontextprotocol/client";
import { CallDeadline } from "./call-deadline.ts";
import { CallEvents } from "./call-events.ts";
import type { CallHooks } from "./call-hooks.ts";
import { cut, resultOf } from "./call-result.ts";
import type { McpConnection } from "./mcp-connection.ts";
import type { McpSupervisor } from "./mcp-supervisor.ts";
import { messageOf } from "./message-of.ts";
import { serverHash } from "./server-hash.ts";
import type { ToolDefinition } from "./tool-definition.ts";

/** A tool of a server, and how it is called. */
export interface McpToolOptions {
  /** The name that models know it by. */
  readonly qualifiedName: string;
  readonly definition: ToolDefinition;
  readonly supervisor: McpSupervisor;
  /** Where the server is, in words for a question. */
  readonly place: string;
  readonly validator: jsonSchemaValidator;
  /** The timeout of a call without progress, in milliseconds. */
  readonly callTimeoutMs: number;
  /** The maximum number of characters of a result that are kept, the first. */
  readonly maxOutputBytes: number;
  readonly now: () => number;
}

/** The maximum number of characters of a tool's description that a model is told. */
const MAX_DESCRIPTION_LENGTH = 8192;

/** The maximum number of characters of a tool's title that a question shows. */
const MAX_TITLE_LENGTH = 100;

/** Makes a tool of what an MCP server offers. Every call asks; grants bind to the server and the hash of the definition. */
export function mcpTool(options: McpToolOptions): Tool {
  const { qualifiedName, definition, supervisor, place } = options;
  const { name, title, description, inputSchema, annotations, hash } = definition;
  const server = supervisor.server.name;
  const mcpServerHash = serverHash(supervisor.server);
  const facts = { mcpServer: server, mcpServerHash, definitionHash: hash, annotations };
  return {
    declaration: {
      name: qualifiedName,
      description: cut(description || title, MAX_DESCRIPTION_LENGTH),
      parameters: inputSchema,
    },
    facts,
    prepare: async (args) => {
      assertFits(args, options);
      return {
        args,
        facts,
        description: `${oneLine(title || name, MAX_TITLE_LENGTH)} (MCP server ${server}: ${place})`,
        confirmation: {
          case: "mcpDetails",
          value: create(McpDetailsSchema, { serverName: server, toolName: name }),
        },
        execute: (signal) => runCall(args, options, signal),
      };
    },
  };
}

/** Throws for arguments that the tool's schema refuses; a schema that makes no sense is the server's to judge by. */
function assertFits(args: JsonObject, { definition, validator, qualifiedName }: McpToolOptions): void {
  const problem = problemOf(args, definition, validator);
  if (problem !== undefined) throw invalid("args", "", `do not fit tool ${qualifiedName}: ${problem}`);
}

function problemOf(
  args: JsonObject,
  { inputSchema }: ToolDefinition,
  validator: jsonSchemaValidator,
): string | undefined {
  try {
    return validator.getValidator(inputSchema)(args).errorMessage;
  } catch {
    return undefined;
  }
}

async function* runCall(args: JsonObject, options: McpToolOptions, signal: AbortSignal): AsyncIterable<ToolEvent> {
  const over = new AbortController();
  using deadline = new CallDeadline(options.callTimeoutMs);
  const ends = AbortSignal.any([signal, deadline.signal, over.signal]);
  const events = new CallEvents({ deadline, now: options.now }, ends);
  const done = outcome(options, { args, hooks: events, deadline }, ends).then((result) => events.finish(result));
  try {
    for await (const event of events) {
      if (event.case === "result") signal.throwIfAborted();
      yield event;
    }
  } finally {
    over.abort();
    await done;
  }
}

/** Calls the tool and says how it ended; never throws. */
async function outcome(
  options: McpToolOptions,
  { args, hooks, deadline }: { readonly args: JsonObject; readonly hooks: CallHooks; readonly deadline: CallDeadline },
  signal: AbortSignal,
): Promise<ToolEvent> {
  const { definition, supervisor, maxOutputBytes } = options;
  let connection: McpConnection | undefined;
  try {
    connection = await supervisor.connection(signal);
    await assertUnchanged(connection, options, signal);
    const request = { name: definition.name, args, hooks };
    return resultOf(await connection.callTool(request, signal), maxOutputBytes);
  } catch (reason) {
    if (!deadline.signal.aborted)
      return failureResult("mcp_tool_error", cut(wordsFor(reason, connection), maxOutputBytes));
    connection?.checkAlive();
    return failureResult("timeout", timeoutWords(options));
  }
}

/** The definition that was shown is the one that is called: a server that changed it since is not (rug pull). */
async function assertUnchanged(
  connection: McpConnection,
  { definition, qualifiedName }: McpToolOptions,
  signal: AbortSignal,
): Promise<void> {
  const current = (await connection.tools(signal)).find(({ name }) => name === definition.name);
  if (current?.hash === definition.hash) return;
  const what = current ? "was changed by its server" : "is no longer offered by its server";
  throw new DevtoolError(`tool ${qualifiedName} ${what}`, Code.FailedPrecondition, {
    remedy: "ask for the tools again",
  });
}

function wordsFor(reason: unknown, connection: McpConnection | undefined): string {
  if (connection?.ended.aborted) {
    return `${DevtoolError.from(connection.ended.reason).message}; what the call did until then is unknown`;
  }
  return messageOf(reason);
}

function timeoutWords({ definition, supervisor, callTimeoutMs }: McpToolOptions): string {
  const which = `tool ${JSON.stringify(definition.name)} of MCP server ${JSON.stringify(supervisor.server.name)}`;
  return `${which} showed no progress for ${callTimeoutMs} ms and was cancelled; what it did until then is unknown`;
}
