import { type Message, type Part, Role, type StreamResponse, type Task } from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  ServiceParameters,
  withA2AExtensions,
} from "@a2a-js/sdk/client";
import { EXTENSION_URI } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";

/** The bindings that the official SDK for JavaScript speaks without more packages. */
export const BINDINGS = ["JSONRPC", "HTTP+JSON"] as const;

/** A client of the official SDK, told nothing but the address, a token and which binding it shall prefer. */
export function officialClient(
  { url, token }: Pick<DevtoolServer, "url" | "token">,
  binding: (typeof BINDINGS)[number],
): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const transports = [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })];
  const factory = new ClientFactory({
    transports: transports.filter(({ protocolName }) => protocolName === binding),
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  return factory.createFromUrl(url);
}

/** Says that a client knows the extension. */
export const WITH_EXTENSION: { readonly serviceParameters: ServiceParameters } = {
  serviceParameters: ServiceParameters.create(withA2AExtensions(EXTENSION_URI)),
};

/** A message of the user's as the SDK has it. */
export function userMessage(
  parts: Part[],
  place: { readonly taskId?: string; readonly contextId?: string } = {},
): Message {
  return {
    messageId: crypto.randomUUID(),
    taskId: place.taskId ?? "",
    contextId: place.contextId ?? "",
    role: Role.ROLE_USER,
    parts,
    metadata: {},
    extensions: [],
    referenceTaskIds: [],
  };
}

/** A part of text. */
export function textPart(value: string): Part {
  return { content: { $case: "text", value }, metadata: {}, filename: "", mediaType: "" };
}

/** A part of data. */
export function dataPart(value: unknown): Part {
  return { content: { $case: "data", value }, metadata: {}, filename: "", mediaType: "" };
}

/** What asks to send a message, with nothing said about how to answer. */
export function sending(message: Message): Parameters<Client["sendMessage"]>[0] {
  return { tenant: "", message, configuration: undefined, metadata: {} };
}

/** All elements of a stream. */
export async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const responses: StreamResponse[] = [];
  for await (const response of stream) responses.push(response);
  return responses;
}

/** The task that a stream begins with. */
export function taskOf(responses: readonly StreamResponse[]): Task {
  const first = responses[0]?.payload;
  if (first?.$case === "task") return first.value;
  throw new Error(`the stream begins with ${first?.$case}: its first element must be the task`);
}

/** The texts of the agent in a stream, joined. */
export function textsOf(responses: readonly StreamResponse[]): string {
  return responses
    .flatMap(({ payload }) => (payload?.$case === "statusUpdate" ? (payload.value.status?.message?.parts ?? []) : []))
    .map(({ content }) => (content?.$case === "text" ? content.value : ""))
    .join("");
}
