import {
  Code,
  ConnectError,
  createRouterTransport,
  type ServiceImpl,
  type Transport,
} from "@connectrpc/connect";
import { defined } from "@devtool/internal/json";
import { readTraceContext, traceFields } from "@devtool/internal/trace-parent";
import {
  AgentListService,
  EXTENSION_URI,
  type ListedAgent,
  PushService,
  SlashCommandService,
  TaskService,
} from "@devtool/schema";
import { agentUrl } from "./a2a/agent-url.ts";
import { createA2aCommandService } from "./a2a/commands.ts";
import type {
  CallHeaders,
  EndpointOptions,
  ExtensionUse,
} from "./a2a/endpoint.ts";
import { errorFromHttpJsonV1 } from "./a2a/errors.ts";
import { HttpJsonEndpoint } from "./a2a/http-json-endpoint.ts";
import { JsonRpcEndpoint } from "./a2a/json-rpc-endpoint.ts";
import { KnownTasks } from "./a2a/known-tasks.ts";
import type { TaskCalls } from "./a2a/task-calls.ts";
import { createA2aTaskService } from "./a2a/tasks.ts";
import { withoutStreams } from "./a2a/without-streams.ts";
import type { A2aBinding } from "./a2a-v1/binding.ts";
import { createGrpcBinding } from "./a2a-v1/grpc-binding.ts";
import {
  createHttpJsonBinding,
  httpJsonCommandCalls,
} from "./a2a-v1/http-json-binding.ts";
import { createJsonRpcBinding } from "./a2a-v1/json-rpc-binding.ts";
import { createPushServiceV1 } from "./a2a-v1/push.ts";
import { taskCallsV1 } from "./a2a-v1/tasks.ts";
import { createPushServiceV03 } from "./a2a-v03/push.ts";
import { createRestEndpoint } from "./a2a-v03/rest-endpoint.ts";
import { taskCallsV03 } from "./a2a-v03/tasks.ts";

/**
 * The interface of an A2A agent, as an entry of `supportedInterfaces` in its
 * card describes it.
 */
export interface A2aTransportOptions extends EndpointOptions {
  /**
   * The version of A2A: `0.3` or `1.x`.
   *
   * Default: `0.3`.
   */
  readonly protocolVersion?: string;
  /**
   * `JSONRPC`, `HTTP+JSON` or, with 1.x and `grpc`, `GRPC`.
   *
   * Default: `JSONRPC`.
   */
  readonly protocolBinding?: string;
  /**
   * The tenant that calls are made for, if an interface of 1.x names one.
   *
   * Default: none.
   */
  readonly tenant?: string;
  /**
   * Whether to activate the development-tool extension. With `none` there are
   * text and task states only, and a message to an ended task starts a new task
   * of its conversation.
   *
   * Default: `active`.
   */
  readonly extension?: ExtensionUse;
  /**
   * Whether the agent streams. A message to one that does not is sent, and its
   * task is asked for until it rests.
   *
   * Default: true.
   */
  readonly streaming?: boolean;
  /**
   * Creates the gRPC transport for a base URL, for instance
   * `(baseUrl) => createGrpcTransport({ baseUrl })` of
   * `@connectrpc/connect-node`.
   *
   * Default: none, so `GRPC` is not supported.
   */
  readonly grpc?: (baseUrl: string) => Transport;
}

/**
 * The supported versions and bindings, as errors list them.
 */
export const CHOICES =
  "choose 1.0 over JSONRPC, HTTP+JSON or, with a transport for it, GRPC, or 0.3 over JSONRPC or HTTP+JSON";

/**
 * Returns whether `createA2aTransport` supports an interface.
 */
export function isSupported({
  protocolVersion = "0.3",
  protocolBinding = "JSONRPC",
  grpc,
}: Pick<
  A2aTransportOptions,
  "protocolVersion" | "protocolBinding" | "grpc"
>): boolean {
  const isV1 = /^1(\.|$)/.test(protocolVersion);
  if (!isV1 && !/^0\.3(\.|$)/.test(protocolVersion)) return false;
  const isGrpc = isV1 && protocolBinding === "GRPC" && grpc !== undefined;
  return isGrpc || ["JSONRPC", "HTTP+JSON"].includes(protocolBinding);
}

/**
 * Creates a transport that speaks A2A with one interface of an agent. A client
 * over it has the same services as over Connect or gRPC.
 *
 * ```ts
 * const transport = createA2aTransport({ url, token, protocolVersion: "1.0", protocolBinding: "HTTP+JSON" });
 * const client = createDevtoolClient(transport);
 * ```
 *
 * Calls without a counterpart in A2A fail with `Code.Unimplemented`:
 * `renameTask`, `setGoalState`, `deleteTask` and `watchTasks`; `listTasks` over
 * 0.3, and with a filter by agent, workspace, title or id prefix; slash commands
 * over 1.0 with gRPC; and all of `client.audit`, `client.agents` and `client.workspaces`, but for the
 * one agent that `createAgentTransport` lists.
 *
 * Of the headers of a call, `traceparent` and `tracestate` are sent.
 *
 * Throws `Code.Unimplemented` for an unsupported version or binding, and
 * `Code.InvalidArgument` for an invalid URL.
 */
export function createA2aTransport(options: A2aTransportOptions): Transport {
  return createTransportTo(options, undefined);
}

/**
 * Creates the transport of `createA2aTransport`, which lists the agent if a card
 * describes it.
 */
