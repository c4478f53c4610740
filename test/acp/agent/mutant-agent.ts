import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { AcpPipe } from "@devtool/acp/testing";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import { textOf } from "../../mutants.ts";

/** What an agent of a test answers, and what it sends in its first turn. */
export interface AgentScript {
  /** The results of its answers, by method. */
  readonly results: Readonly<Record<string, JsonValue>>;
  /** The methods and parameters of its requests and notifications. */
  readonly calls: readonly (readonly [method: string, params: JsonValue])[];
  /** Whether it asks for a login before it opens a session. */
  readonly needsLogin?: boolean;
  /** Whether it ends with its first turn. */
  readonly endsEarly?: boolean;
}

const NO_COMMANDS = {
  sessionUpdate: "available_commands_update",
  availableCommands: [],
};

/** An agent in this process, with an odd value somewhere in its script. */
export class MutantAgent implements AcpPipe {
  readonly #script: AgentScript;
  readonly #lines: string[] = [];
  readonly #ended = Promise.withResolvers<string>();
  #wake = Promise.withResolvers<void>();
  #prompt: JsonValue | undefined;
  /** The requests that wait for an answer. */
  readonly #open = new Set<string>();
  /** What the client has answered to its requests, by their ids. */
  readonly replies: Map<string, JsonObject[]> = new Map();
  /** The requests of the client. */
  readonly asked: JsonObject[] = [];

  constructor(script: AgentScript) {
    this.#script = script;
  }

  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  get output(): AsyncIterable<Uint8Array> {
    return this.#read();
  }

  write(text: string): boolean {
    for (const line of text.trimEnd().split("\n")) {
      this.#take(objectOrEmpty(JSON.parse(line)));
    }
    this.#wake.resolve();
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.resolve("it was closed");
    this.#wake.resolve();
  }

  #take(message: JsonObject): void {
    const { id = null, method } = message;
    if (method === undefined) this.#reply(String(id), message);
    if (method === undefined || id === null) return;
    this.asked.push(message);
    const { results, calls, needsLogin } = this.#script;
    if (method === "session/new" && needsLogin) {
      const error = { code: -32000, message: "Authentication required" };
      this.#send({ id, error });
    } else if (method !== "session/prompt") {
      this.#send({ id, result: results[String(method)] ?? {} });
      if (method === "session/new") this.#update(NO_COMMANDS);
    } else {
      this.#prompt = id;
      for (const [index, [called, params]] of calls.entries()) {
        const isRequest = called !== "session/update";
        if (isRequest) this.#open.add(`r${index}`);
        this.#send({
          ...(isRequest && { id: `r${index}` }),
          method: called,
          params,
        });
      }
      this.#endTurn();
    }
  }

  #reply(id: string, message: JsonObject): void {
    this.replies.set(id, [...(this.replies.get(id) ?? []), message]);
    this.#open.delete(id);
    // The last words come when all that was asked is answered.
    this.#endTurn();
  }

  #endTurn(): void {
    if (this.#open.size > 0 || this.#prompt === undefined) return;
    const content = { type: "text", text: "after" };
    this.#update({ sessionUpdate: "agent_message_chunk", content });
    const result = this.#script.results["session/prompt"] ?? null;
    this.#send({ id: this.#prompt, result });
    this.#prompt = undefined;
  }

  #update(update: JsonObject): void {
    this.#send({ method: "session/update", params: { update } });
  }

  #send(message: JsonObject): void {
    this.#lines.push(`${textOf({ jsonrpc: "2.0", ...message })}\n`);
  }

  async *#read(): AsyncIterable<Uint8Array> {
    const hasEnded = this.ended.then(() => true);
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) {
        yield Buffer.from(line);
      } else if (await Promise.race([hasEnded, this.#wake.promise])) {
        return;
      } else {
        this.#wake = Promise.withResolvers();
      }
    }
  }
}

/** Returns the strings in JSON that are not well formed, names included. */
export function unpairedIn(json: unknown): string[] {
  if (typeof json === "string") return json.isWellFormed() ? [] : [json];
  if (Array.isArray(json)) return json.flatMap(unpairedIn);
  if (!isObject(json)) return [];
  return Object.entries(json).flatMap(([name, value]) => [
    ...unpairedIn(name),
    ...unpairedIn(value),
  ]);
}
