import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { firstProblem, mismatch } from "../match/match.ts";
import type { ReadResult } from "./a2a-json.ts";
import { withoutNewNames } from "./other-names.ts";

/**
 * The methods of A2A 0.3 whose results are a task, a message or an update.
 */
const METHODS: ReadonlySet<string> = new Set([
  "message/send",
  "message/stream",
  "tasks/get",
  "tasks/cancel",
  "tasks/resubscribe",
]);

const STATUS: JsonObject = {
  state:
    "<one:submitted|working|input-required|completed|canceled|failed|rejected|auth-required|unknown>",
};

/**
 * The fields that A2A 0.3 requires (section 6), by `kind`.
 */
const SHAPES: ReadonlyMap<unknown, JsonObject> = new Map([
  ["task", { id: "<any>", contextId: "<any>", status: STATUS }],
  [
    "status-update",
    { taskId: "<any>", contextId: "<any>", status: STATUS, final: "<any>" },
  ],
  [
    "artifact-update",
    { taskId: "<any>", contextId: "<any>", artifact: { artifactId: "<any>" } },
  ],
  ["message", { messageId: "<any>", role: "<one:user|agent>", parts: [] }],
]);

/**
 * Reads a result of A2A 0.3, which must have its fields and names (section 6).
 */
export function readResultV03(method: string, result: JsonValue): ReadResult {
  if (!METHODS.has(method)) return { json: result, warnings: [] };
  const { json, problem, warnings } = withoutNewNames(result);
  const missing = resultProblem(objectOrEmpty(json));
  if (missing !== undefined) {
    return { json, warnings, problem: problem ?? missing, isUnreadable: true };
  }
  return problem === undefined
    ? { json, warnings }
    : { json, warnings, problem };
}

function resultProblem(result: JsonObject): string | undefined {
  const { kind } = result;
  const shape = SHAPES.get(kind);
  if (shape === undefined) {
    return mismatch(
      `<one:${[...SHAPES.keys()].join("|")}>`,
      kind,
      "result.kind",
    );
  }
  const { status, artifact, artifacts, history } = result;
  const { message, timestamp } = objectOrEmpty(status);
  return firstProblem([
    mismatch(shape, result, `result (${kind})`),
    timestampProblem(timestamp),
    partsProblem(result, "result"),
    partsProblem(artifact, "result.artifact"),
    messageProblem(message, "result.status.message"),
    ...listOrEmpty(history).map((item, index) =>
      messageProblem(item, `result.history[${index}]`),
    ),
    ...listOrEmpty(artifacts).map((item, index) => {
      const path = `result.artifacts[${index}]`;
      return (
        mismatch({ artifactId: "<any>" }, item, path) ??
        partsProblem(item, path)
      );
    }),
  ]);
}

function messageProblem(
  message: JsonValue | undefined,
  path: string,
): string | undefined {
  if (message === undefined) return undefined;
  const shape = { kind: "message", ...SHAPES.get("message") };
  return mismatch(shape, message, path) ?? partsProblem(message, path);
}

function partsProblem(
  holder: JsonValue | undefined,
  path: string,
): string | undefined {
  return firstProblem(
    listOrEmpty(objectOrEmpty(holder).parts).map((part, index) =>
      mismatch(
        { kind: "<one:text|file|data>" },
        part,
        `${path}.parts[${index}]`,
      ),
    ),
  );
}

function timestampProblem(time: JsonValue | undefined): string | undefined {
  const isTime =
    time === undefined ||
    (/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(String(time)) &&
      !Number.isNaN(Date.parse(String(time))));
  return isTime
    ? undefined
    : `result.status.timestamp must be a time of ISO 8601, such as 2025-10-27T10:00:00Z: got ${JSON.stringify(time)}`;
}
