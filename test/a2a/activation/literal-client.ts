import { randomUUID } from "node:crypto";
import { EXTENSION_URI } from "@devtool/schema";
import { restOperation } from "@devtool/schema/a2a-v03";

/** The server that a literal client calls. */
export interface Address {
  readonly url: string;
  readonly token: string;
}

/** The result or the frames of a response, and the extensions that it names. */
export interface Heard {
  readonly named: string | null;
  readonly frames: readonly Json[];
}

/** A call of a literal client. */
export interface Ask {
  /**
   * The value of the header for extensions. Default: no header, as the literal
   * client has none.
   */
  readonly extensions?: string;
  /**
   * The id of the last event that the client has. Default: the stream is not
   * resumed.
   */
  readonly lastEventId?: string;
  /**
   * Number of frames after which the client disconnects. Default: it reads to
   * the end.
   */
  readonly leaveAfter?: number;
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON of a peer, which expectations look into
export type Json = any;

/** The differences between the versions. */
export interface Version {
  readonly send: string;
  readonly stream: string;
  readonly get: string;
  readonly subscribe: string;
  readonly cancel: string;
  readonly setPush: string;
  /** The header in which the version names extensions. */
  readonly header: string;
  readonly protocolVersion: string;
  message(
    part: { readonly text: string } | { readonly data: object },
    rest?: object,
  ): object;
  push(taskId: string, url: string): object;
}

export const V03: Version = {
  send: "message/send",
  stream: "message/stream",
  get: "tasks/get",
  subscribe: "tasks/resubscribe",
  cancel: "tasks/cancel",
  setPush: "tasks/pushNotificationConfig/set",
  header: "x-a2a-extensions",
  protocolVersion: "0.3",
  message: (part, rest) => {
    const parts = [{ kind: "text" in part ? "text" : "data", ...part }];
    return {
      kind: "message",
      role: "user",
      messageId: randomUUID(),
      parts,
      ...rest,
    };
  },
  push: (taskId, url) => ({ taskId, pushNotificationConfig: { url } }),
};

export const V1: Version = {
  send: "SendMessage",
  stream: "SendStreamingMessage",
  get: "GetTask",
  subscribe: "SubscribeToTask",
  cancel: "CancelTask",
  setPush: "CreateTaskPushNotificationConfig",
  header: "a2a-extensions",
  protocolVersion: "1.0",
  message: (part, rest) => ({
    role: "ROLE_USER",
    messageId: randomUUID(),
    parts: [part],
    ...rest,
  }),
  push: (taskId, url) => ({ taskId, url }),
};

/**
 * A client written from A2A and the RFC alone, which sends no header for
 * extensions unless a call has one.
 */
export interface LiteralClient {
  readonly version: Version;
  call(to: Address, method: string, params: object, ask?: Ask): Promise<Heard>;
}

/** JSON-RPC of a version. */
export function jsonRpcClient(version: Version): LiteralClient {
  return {
    version,
    async call(to, method, params, ask = {}) {
      const accept = STREAMS.has(method)
        ? "text/event-stream"
        : "application/json";
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      const { response, frames } = await exchange(
        to,
        { path: "/", body, accept, version },
        ask,
      );
      const failed = frames.find(({ error }) => error)?.error;
      if (failed) throw new Error(`${failed.code} ${failed.message}`);
      return {
        named: response.headers.get(version.header),
        frames: frames.map(({ result }) => result),
      };
    },
  };
}

/** HTTP+JSON of A2A 0.3. */
export const restClient: LiteralClient = {
  version: V03,
  async call(to, method, params, ask = {}) {
    const operation = restOperation(method);
    const { httpMethod, path, body } = operation.encodeCall(
      JSON.parse(JSON.stringify(params)),
    );
    const sent = {
      path,
      httpMethod,
      body: body && JSON.stringify(body),
      accept: "*/*",
      version: V03,
    };
    const { response, frames } = await exchange(to, sent, ask);
    if (!response.ok) {
      throw new Error(`${response.status} ${JSON.stringify(frames)}`);
    }
    return {
      named: response.headers.get(V03.header),
      frames: frames.map((frame) => operation.decodeResult(frame)),
    };
  },
};

const STREAMS: ReadonlySet<string> = new Set([
  "message/stream",
  "tasks/resubscribe",
  "SendStreamingMessage",
  "SubscribeToTask",
]);

interface Sent {
  readonly path: string;
  readonly httpMethod?: string;
  readonly body: string | undefined;
  readonly accept: string;
  readonly version: Version;
}

async function exchange({ url, token }: Address, sent: Sent, ask: Ask) {
  const { path, httpMethod = "POST", body, accept, version } = sent;
  const left = new AbortController();
  const response = await fetch(`${url}${path}`, {
    method: httpMethod,
    headers: {
      authorization: `Bearer ${token}`,
      accept,
      "a2a-version": version.protocolVersion,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(ask.lastEventId !== undefined && {
        "last-event-id": ask.lastEventId,
      }),
      ...(ask.extensions !== undefined && { [version.header]: ask.extensions }),
    },
    ...(body !== undefined && { body }),
    signal: left.signal,
  });
  const frames = await read(response, ask);
  left.abort();
  return { response, frames };
}

async function read(
  response: Response,
  { leaveAfter = Number.POSITIVE_INFINITY }: Ask,
): Promise<Json[]> {
  if (!response.headers.get("content-type")?.includes("text/event-stream")) {
    return [await response.json()];
  }
  const frames: Json[] = [];
  let text = "";
  for await (const chunk of response.body?.pipeThrough(
    new TextDecoderStream(),
  ) ?? []) {
    text += chunk;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) frames.push(JSON.parse(data));
      if (frames.length >= leaveAfter) return frames;
    }
  }
  return frames;
}

/**
 * Returns the kinds of the extension in frames, in order; undefined for a
 * status without one.
 */
export function kindsOf(frames: readonly Json[]): (string | undefined)[] {
  return frames.flatMap((frame) => {
    const update = frame.kind === "status-update" ? frame : frame.statusUpdate;
    return update ? [update.metadata?.[EXTENSION_URI]?.kind] : [];
  });
}

/**
 * Returns the distinct ids of the tool calls in some JSON, in the form of the
 * RFC.
 */
export function callIdsIn(json: Json): string[] {
  return [
    ...new Set(
      [...JSON.stringify(json).matchAll(/"tool_call_id":"([^"]+)"/g)].map(
        ([, id = ""]) => id,
      ),
    ),
  ];
}

/** Returns the task and the context of the first frame. */
export function placeOf([first]: readonly Json[]): {
  readonly taskId: string;
  readonly contextId: string;
} {
  const found = first.task ?? first.statusUpdate ?? first;
  return { taskId: found.taskId ?? found.id, contextId: found.contextId };
}
