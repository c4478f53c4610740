import type { Answer, Question } from "./clients.ts";
import { changedFrame, framed, framesOf } from "./frames.ts";
import { jsonIn, jsonOf, objectOf } from "./json.ts";
import { mutateBytes, mutateJson, type Random } from "./mutate.ts";
import {
  AG_UI_SEEDS,
  CALLS,
  REST_SEEDS,
  REST_V1_SEEDS,
  RPC_SEEDS,
  RPC_V1_SEEDS,
  type Seed,
  STREAMS,
  UNARY,
} from "./seeds.ts";

/** One way to talk to the server. */
export interface Binding {
  readonly name: string;
  readonly client: "http1" | "http2";
  /** Makes a request that is changed from a good one. */
  next(random: Random): Question;
  /**
   * Says what is wrong with an answer; undefined when it is as the binding has
   * answers.
   */
  faultOf(answer: Answer): string | undefined;
  /**
   * Asks something harmless; an answer that is not orderly, or 404, says that
   * the binding is not served.
   */
  readonly probe: Question;
}

const RUN = { path: "/ag-ui", type: "application/json" } as const;

/** The bindings whose bodies are one document, of JSON or of bytes. */
export const DOCUMENTS: readonly Binding[] = [
  jsonRpc("JSON-RPC of A2A 0.3", RPC_SEEDS, {}),
  jsonRpc("JSON-RPC of A2A 1.0", RPC_V1_SEEDS, { "a2a-version": "1.0" }),
  rest("HTTP+JSON of A2A 0.3", REST_SEEDS, {}),
  rest("HTTP+JSON of A2A 1.0", REST_V1_SEEDS, { "a2a-version": "1.0" }),
  {
    name: "AG-UI",
    client: "http1",
    next: (random) => ({
      ...RUN,
      body: mutateJson(pick(AG_UI_SEEDS, random), random),
    }),
    faultOf: runFault,
    probe: { ...RUN, body: AG_UI_SEEDS[0] ?? "" },
  },
  connect("Connect with JSON", "application/json", (random) => {
    const { path, json } = pick(UNARY, random);
    return { path, body: mutateJson(json, random) };
  }),
  connect("Connect with bytes", "application/proto", (random) => {
    const { path, bytes } = pick(UNARY, random);
    return { path, body: mutateBytes(bytes, random) };
  }),
];

/** The bindings whose bodies are frames. */
export const FRAMED: readonly Binding[] = [
  {
    ...connect(
      "Connect streams with JSON",
      "application/connect+json",
      (random) => {
        const { path, json } = pick(STREAMS, random);
        const body = random(4) === 0 ? json : mutateJson(json, random);
        return { path, body: changedFrame(Buffer.from(body), random) };
      },
    ),
    faultOf: connectStreamFault,
    probe: {
      path: "/devtool.v1alpha.TaskService/SubscribeTask",
      type: "application/connect+json",
      body: framed(Buffer.from('{"taskId":"t"}')),
    },
  },
  grpc("gRPC", "application/grpc+proto", (answer) =>
    grpcFault(
      answer.trailers["grpc-status"] ?? answer.headers["grpc-status"],
      answer,
    ),
  ),
  {
    ...grpc("gRPC-Web", "application/grpc-web+proto", grpcWebFault),
    client: "http1",
  },
];

function pick<T>(from: readonly T[], random: Random): T {
  const found = from[random(from.length)];
  if (found === undefined) throw new Error("there is nothing to pick from");
  return found;
}

function jsonRpc(
  name: string,
  seeds: readonly string[],
  headers: Readonly<Record<string, string>>,
): Binding {
  const question = { path: "/", type: "application/json", headers };
  return {
    name,
    client: "http1",
    next: (random) => ({
      ...question,
      body: mutateJson(pick(seeds, random), random),
    }),
    faultOf: jsonRpcFault,
    probe: { ...question, body: seeds[1] ?? "" },
  };
}

function jsonRpcFault({ status, headers, body }: Answer): string | undefined {
  if (status >= 500) return `status ${status}`;
  if (headers["content-type"] === "text/event-stream") {
    const frames = [...body.toString().matchAll(/^data: (.*)$/gm)];
    if (frames.length === 0) return "a stream without frames";
    return frames
      .map(([, data = ""]) => responseFault(jsonIn(data)))
      .find((fault) => fault !== undefined);
  }
  return responseFault(jsonIn(body.toString()));
}

function responseFault(
  response: Readonly<Record<string, unknown>>,
): string | undefined {
  const error = objectOf(response.error);
  const shaped =
    response.jsonrpc === "2.0" &&
    "id" in response &&
    ("result" in response || typeof error.message === "string");
  if (!shaped) return "no response of JSON-RPC";
  return error.code === -32603
    ? `internal error: ${String(error.message)}`
    : undefined;
}

function runFault({ status, headers, body }: Answer): string | undefined {
  if (status >= 500) return `status ${status}`;
  const text = body.toString();
  if (headers["content-type"] !== "text/event-stream") {
    return typeof jsonIn(text).error === "string"
      ? undefined
      : "no error of the binding";
  }
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) =>
    jsonIn(data),
  );
  if (events[0]?.type !== "RUN_STARTED") return "a run without its beginning";
  const { type, code } = events.at(-1) ?? {};
  if (type !== "RUN_FINISHED" && type !== "RUN_ERROR") {
    return "a run without its end";
  }
  return code === "internal" || code === "unknown"
    ? `internal error: ${text}`
    : undefined;
}

