import { createHash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { stringOrEmpty } from "@devtool/internal/json";
import {
  findToolCall,
  findToolCallDetail,
  findToolCallPart,
  isEnded,
  type Task,
  ToolCallStage,
} from "@devtool/schema";
import type { CallUpdate } from "@devtool/server/agent";
import { DescribedCall, type TerminalOutput } from "./described-call.ts";
import { TurnCall } from "./turn-call.ts";

const MAX_ID_LENGTH = 200;

/** The dependencies of `CallBook`. */
export interface CallBookOptions {
  /** Returns the present state of the task. */
  readonly task: () => Task;
  readonly terminalOutput: TerminalOutput;
}

/**
 * The tool calls of one turn, by their ids in our task. An agent reports a call
 * in pieces: any of `tool_call`, `tool_call_update` and
 * `session/request_permission` may be the first to mention it.
 */
export class CallBook {
  readonly #options: CallBookOptions;
  /**
   * The calls of the agent by its own ids, and those of the client by symbols.
   */
  readonly #calls = new Map<string | symbol, DescribedCall>();

  constructor(options: CallBookOptions) {
    this.#options = options;
  }

  /** Returns a call by its id in our task. */
  call(id: string): TurnCall {
    const { task, terminalOutput } = this.#options;
    const known = this.#find(id);
    const described = known ?? new DescribedCall(id, terminalOutput);
    const recorded = (): CallUpdate | undefined => {
      const call = findToolCall(task(), id);
      return call && { call, detail: findToolCallDetail(task(), id) };
    };
    return new TurnCall(described, {
      recorded,
      // A call of an earlier turn is as it was recorded.
      described: () =>
        known ? known.call : (recorded()?.call ?? described.call),
    });
  }

  /**
   * Takes a piece with which the agent announces a call or asks about one: any
   * id that is not of this turn stands for a new call. Returns its id in our
   * task; undefined if the piece names none.
   */
  announce(piece: JsonObject): string | undefined {
    const agentId = stringOrEmpty(piece.toolCallId);
    if (agentId === "") return undefined;
    let known = this.#calls.get(agentId);
    if (!known) {
      known = new DescribedCall(
        this.freeId(shortId(agentId)),
        this.#options.terminalOutput,
      );
      this.#calls.set(agentId, known);
    }
    known.take(piece);
    return known.id;
  }

  /**
   * Takes a `tool_call` or a `tool_call_update`. Returns the id of the call in
   * our task; undefined for a late update of a call of an earlier turn.
   */
  update(update: JsonObject): string | undefined {
    const agentId = stringOrEmpty(update.toolCallId);
    if (update.sessionUpdate !== "tool_call" && !this.#calls.has(agentId)) {
      const earlier = findToolCall(this.#options.task(), shortId(agentId));
      if (earlier && isEnded(earlier)) return undefined;
    }
    return this.announce(update);
  }

  /**
   * Takes what the agent's own terminal has printed since the last update,
   * which has no field in the protocol: it stands in the `_meta` that Zed
   * introduced and Codex sends. Other than `update`, it takes each update once.
   */
  appendOutput(id: string, update: JsonObject): void {
    this.#find(id)?.appendOutput(update);
  }

  /**
   * Begins a call that the client makes for the agent: nothing that the agent
   * says changes it. Returns its id in our task.
   */
  begin(call: JsonObject): string {
    const known = new DescribedCall(
      this.freeId(stringOrEmpty(call.name)),
      this.#options.terminalOutput,
    );
    known.take(call);
    this.#calls.set(Symbol(known.id), known);
    return known.id;
  }

  /**
   * Takes a call as one that our task has already: the agent asks again after a
   * restart.
   */
  adopt(id: string, earlierId: string): void {
    const known = this.#find(id);
    if (known) known.id = earlierId;
  }

  /** The calls of this turn that have begun and have not ended. */
  open(): TurnCall[] {
    return [...this.#calls.values()]
      .map(({ id }) => this.call(id))
      .filter(
        ({ stage }) =>
          stage < ToolCallStage.SUCCEEDED &&
          stage !== ToolCallStage.UNSPECIFIED,
      );
  }

  /** The calls that show a terminal. */
  callsWithTerminal(terminalId: string): TurnCall[] {
    return [...this.#calls.values()]
      .filter((known) => known.showsTerminal(terminalId))
      .map(({ id }) => this.call(id));
  }

  /**
   * Returns an id that no call of the task has. An agent may choose any id for
   * its calls.
   */
  freeId(base: string): string {
    const task = this.#options.task();
    let id = base;
    for (
      let number = 2;
      findToolCallPart(task, id) || this.#find(id);
      number++
    ) {
      id = `${base}~${number}`;
    }
    return id;
  }

  #find(id: string): DescribedCall | undefined {
    return this.#calls.values().find((known) => known.id === id);
  }
}

/**
 * Returns an id of the agent, or its hash when it is too long for our task, or
 * would be another one there.
 */
function shortId(agentId: string): string {
  const isWhole = agentId.isWellFormed();
  const hashed = isWhole ? agentId : JSON.stringify(agentId);
  return agentId.length > MAX_ID_LENGTH || !isWhole
    ? createHash("sha256").update(hashed).digest("hex")
    : agentId;
}
