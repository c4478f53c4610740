import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { shorten } from "@devtool/internal/cut-text";
import { splitJson } from "@devtool/internal/exact-json";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/internal/json";
import {
  ArtifactSchema,
  isTerminal,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  type Task,
  TaskSchema,
  TaskState,
} from "@devtool/schema";
import { StreamResponseSchema } from "@devtool/schema/a2a-v1";
import { withoutNewNames, withoutOldNames } from "../binding/other-names.ts";
import { ELEMENTS } from "../binding/stream-end.ts";
import { ConversationSchema } from "../protos.ts";
import type { ProgramOutcome } from "./program.ts";

const PRINT =
  "print each element of the answer as JSON of A2A: a Task, a Message, or a status or artifact update";

/** What a client printed breaks a requirement other than that of the case. */
export class PrintedNamesError extends Error {
  override readonly name = "PrintedNamesError";
  /** The id of the requirement. */
  readonly requirement: string;

  constructor(requirement: string, message: string) {
    super(message);
    this.requirement = requirement;
  }
}

/**
 * Reads what a client printed, JSON values one after another, as the task that
 * it received, or as its refusal if it is an error of JSON-RPC.
 *
 * Nothing for an empty output. Names of A2A 1.0 are read in either version, because SDKs of 1.0 translate
 * what agents of 0.3 send. Throws an error that says what to print instead.
 */
export function printedOutcome(
  output: string,
  protocolVersion: string,
): ProgramOutcome {
  const values = printedValues(output).flatMap((value) => [value].flat());
  const refusal = values
    .map((value) => objectOrEmpty(value))
    .find(({ jsonrpc, error }) => jsonrpc !== undefined && isObject(error));
  if (refusal) {
    return { case: "refused", value: JSON.stringify(refusal.error) };
  }
  if (values.length === 0) return { case: undefined };
  const elements = values
    .filter((value) => value !== null)
    .map((value) => readElement(value, protocolVersion));
  if (elements.every(({ name }) => name === "")) {
    throw new Error(
      `standard output has no element of A2A: got ${shorten(output.trim(), 200)}: ${PRINT}`,
    );
  }
  const shown = new ShownTask();
  for (const element of elements) shown.take(element);
  const conversation = { task: shown.task() };
  return {
    case: "conversation",
    value: create(ConversationSchema, conversation),
  };
}

/** Parses JSON values that follow each other, with space between them. */
function printedValues(output: string): JsonValue[] {
  let rest = output;
  const values = splitJson(output).map((part) => {
    const at = rest.indexOf(part);
    assertBlank(rest.slice(0, at));
    rest = rest.slice(at + part.length);
    const value = parseJsonOrUndefined(part);
    if (value === undefined) throw notJson(part);
    return value;
  });
  assertBlank(rest);
  return values;
}

function assertBlank(between: string): void {
  if (between.trim() !== "") throw notJson(between);
}

function notJson(found: string): Error {
  const got = JSON.stringify(shorten(found.trim(), 200));
  const problem = `standard output has something that is not valid JSON: got ${got}`;
  return new Error(
    `${problem}: print JSON and nothing else there, and the rest on standard error`,
  );
}

/** An element of an answer, in the names of A2A 0.3. */
interface PrintedElement {
  /** `task`, `message`, `statusUpdate`, `artifactUpdate`, or empty. */
  readonly name: string;
  readonly body: JsonObject;
}

function readElement(
  value: JsonValue,
  protocolVersion: string,
): PrintedElement {
  const { jsonrpc, result } = objectOrEmpty(value);
  const element =
    jsonrpc !== undefined && result !== undefined ? result : value;
  const law = protocolVersion === "1.0" ? "A2A1-JSON" : "A2A03-JSON";
  const { problem } =
    protocolVersion === "1.0"
      ? withoutOldNames(element, StreamResponseSchema)
      : {};
  if (problem !== undefined) {
    throw new PrintedNamesError(
      law,
      `the client printed names of another version: ${problem}`,
    );
  }
  const body = objectOrEmpty(withoutNewNames(element).json);
  const { state } = objectOrEmpty(body.status);
  if (typeof state === "number") {
    throw new PrintedNamesError(
      law,
      `the client printed "state": ${state}: print its name, such as "TASK_STATE_COMPLETED", as the JSON of A2A has it`,
    );
  }
  return { name: elementName(body), body };
}

