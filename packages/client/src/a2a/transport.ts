import { Code, ConnectError, createRouterTransport, type ServiceImpl, type Transport } from "@connectrpc/connect";
import { PushService, SlashCommandService, TaskService } from "@devtool/schema";
import type { A2aBinding } from "../a2a-v1/binding.ts";
import { grpcBinding } from "../a2a-v1/grpc-binding.ts";
import { httpJsonBinding, httpJsonCommands, httpJsonEndpoint } from "../a2a-v1/http-json-binding.ts";
import { jsonRpcBinding } from "../a2a-v1/json-rpc-binding.ts";
import { pushImplV1 } from "../a2a-v1/push.ts";
import { taskCallsV1 } from "../a2a-v1/tasks.ts";
import { pushImplV03 } from "../a2a-v03/push.ts";
import { restEndpoint } from "../a2a-v03/rest-endpoint.ts";
import { taskCallsV03 } from "../a2a-v03/tasks.ts";
import { slashCommandImpl } from "./commands.ts";
import type { EndpointOptions } from "./endpoint.ts";
import { type ExtensionUse, headersV1, headersV03 } from "./headers.ts";
import { JsonRpcEndpoint } from "./json-rpc-endpoint.ts";
import type { RpcEndpoint } from "./rpc-endpoint.ts";
import { taskImpl } from "./tasks.ts";

/** Where an A2A agent is, and what is spoken there; what `supportedInterfaces` of its card say. */
export interface A2aTransportOptions extends EndpointOptions {
  /** `0.3` or one of `1.x`. Default `0.3`. */
  readonly protocolVersion?: string;
  /** `JSONRPC` or `HTTP+JSON`; with 1.x also `GRPC`. Default `JSONRPC`. */
  readonly protocolBinding?: string;
  /** The tenant that calls are for, where an interface of 1.x has one. Default: none. */
  readonly tenant?: string;
  /**
   * `none` for an agent that does not have the development-tool extension: there are text and states then, and a message to
   * a task that has ended begins another of its conversation. Default `active`.
   */
  readonly extension?: ExtensionUse;
  /** Makes a transport that speaks gRPC with an address; without it there is no `GRPC`. Default: none. */
  readonly grpc?: (baseUrl: string) => Transport;
}

/** Tells whether an interface is one that `createA2aTransport` can call. */
export function isSpoken({ protocolVersion = "0.3", protocolBinding = "JSONRPC", grpc }: Spoken): boolean {
  const isV1 = /^1(\.|$)/.test(protocolVersion);
  if (!isV1 && !/^0\.3(\.|$)/.test(protocolVersion)) return false;
  const isGrpc = isV1 && protocolBinding === "GRPC" && grpc !== undefined;
  return isGrpc || ["JSONRPC", "HTTP+JSON"].includes(protocolBinding);
}

type Spoken = Pick<A2aTransportOptions, "protocolVersion" | "protocolBinding" | "grpc">;

/**
 * Makes a transport that speaks A2A with the development-tool extension: our services on the outside, so that a client
 * need not know which of them it uses. `ListTasks` has no form in 0.3, and slash commands have none in 1.0 over gRPC;
 * they fail with `Code.Unimplemented`. Throws `Code.Unimplemented` for a version or a binding that is not spoken here.
 */
export function createA2aTransport(options: A2aTransportOptions): Transport {
  const { protocolVersion = "0.3", protocolBinding = "JSONRPC" } = options;
  if (!isSpoken(options)) throw notSpoken(protocolVersion, protocolBinding);
  const { tasks, commands, push } = protocolVersion.startsWith("0.3") ? servicesV03(options) : servicesV1(options);
  return createRouterTransport(({ service }) => {
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

function servicesV03(options: A2aTransportOptions): Services {
  const { protocolBinding = "JSONRPC", extension = "active" } = options;
  const headers = headersV03(extension);
  if (protocolBinding === "HTTP+JSON") {
    const endpoint = restEndpoint(options, headers);
    return { ...servicesAt(endpoint, extension), commands: slashCommandImpl(endpoint) };
  }
  const endpoint = new JsonRpcEndpoint(options, headers);
  return { ...servicesAt(endpoint, extension), commands: slashCommandImpl(endpoint) };
}

function servicesAt(endpoint: RpcEndpoint, extension: ExtensionUse): Pick<Services, "tasks" | "push"> {
  return { tasks: taskImpl(taskCallsV03(endpoint, extension)), push: pushImplV03(endpoint) };
}

function servicesV1(options: A2aTransportOptions): Services {
  const { protocolBinding = "JSONRPC", extension = "active", grpc, url, token = "" } = options;
  const headers = headersV1(extension);
  if (protocolBinding === "JSONRPC") {
    const endpoint = new JsonRpcEndpoint(options, headers);
    return { ...servicesOver(jsonRpcBinding(endpoint), options), commands: slashCommandImpl(endpoint) };
  }
  if (protocolBinding === "GRPC" && grpc) {
    return { ...servicesOver(grpcBinding(grpc(url), headers, token), options), commands: noCommands() };
  }
  const endpoint = httpJsonEndpoint(options, headers);
  const commands = slashCommandImpl(httpJsonCommands(endpoint));
  return { ...servicesOver(httpJsonBinding(endpoint), options), commands };
}

function servicesOver(binding: A2aBinding, { tenant = "" }: A2aTransportOptions): Pick<Services, "tasks" | "push"> {
  return { tasks: taskImpl(taskCallsV1(binding, tenant)), push: pushImplV1(binding, tenant) };
}

function noCommands(): Services["commands"] {
  const refuse = (): never => {
    throw new ConnectError("slash commands have no form over GRPC: use JSONRPC or HTTP+JSON", Code.Unimplemented);
  };
  return { getAllSlashCommands: refuse, runSlashCommand: refuse };
}

function notSpoken(protocolVersion: string, protocolBinding: string): ConnectError {
  const message = `A2A ${JSON.stringify(protocolVersion)} over ${JSON.stringify(protocolBinding)} is not spoken here: ${CHOICES}`;
  return new ConnectError(message, Code.Unimplemented);
}

/** What is spoken here, as an error lists it. */
export const CHOICES =
  "choose 1.0 over JSONRPC, HTTP+JSON or, with a transport for it, GRPC, or 0.3 over JSONRPC or HTTP+JSON";