function rest(
  name: string,
  seeds: readonly Seed[],
  headers: Readonly<Record<string, string>>,
): Binding {
  return {
    name,
    client: "http1",
    next: (random) => {
      const [method, path, body] = pick(seeds, random);
      const changesPath = body === undefined || random(4) === 0;
      return {
        method,
        headers,
        type: "application/json",
        path: changesPath ? changedPath(path, random) : path,
        body:
          body === undefined ? "" : mutateJson(JSON.stringify(body), random),
      };
    },
    faultOf: ({ status, body, headers: { "content-type": type } }) => {
      if (status >= 500) return `status ${status}`;
      if (status < 300) {
        return type === "text/event-stream" ||
          jsonOf(body.toString()) !== undefined
          ? undefined
          : "no JSON";
      }
      // A path that was changed can be one of another version or dialect; the
      // server itself answers unknown paths.
      const json = jsonIn(body.toString());
      return isErrorV03(json) ||
        isErrorV1(json) ||
        typeof json.error === "string"
        ? undefined
        : "no error of the binding";
    },
    probe: {
      method: "POST",
      path: seeds[1]?.[1] ?? "",
      type: "application/json",
      body: "{}",
      headers,
    },
  };
}

/**
 * A path that is changed in a place or two, and can still be the path of a
 * request.
 */
function changedPath(path: string, random: Random): string {
  const pieces = [
    "%00",
    "%",
    "..",
    "//",
    ":",
    "%2F",
    "?",
    "&",
    "=",
    "%F0%9F",
    "9".repeat(30),
    "-1",
    "{}",
    "*",
  ];
  const at = 1 + random(path.length);
  const changed =
    path.slice(0, at) + pick(pieces, random) + path.slice(at + random(4));
  return random(2) === 0
    ? changed
    : changed.slice(0, 1 + random(changed.length));
}

function isErrorV03({
  code,
  message,
}: Readonly<Record<string, unknown>>): boolean {
  return (
    typeof code === "number" && code !== -32603 && typeof message === "string"
  );
}

function isErrorV1({ error }: Readonly<Record<string, unknown>>): boolean {
  const { code, status, message } = objectOf(error);
  return (
    typeof code === "number" &&
    typeof status === "string" &&
    status !== "INTERNAL" &&
    typeof message === "string"
  );
}

function connect(
  name: string,
  type: string,
  make: (random: Random) => {
    readonly path: string;
    readonly body: Uint8Array | string;
  },
): Binding {
  return {
    name,
    client: "http1",
    next: (random) => {
      const { path, body } = make(random);
      return { path, type, body, headers: { "connect-protocol-version": "1" } };
    },
    faultOf: ({ status, body }) =>
      status === 200 ? undefined : codeFault(jsonIn(body.toString()).code),
    probe: {
      path: "/devtool.v1alpha.TaskService/ListTasks",
      type,
      body: type.endsWith("json") ? "{}" : "",
    },
  };
}

/** The code of Connect must be one, and none that says that we are to blame. */
function codeFault(code: unknown): string | undefined {
  if (typeof code !== "string" || !/^[a-z_]+$/.test(code)) {
    return `no error of Connect: ${String(code)}`;
  }
  return ["internal", "unknown", "data_loss", "unavailable"].includes(code)
    ? `error ${code}`
    : undefined;
}

function connectStreamFault({ status, body }: Answer): string | undefined {
  if (status !== 200) return status >= 500 ? `status ${status}` : undefined;
  const last = framesOf(body).at(-1);
  if (!last || (last.flags & 2) === 0) return "a stream without end";
  const { error } = jsonIn(last.data.toString());
  return error === undefined ? undefined : codeFault(objectOf(error).code);
}

function grpc(
  name: string,
  type: string,
  faultOf: Binding["faultOf"],
): Binding {
  return {
    name,
    client: "http2",
    next: (random) => {
      const { path, bytes } = pick(CALLS, random);
      const body = random(4) === 0 ? bytes : mutateBytes(bytes, random);
      return { path, type, body: changedFrame(body, random) };
    },
    faultOf,
    probe: {
      path: "/devtool.v1alpha.TaskService/ListTasks",
      type,
      body: framed(new Uint8Array()),
    },
  };
}

/**
 * Codes of gRPC that say that we are to blame: UNKNOWN, INTERNAL, UNAVAILABLE,
 * DATA_LOSS.
 */
const OUR_FAULTS: ReadonlySet<string> = new Set(["2", "13", "14", "15"]);

function grpcFault(
  code: unknown,
  { status }: Pick<Answer, "status">,
): string | undefined {
  if (status !== 200) return status >= 500 ? `status ${status}` : undefined;
  if (typeof code !== "string" || !/^\d+$/.test(code)) {
    return `no status of gRPC: ${String(code)}`;
  }
  return OUR_FAULTS.has(code) ? `status ${code} of gRPC` : undefined;
}

function grpcWebFault(answer: Answer): string | undefined {
  const last = framesOf(answer.body).at(-1);
  const trailers =
    last && (last.flags & 0x80) !== 0 ? last.data.toString() : "";
  return grpcFault(
    answer.headers["grpc-status"] ??
      /^grpc-status:\s*(\d+)/im.exec(trailers)?.[1],
    answer,
  );
}
