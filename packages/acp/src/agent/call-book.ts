import { createHash } from "node:crypto";
import { basename } from "node:path";
import { create, equals, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import {
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  ExecuteDetailsSchema,
  type FileDiff,
  FileDiffSchema,
  findToolCallDetail,
  findToolCallPart,
  GenericDetailsSchema,
  isEnded,
  McpDetailsSchema,
  oneLine,
  structFromJson,
  type Task,
  type ToolCall,
  type ToolCallDetail,
  ToolCallSchema,
  ToolCallStage,
  ToolCallStatus,
  type ToolOutput,
  ToolOutputSchema,
  visibleText,
} from "@devtool/schema";
import { canonicalJson, defined, isObject, listOrEmpty, objectOrEmpty, stringOrEmpty } from "@devtool/schema/json";
import { type CallUpdate, changedDetail, type FailureType, toolFailure } from "@devtool/server/agent";
import { changeText, pathText } from "./change-text.ts";
import { textOfBlock } from "./content.ts";

/** The maximum length of a call's live content and output, in characters; the beginning is cut off. */
const MAX_OUTPUT_LENGTH = 256 * 1024;
const MAX_ID_LENGTH = 200;
/** The kinds of calls that change files. */
export const CHANGES: ReadonlySet<string> = new Set(["edit", "delete", "move"]);
/** What the audit names as the rule of a call about which the agent asked nobody. */
const AGENT_DECIDED = "agent";

/** A call as the agent has described it so far. */
interface Known {
  /** The id of the call in our task. */
  readonly id: string;
  title: string;
  name: string;
  kind: string;
  input: JsonValue | undefined;
  content: readonly JsonValue[];
  paths: readonly string[];
  output: JsonValue | undefined;
  meta: JsonObject;
  /** The output so far of a terminal of the agent's own, which has no field in the protocol. */
  streamed: string;
}

/** The dependencies of `CallBook`. */
export interface CallBookOptions {
  /** Returns the present state of the task. */
  readonly task: () => Task;
  /** Returns the output so far of a terminal of the client, by its id; undefined for an unknown one. */
  readonly terminalOutput: (terminalId: string) => string | undefined;
}

/**
 * The tool calls of one turn, as an agent reports them in pieces: any of `tool_call`, `tool_call_update` and
 * `session/request_permission` may be the first to mention a call.
 *
 * Each method returns the versions of the call that the task's log needs next. The stages in the log decide which moves
 * are possible, so a call that has ended stays as it is whatever the agent says later.
 */
export class CallBook {
  readonly #options: CallBookOptions;
  /** The calls of the agent by its own ids, and those of the client by symbols. */
  readonly #calls = new Map<string | symbol, Known>();

  constructor(options: CallBookOptions) {
    this.#options = options;
  }

  /** Takes a piece of a call, without a change of its status. Returns its id in our task; undefined for an old call. */
  merge(piece: JsonObject, isNews: boolean): string | undefined {
    const agentId = stringOrEmpty(piece.toolCallId);
    if (agentId === "") return undefined;
    const known = this.#calls.get(agentId) ?? this.#begin(agentId, isNews);
    if (!known) return undefined;
    take(known, piece);
    return known.id;
  }

  /**
   * Takes what the agent's own terminal has printed since the last update, which has no field in the protocol: it stands in the
   * `_meta` that Zed introduced and Codex sends. Other than `merge`, it takes each update once.
   */
  appendOutput(id: string, { _meta }: JsonObject): void {
    const { terminal_output_delta, terminal_output } = objectOrEmpty(_meta);
    const known = this.#find(id);
    if (known)
      known.streamed = tail(
        known.streamed + stringOrEmpty(objectOrEmpty(terminal_output_delta ?? terminal_output).data),
      );
  }

  /** Begins a call that the client makes for the agent: nothing that the agent says changes it. Returns its id in our task. */
  begin(call: JsonObject): string {
    const known = emptyCall(this.#freeId(stringOrEmpty(call.name)));
    take(known, call);
    this.#calls.set(Symbol(known.id), known);
    return known.id;
  }

  /** Takes a call as one that our task has already: the agent asks again after a restart. */
  adopt(id: string, earlierId: string): void {
    for (const [key, known] of this.#calls) if (known.id === id) this.#calls.set(key, { ...known, id: earlierId });
  }

  /** The versions of a call for a status of ACP; `pending` when the agent gave none. */
  withStatus(id: string, status: string): CallUpdate[] {
    switch (status) {
      case "in_progress":
        return this.executing(id);
      case "completed":
        return this.succeeded(id);
      case "failed":
        return this.failed(id, "execution_failed", this.#textOf(id) || "the call failed");
      default:
        return this.pending(id);
    }
  }

  pending(id: string): CallUpdate[] {
    const stage = this.#stage(id);
    if (stage === ToolCallStage.EXECUTING) return this.executing(id);
    if (stage !== ToolCallStage.UNSPECIFIED && stage !== ToolCallStage.VALIDATING) return [];
    const detail = this.#detail(id, { stage: ToolCallStage.VALIDATING });
    return [{ call: this.#call(id, ToolCallStatus.PENDING), detail }];
  }

  /** The agent may run the call: `rule` says who decided that. */
  allowed(id: string, rule: string, reason: string): CallUpdate[] {
    const stage = this.#stage(id);
    if (stage !== ToolCallStage.UNSPECIFIED && stage !== ToolCallStage.VALIDATING) return [];
    const detail = this.#detail(id, { stage: ToolCallStage.SCHEDULED, rule, reason });
    return [{ call: this.#call(id, ToolCallStatus.PENDING), detail }];
  }

  executing(id: string): CallUpdate[] {
    const before = this.allowed(id, AGENT_DECIDED, "the agent did not ask");
    const stage = before.length > 0 ? ToolCallStage.SCHEDULED : this.#stage(id);
    if (stage !== ToolCallStage.SCHEDULED && stage !== ToolCallStage.EXECUTING) return [];
    const text = this.#textOf(id);
    const live = text === "" ? {} : { liveContent: text };
    const call = { ...this.#call(id, ToolCallStatus.EXECUTING), ...live };
    const recorded = findToolCallPart(this.#options.task(), id)?.content;
    const isKnown = recorded?.case === "toolCall" && equals(ToolCallSchema, recorded.value, call);
    return isKnown ? [] : [...before, { call }];
  }

  succeeded(id: string): CallUpdate[] {
    const stage = this.#stage(id);
    if (stage === ToolCallStage.AWAITING_APPROVAL)
      return this.failed(id, "execution_failed", "the agent ran the call without waiting for the answer");
    const before = stage === ToolCallStage.EXECUTING ? [] : this.executing(id);
    if (stage !== ToolCallStage.EXECUTING && before.length === 0) return [];
    const value = create(ToolOutputSchema, { result: this.#outputOf(id) });
    return [...before, { call: { ...this.#call(id, ToolCallStatus.SUCCEEDED), result: { case: "output", value } } }];
  }

  failed(id: string, type: FailureType, message: string, decision: Partial<ToolCallDetail> = {}): CallUpdate[] {
    const stage = this.#stage(id);
    if (stage >= ToolCallStage.SUCCEEDED) return [];
    const before = stage === ToolCallStage.UNSPECIFIED ? this.pending(id) : [];
    const { output, meta } = this.#find(id) ?? {};
    const { exitCode, exit_code } = objectOrEmpty(output);
    const code = exitCode ?? exit_code ?? objectOrEmpty(meta?.terminal_exit).exit_code;
    const value = toolFailure(type, message, typeof code === "number" && Number.isInteger(code) ? code | 0 : undefined);
    const call = { ...this.#call(id, ToolCallStatus.FAILED), result: { case: "error" as const, value } };
    return [...before, { call, detail: this.#detail(id, { ...decision, stage: ToolCallStage.FAILED }) }];
  }

  /** The version of a call in our task whose question the agent withdrew. */
  cancelled(id: string): CallUpdate[] {
    const content = findToolCallPart(this.#options.task(), id)?.content;
    if (content?.case !== "toolCall" || isEnded(content.value)) return [];
    const { confirmationRequest: _closed, ...call } = content.value;
    return [{ call: { ...call, status: ToolCallStatus.CANCELLED } }];
  }

  /** The version of a call that asks the user; none for a call that can no longer ask. */
  asking(id: string, options: ConfirmationRequest["options"]): CallUpdate[] {
    const stage = this.#stage(id);
    if (stage > ToolCallStage.AWAITING_APPROVAL) return [];
    const confirmationRequest = create(ConfirmationRequestSchema, { options, details: this.detailsOf(id) });
    const detail = this.#detail(id, { stage: ToolCallStage.AWAITING_APPROVAL, digest: this.digestOf(id) });
    return [{ call: { ...this.#call(id, ToolCallStatus.PENDING), confirmationRequest }, detail }];
  }

  /**
   * The question about a call that runs already, as a call of its own: a call that runs cannot wait again.
   *
   * @param questionId the id of the question in our task
   */
  askingWhileRunning(id: string, questionId: string, options: ConfirmationRequest["options"]): CallUpdate {
    const confirmationRequest = create(ConfirmationRequestSchema, { options, details: this.detailsOf(id) });
    const call = { ...this.#call(id, ToolCallStatus.PENDING), toolCallId: questionId, confirmationRequest };
    return { call, detail: changedDetail(undefined, { parentToolCallId: id, digest: this.digestOf(id) }) };
  }

  /** The versions that end a question which is a call of its own, after its answer. */
  endQuestion(id: string): CallUpdate[] {
    const content = findToolCallPart(this.#options.task(), id)?.content;
    if (content?.case !== "toolCall" || this.#stage(id) !== ToolCallStage.SCHEDULED) return [];
    const { confirmationRequest: _answered, ...call } = content.value;
    return [
      { call: { ...call, status: ToolCallStatus.EXECUTING } },
      { call: { ...call, status: ToolCallStatus.SUCCEEDED } },
    ];
  }

  /** SHA-256 of what the user is asked to approve: an answer is valid only for a call with the same one. */
  digestOf(id: string): Uint8Array {
    const { toolName, inputParameters, description = "" } = this.#call(id, ToolCallStatus.PENDING);
    const request = create(ConfirmationRequestSchema, { details: this.detailsOf(id) });
    const shown = [toolName, description, inputParameters ?? {}, toJson(ConfirmationRequestSchema, request)];
    return createHash("sha256").update(canonicalJson(shown)).digest();
  }

  /** What the user is asked to approve: a command, a change of a file, a call of an MCP server, or words. */
  detailsOf(id: string): ConfirmationRequest["details"] {
    const known = this.#find(id);
    if (!known) return { case: undefined };
    const [diff, ...further] = diffsIn(known.content);
    if (diff && further.length === 0) return { case: "fileEditDetails", value: diff };
    if (diff) return genericDetails([known.title, changeText([diff, ...further])]);
    const input = objectOrEmpty(known.input);
    if (known.kind === "execute") {
      const workingDirectory = stringOrEmpty(input.cwd) || undefined;
      const value = create(ExecuteDetailsSchema, defined({ command: commandOf(known, input), workingDirectory }));
      return { case: "executeDetails", value };
    }
    const [, serverName, toolName] = /^mcp__(.+?)__(.+)$/.exec(this.toolName(id)) ?? [];
    if (serverName !== undefined && toolName !== undefined)
      return { case: "mcpDetails", value: create(McpDetailsSchema, { serverName, toolName }) };
    const places = CHANGES.has(known.kind) ? known.paths.map(pathText) : [];
    return genericDetails([known.title, this.#textOf(id), ...places]);
  }

  toolName(id: string): string {
    const known = this.#find(id);
    const ofClaude = stringOrEmpty(objectOrEmpty(known?.meta.claudeCode).toolName);
    return known?.name || ofClaude || known?.kind || "other";
  }

  /** What kind of call it is; `edit` whenever it shows changes of files. */
  kind(id: string): string {
    return this.diffs(id).length > 0 ? "edit" : this.#find(id)?.kind || "other";
  }

  title(id: string): string {
    return this.#find(id)?.title ?? "";
  }

  input(id: string): JsonObject {
    return inputOf(this.#find(id)?.input);
  }

  paths(id: string): readonly string[] {
    const known = this.#find(id);
    return known ? [...new Set([...known.paths, ...diffsIn(known.content).map(({ filePath }) => filePath)])] : [];
  }

  /** The changes of files that a call makes. */
  diffs(id: string): FileDiff[] {
    return diffsIn(this.#find(id)?.content ?? []);
  }

  /** The ids of the calls of this turn that have not ended. */
  open(): string[] {
    return [...this.#calls.values()]
      .map(({ id }) => id)
      .filter((id) => this.#stage(id) < ToolCallStage.SUCCEEDED && this.#stage(id) !== ToolCallStage.UNSPECIFIED);
  }

  /** The ids of the calls that show a terminal. */
  callsWithTerminal(terminalId: string): string[] {
    return [...this.#calls.values()]
      .filter(({ content }) => content.some((item) => isObject(item) && item.terminalId === terminalId))
      .map(({ id }) => id);
  }

  #begin(agentId: string, isNews: boolean): Known | undefined {
    const base = agentId.length > MAX_ID_LENGTH ? createHash("sha256").update(agentId).digest("hex") : agentId;
    const task = this.#options.task();
    const earlier = findToolCallPart(task, base)?.content;
    // A late word about a call of an earlier turn.
    if (earlier?.case === "toolCall" && isEnded(earlier.value) && !isNews) return undefined;
    const known = emptyCall(this.#freeId(base));
    this.#calls.set(agentId, known);
    return known;
  }

  /** Returns an id that no call of the task has. */
  #freeId(base: string): string {
    const task = this.#options.task();
    let id = base;
    for (let number = 2; findToolCallPart(task, id) || this.#find(id); number++) id = `${base}~${number}`;
    return id;
  }

  #find(id: string): Known | undefined {
    return this.#calls.values().find((known) => known.id === id);
  }

  #stage(id: string): ToolCallStage {
    return findToolCallDetail(this.#options.task(), id)?.stage ?? ToolCallStage.UNSPECIFIED;
  }

  #detail(id: string, change: Partial<ToolCallDetail>): ToolCallDetail {
    return changedDetail(findToolCallDetail(this.#options.task(), id), change);
  }

  #call(id: string, status: ToolCallStatus): ToolCall {
    const description = this.#describe(id) || undefined;
    const fields = { toolCallId: id, toolName: this.toolName(id), status, description };
    return create(ToolCallSchema, defined({ ...fields, inputParameters: structFromJson(this.input(id)) }));
  }

  /** A line about a call in the agent's words; for a command with deceptive characters, the command, with these escaped. */
  #describe(id: string): string {
    const known = this.#find(id);
    const command = known?.kind === "execute" ? commandOf(known, objectOrEmpty(known.input)) : "";
    return visibleText(command) === command ? oneLine(known?.title ?? "") : `Run ${oneLine(command)}`;
  }

  /** The text of a call: its content and the output of its terminals, or else what a terminal of the agent's own printed. */
  #textOf(id: string): string {
    const known = this.#find(id);
    const texts = (known?.content ?? []).filter(isObject).map((item) => {
      if (item.type === "content") return textOfBlock(objectOrEmpty(item.content));
      if (item.type === "terminal") return this.#options.terminalOutput(stringOrEmpty(item.terminalId)) ?? "";
      return "";
    });
    return tail(texts.filter((text) => text !== "").join("\n")) || (known?.streamed ?? "");
  }

  #outputOf(id: string): ToolOutput["result"] {
    const known = this.#find(id);
    const [diff, ...further] = diffsIn(known?.content ?? []);
    if (diff && further.length === 0) return { case: "diff", value: diff };
    const changed = [diff, ...further].flatMap((one) => (one ? [`changed ${one.filePath}`] : []));
    const text = tail([...changed, this.#textOf(id)].filter((part) => part !== "").join("\n"));
    if (text !== "") return { case: "text", value: text };
    if (isObject(known?.output)) return { case: "structuredData", value: structFromJson(known.output) };
    if (known?.output === undefined || known.output === null) return { case: undefined };
    const value = typeof known.output === "string" ? known.output : JSON.stringify(known.output);
    return { case: "text", value: tail(value) };
  }
}

function genericDetails(parts: readonly string[]): ConfirmationRequest["details"] {
  const description = visibleText(parts.filter((part) => part !== "").join("\n"));
  return { case: "genericDetails", value: create(GenericDetailsSchema, { description }) };
}

function emptyCall(id: string): Known {
  const text = { title: "", name: "", kind: "" };
  return { id, ...text, input: undefined, content: [], paths: [], output: undefined, meta: {}, streamed: "" };
}

/** Takes what a piece of a call says; what it leaves out stays. */
function take(known: Known, piece: JsonObject): void {
  known.title = stringOrEmpty(piece.title) || known.title;
  known.name = stringOrEmpty(piece.name) || known.name;
  known.kind = stringOrEmpty(piece.kind) || known.kind;
  known.input = piece.rawInput ?? known.input;
  known.output = piece.rawOutput ?? known.output;
  if (Array.isArray(piece.content)) known.content = piece.content;
  if (Array.isArray(piece.locations)) known.paths = pathsOf(piece.locations);
  known.meta = { ...known.meta, ...objectOrEmpty(piece._meta) };
}

function tail(text: string): string {
  if (text.length <= MAX_OUTPUT_LENGTH) return text;
  const note = "[the beginning was cut off]\n";
  return note + text.slice(note.length - MAX_OUTPUT_LENGTH);
}

/** The arguments of a call as an object: any other value is its field `value`. */
function inputOf(input: JsonValue | undefined): JsonObject {
  if (input === undefined || input === null) return {};
  return isObject(input) ? input : { value: input };
}

function commandOf({ title }: Known, { command }: JsonObject): string {
  if (typeof command === "string" && command !== "") return command;
  const words = listOrEmpty(command).filter((word) => typeof word === "string");
  return words.length > 0 ? words.join(" ") : title;
}

function pathsOf(locations: readonly JsonValue[]): string[] {
  return locations.flatMap((location) => stringOrEmpty(objectOrEmpty(location).path) || []);
}

function diffsIn(content: readonly JsonValue[]): FileDiff[] {
  return content.filter(isObject).flatMap((item) => {
    const { type, path, oldText, newText } = item;
    if (type !== "diff" || typeof path !== "string" || typeof newText !== "string") return [];
    const oldContent = typeof oldText === "string" ? oldText : undefined;
    const fields = { fileName: basename(path), filePath: path, newContent: newText, oldContent };
    return [create(FileDiffSchema, defined(fields))];
  });
}
