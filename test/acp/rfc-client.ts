import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { EXTENSION_URI } from "@devtool/schema";
import { EventSourceParserStream } from "eventsource-parser/stream";

/** The server that a client calls. */
export interface RfcPlace {
  readonly url: string;
  readonly token: string;
  readonly workspace: string;
  /** The name of the agent. Default: the server's default agent. */
  readonly agent?: string;
}

/** The content of one stream, from its first frame to its last. */
export interface Shown {
  readonly taskId: string;
  readonly contextId: string;
  /** The state of the task at the end: `completed`, `input-required`, … */
  readonly state: string;
  /** The kinds of the extension's events, in order. */
  readonly kinds: readonly string[];
  /** The text of the answer. */
  readonly text: string;
  /** Every version of every tool call, in order. */
  readonly calls: readonly JsonObject[];
  /** The artifacts, each as its updates left it: its id, and its parts. */
  readonly artifacts: readonly JsonObject[];
  /** The calls that ask, at the end. */
  readonly questions: readonly JsonObject[];
  /** The text of the last status, which says why a task failed. */
  readonly reason: string;
}

/** A client of A2A 0.3 over JSON-RPC that knows only the RFC. */
export class RfcClient {
  readonly #place: RfcPlace;

  constructor(place: RfcPlace) {
    this.#place = place;
  }

  /** Begins a task, and reads its stream to the end. */
  begin(text: string, signal: AbortSignal): Promise<Shown> {
    return this.#stream(
      "message/stream",
      { message: this.#firstMessage(text) },
      signal,
    );
  }

  /** Begins a task and does not wait for it. */
  async start(text: string, signal: AbortSignal): Promise<string> {
    const params = {
      message: this.#firstMessage(text),
      configuration: { blocking: false },
    };
    return stringOrEmpty(
      objectOrEmpty(await this.call("message/send", params, signal)).id,
    );
  }

  /** Answers a question, and reads the stream to the end. */
  answer(
    { taskId, contextId }: Shown,
    question: JsonObject,
    option: string,
    signal: AbortSignal,
  ): Promise<Shown> {
    const data = {
      tool_call_id: question.tool_call_id ?? "",
      selected_option_id: option,
    };
    const message = messageOf([{ kind: "data", data }], { taskId, contextId });
    return this.#stream("message/stream", { message }, signal);
  }

  /** Continues a task with a text. */
  say(
    { taskId, contextId }: Shown,
    text: string,
    signal: AbortSignal,
  ): Promise<Shown> {
    return this.#stream(
      "message/stream",
      { message: messageOf([{ kind: "text", text }], { taskId, contextId }) },
      signal,
    );
  }

  /** Follows a task to its next end. */
  follow(taskId: string, signal: AbortSignal): Promise<Shown> {
    return this.#stream("tasks/resubscribe", { id: taskId }, signal);
  }

  /** Returns the state of a task. */
  async stateOf(taskId: string, signal: AbortSignal): Promise<string> {
    const task = objectOrEmpty(
      await this.call("tasks/get", { id: taskId }, signal),
    );
    return stringOrEmpty(objectOrEmpty(task.status).state);
  }

  /** Calls a method and returns its result. Throws for an error. */
  async call(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonValue> {
    const { result, error } = objectOrEmpty(
      await (await this.#post(method, params, signal)).json(),
    );
    if (error !== undefined) {
      throw new Error(`${method}: ${JSON.stringify(error)}`);
    }
    return result ?? null;
  }

  #firstMessage(text: string): JsonObject {
    return messageOf([{ kind: "text", text }], {
      metadata: { [EXTENSION_URI]: { workspace_path: this.#place.workspace } },
    });
  }

  async #stream(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<Shown> {
    const response = await this.#post(method, params, signal);
    const frames: JsonObject[] = [];
    const events = response.body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    for await (const { data } of events ?? []) {
      const { result, error } = objectOrEmpty(JSON.parse(data));
      if (error !== undefined) {
        throw new Error(`${method}: ${JSON.stringify(error)}`);
      }
      frames.push(objectOrEmpty(result));
    }
    return shownIn(frames);
  }

  #post(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<Response> {
    const { url, token, agent } = this.#place;
    return fetch(agent === undefined ? url : `${url}/agents/${agent}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: crypto.randomUUID(),
        method,
        params,
      }),
      signal,
    });
  }
}

function messageOf(parts: readonly JsonObject[], more: JsonObject): JsonObject {
  return {
    kind: "message",
    role: "user",
    messageId: crypto.randomUUID(),
    parts: [...parts],
    ...more,
  };
}

function shownIn(frames: readonly JsonObject[]): Shown {
  const updates = frames.filter(({ kind }) => kind === "status-update");
  const extensionOf = ({ metadata }: JsonObject): JsonObject =>
    objectOrEmpty(objectOrEmpty(metadata)[EXTENSION_URI]);
  const kindOf = (update: JsonObject): string =>
    stringOrEmpty(extensionOf(update).kind);
  const partsOf = ({ status }: JsonObject): JsonObject[] =>
    listOrEmpty(objectOrEmpty(objectOrEmpty(status).message).parts).map(
      objectOrEmpty,
    );
  const textOf = (parts: readonly JsonObject[]): string =>
    parts.map(({ text }) => stringOrEmpty(text)).join("");
  const callsOf = (parts: readonly JsonObject[]): JsonObject[] =>
    parts
      .map(({ data }) => objectOrEmpty(data))
      .filter(({ tool_call_id }) => tool_call_id !== undefined);
  const [first = {}, last = first] = [frames[0], frames.at(-1)];
  return {
    taskId: stringOrEmpty(first.taskId ?? first.id),
    contextId: stringOrEmpty(first.contextId),
    state: stringOrEmpty(objectOrEmpty(last.status).state),
    kinds: updates.map(kindOf),
    text: textOf(
      updates
        .filter((update) => kindOf(update) === "TEXT_CONTENT")
        .flatMap(partsOf),
    ),
    calls: updates
      .filter((update) => kindOf(update) === "TOOL_CALL_UPDATE")
      .flatMap((update) => callsOf(partsOf(update))),
    artifacts: artifactsIn(frames),
    questions: callsOf(partsOf(last)).filter(({ confirmation_request }) =>
      isObject(confirmation_request),
    ),
    reason:
      textOf(partsOf(last)) ||
      stringOrEmpty(objectOrEmpty(extensionOf(last).error)),
  };
}

/**
 * The last version of each artifact, with the parts that were appended to it.
 */
function artifactsIn(frames: readonly JsonObject[]): JsonObject[] {
  const artifacts = new Map<string, JsonObject>();
  for (const { kind, artifact: sent, append } of frames) {
    if (kind !== "artifact-update") continue;
    const artifact = objectOrEmpty(sent);
    const id = stringOrEmpty(artifact.artifactId);
    const before =
      append === true
        ? listOrEmpty(objectOrEmpty(artifacts.get(id)).parts)
        : [];
    artifacts.set(id, {
      artifactId: id,
      parts: [...before, ...listOrEmpty(artifact.parts)],
    });
  }
  return [...artifacts.values()];
}