function elementName(body: JsonObject): string {
  if (body.kind !== undefined) return ELEMENTS.get(body.kind) ?? "";
  if ("taskId" in body && isObject(body.artifact)) return "artifactUpdate";
  if ("taskId" in body && isObject(body.status)) return "statusUpdate";
  if ("messageId" in body && "parts" in body) return "message";
  return "id" in body && isObject(body.status) ? "task" : "";
}

/** The task that a user of the client sees. */
class ShownTask {
  #id = "";
  #contextId = "";
  #state = TaskState.UNSPECIFIED;
  readonly #said = new Map<string, Part[]>();
  readonly #made = new Map<string, Part[]>();

  /** Takes the next element. One of another task changes nothing. */
  take({ name, body }: PrintedElement): void {
    const { status, artifact } = body;
    if (name === "message") {
      this.#say(body);
      if (this.#id === "") this.#state = TaskState.COMPLETED;
    } else if (name === "task") {
      this.#id = stringOrEmpty(body.id);
      this.#contextId = stringOrEmpty(body.contextId);
      for (const message of listOrEmpty(body.history)) this.#say(message);
      this.#setStatus(status);
      for (const each of listOrEmpty(body.artifacts)) this.#make(each, false);
    } else if (this.#id === "" || body.taskId === this.#id) {
      this.#id = stringOrEmpty(body.taskId);
      this.#setStatus(status);
      if (name === "artifactUpdate") this.#make(artifact, body.append);
    }
  }

  task(): Task {
    const history = [...this.#said].map(([messageId, parts]) =>
      create(MessageSchema, { messageId, role: Role.AGENT, parts }),
    );
    const artifacts = [...this.#made].map(([artifactId, parts]) =>
      create(ArtifactSchema, { artifactId, parts }),
    );
    const [id, contextId, state] = [this.#id, this.#contextId, this.#state];
    return create(TaskSchema, { id, contextId, state, history, artifacts });
  }

  #setStatus(status: JsonValue | undefined): void {
    const { state, message } = objectOrEmpty(status);
    const name = stringOrEmpty(state).toUpperCase().replace("-", "_");
    const next = STATES.get(name);
    if (next !== undefined && !isTerminal(this.#state)) this.#state = next;
    this.#say(message);
  }

  #say(message: JsonValue | undefined): void {
    const { messageId, role, parts } = objectOrEmpty(message);
    if (!isObject(message) || role === "user") return;
    const said = partsOf(parts);
    this.#said.set(stringOrEmpty(messageId) || JSON.stringify(parts), said);
  }

  #make(artifact: JsonValue | undefined, append: JsonValue | undefined): void {
    const { artifactId, parts } = objectOrEmpty(artifact);
    const id = stringOrEmpty(artifactId);
    const earlier = append === true ? (this.#made.get(id) ?? []) : [];
    this.#made.set(id, [...earlier, ...partsOf(parts)]);
  }
}

const STATES: ReadonlyMap<string, TaskState> = new Map(
  Object.entries(TaskState).flatMap(([name, state]) =>
    typeof state === "number" ? [[name, state] as const] : [],
  ),
);

/** Returns the texts among parts; other parts are not compared. */
function partsOf(parts: JsonValue | undefined): Part[] {
  return listOrEmpty(parts).flatMap((part) => {
    const { text } = objectOrEmpty(part);
    if (typeof text !== "string") return [];
    return [create(PartSchema, { content: { case: "text", value: text } })];
  });
}
