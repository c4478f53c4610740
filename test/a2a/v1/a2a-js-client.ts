import {
  type Message,
  type Part,
  Role,
  type StreamResponse,
  type Task,
} from "@a2a-js/sdk";
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

/**
 * The bindings that the official JavaScript SDK supports without further
 * packages.
 */
export const BINDINGS = ["JSONRPC", "HTTP+JSON"] as const;

/**
 * Creates a client of the official SDK from a URL, a token and the preferred
 * binding.
 */
export function officialClient(
  { url, token }: Pick<DevtoolServer, "url" | "token">,
  binding: (typeof BINDINGS)[number],
): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const transports = [
    new JsonRpcTransportFactory({ fetchImpl }),
    new RestTransportFactory({ fetchImpl }),
  ];
  const factory = new ClientFactory({
    transports: transports.filter(
      ({ protocolName }) => protocolName === binding,
    ),
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  return factory.createFromUrl(url);
}

/** Request options of a client that uses the extension. */
export const WITH_EXTENSION: { readonly serviceParameters: ServiceParameters } =
  {
    serviceParameters: ServiceParameters.create(
      withA2AExtensions(EXTENSION_URI),
    ),
  };

/** Returns a user message of the SDK. */
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

/** Returns a text part. */
export function textPart(value: string): Part {
  return {
    content: { $case: "text", value },
    metadata: {},
    filename: "",
    mediaType: "",
  };
}

/** Returns a data part. */
export function dataPart(value: unknown): Part {
  return {
    content: { $case: "data", value },
    metadata: {},
    filename: "",
    mediaType: "",
  };
}

/** Returns a request to send a message, without a configuration. */
export function sending(
  message: Message,
): Parameters<Client["sendMessage"]>[0] {
  return { tenant: "", message, configuration: undefined, metadata: {} };
}

/** Returns all elements of a stream. */
/** Returns the task that a stream begins with. */
export function taskOf(responses: readonly StreamResponse[]): Task {
  const first = responses[0]?.payload;
  if (first?.$case === "task") return first.value;
  throw new Error(
    `the stream begins with ${first?.$case}: its first element must be the task`,
  );
}

/** Returns the text of the agent in a stream. */
export function textsOf(responses: readonly StreamResponse[]): string {
  return responses
    .flatMap(({ payload }) =>
      payload?.$case === "statusUpdate"
        ? (payload.value.status?.message?.parts ?? [])
        : [],
    )
    .map(({ content }) => (content?.$case === "text" ? content.value : ""))
    .join("");
}