export function createTransportTo(
  given: A2aTransportOptions,
  agent: ListedAgent | undefined,
): Transport {
  const { grpc } = given;
  // All calls share one connection, whatever trace they are in.
  let connected: Transport | undefined;
  const options = grpc
    ? { ...given, grpc: (url: string) => (connected ??= grpc(url)) }
    : given;
  const known = new KnownTasks();
  const inTrace = (trace: CallHeaders): Transport =>
    createRouter({ options, agent, known, trace });
  const untraced = inTrace({});
  // Calls share what is known of tasks, and have only their headers for
  // themselves.
  const transportFor = (
    header: Parameters<Transport["unary"]>[3],
  ): Transport => {
    const headers = new Headers(header);
    const trace = readTraceContext(
      headers.get("traceparent"),
      headers.get("tracestate"),
    );
    return trace ? inTrace({ ...traceFields(trace) }) : untraced;
  };
  return {
    unary: (method, signal, timeoutMs, header, ...rest) =>
      transportFor(header).unary(method, signal, timeoutMs, header, ...rest),
    stream: (method, signal, timeoutMs, header, ...rest) =>
      transportFor(header).stream(method, signal, timeoutMs, header, ...rest),
  };
}

/** What the calls of one trace are made with. */
interface Tracing {
  readonly options: A2aTransportOptions;
  readonly agent: ListedAgent | undefined;
  readonly known: KnownTasks;
  /** The headers of W3C Trace Context that each call sends. */
  readonly trace: CallHeaders;
}

function createRouter({ options, agent, ...calls }: Tracing): Transport {
  const { protocolVersion = "0.3", protocolBinding = "JSONRPC" } = options;
  if (!isSupported(options)) {
    const wanted = `A2A ${JSON.stringify(protocolVersion)} over ${JSON.stringify(protocolBinding)}`;
    throw new ConnectError(
      `${wanted} is not supported: ${CHOICES}`,
      Code.Unimplemented,
    );
  }
  // The URL for gRPC may be a host and a port.
  if (protocolBinding !== "GRPC") agentUrl(options.url);
  const { tasks, commands, push } = protocolVersion.startsWith("0.3")
    ? createServicesV03(options, calls)
    : createServicesV1(options, calls);
  return createRouterTransport(({ service }) => {
    if (agent) {
      service(AgentListService, { listAgents: () => ({ agents: [agent] }) });
    }
    service(TaskService, tasks);
    service(SlashCommandService, commands);
    service(PushService, push);
  });
}

interface Services {
  readonly tasks: ServiceImpl<typeof TaskService>;
  readonly commands: ServiceImpl<typeof SlashCommandService>;
  readonly push: ServiceImpl<typeof PushService>;
}

function createTasks(
  calls: TaskCalls,
  { extension = "active", streaming = true }: A2aTransportOptions,
  known: KnownTasks,
): Services["tasks"] {
  return createA2aTaskService(
    streaming ? calls : withoutStreams(calls),
    extension,
    known,
  );
}

function createServicesV03(
  options: A2aTransportOptions,
  { known, trace }: Pick<Tracing, "known" | "trace">,
): Services {
  const { protocolBinding, extension = "active", onLeftOut } = options;
  // The header activates the extension (CARD-3).
  const headers: CallHeaders =
    extension === "none"
      ? trace
      : { ...trace, "x-a2a-extensions": EXTENSION_URI };
  const endpoint =
    protocolBinding === "HTTP+JSON"
      ? createRestEndpoint(options, headers)
      : new JsonRpcEndpoint(options, headers);
  return {
    tasks: createTasks(taskCallsV03(endpoint, extension), options, known),
    commands: createA2aCommandService(endpoint, onLeftOut),
    push: createPushServiceV03(endpoint, onLeftOut),
  };
}

function createServicesV1(
  options: A2aTransportOptions,
  { known, trace }: Pick<Tracing, "known" | "trace">,
): Services {
  const {
    protocolBinding = "JSONRPC",
    extension = "active",
    tenant = "",
    grpc,
    url,
    token = "",
    onLeftOut,
  } = options;
  const headers: CallHeaders = defined({
    ...trace,
    "a2a-version": "1.0",
    "a2a-extensions": extension === "active" ? EXTENSION_URI : undefined,
  });
  const withBinding = (
    binding: A2aBinding,
    commands: Services["commands"],
  ): Services => ({
    tasks: createTasks(taskCallsV1(binding, tenant), options, known),
    commands,
    push: createPushServiceV1(binding, tenant, onLeftOut),
  });
  if (protocolBinding === "GRPC" && grpc) {
    const refuse = (): never => {
      const message =
        "slash commands are not available over GRPC: use JSONRPC or HTTP+JSON";
      throw new ConnectError(message, Code.Unimplemented);
    };
    const commands = { getAllSlashCommands: refuse, runSlashCommand: refuse };
    return withBinding(createGrpcBinding(grpc(url), headers, token), commands);
  }
  if (protocolBinding === "JSONRPC") {
    const endpoint = new JsonRpcEndpoint(options, headers);
    return withBinding(
      createJsonRpcBinding(endpoint),
      createA2aCommandService(endpoint, onLeftOut),
    );
  }
  const endpoint = new HttpJsonEndpoint({
    ...options,
    headers,
    errorFrom: errorFromHttpJsonV1,
  });
  return withBinding(
    createHttpJsonBinding(endpoint),
    createA2aCommandService(httpJsonCommandCalls(endpoint), onLeftOut),
  );
}
