import type { JsonObject } from "@bufbuild/protobuf";
import { confirmationsOf, OPTION_CANCEL, type Task, type ToolCallConfirmation, ToolCallStatus } from "@devtool/schema";
import { stringOrEmpty } from "@devtool/schema/json";
import type { AgentEvent, Turn } from "@devtool/server/agent";
import type { AppServer, ServerMessage } from "../app-server/app-server.ts";
import { type Approval, commandApproval, fileApproval, OPTION_REJECT, permissionsApproval } from "./approval.ts";
import { CANCELLED, type CallBook } from "./call-book.ts";
import type { ProposedChanges } from "./item-stream.ts";
import { elicitationAnswer, elicitationQuestion, inputAnswer, inputQuestions } from "./user-question.ts";

/** A request of the app-server. */
export type ServerRequest = Extract<ServerMessage, { case: "request" }>;

/** Dependencies of `Questions`. */
export interface QuestionsOptions {
  readonly turn: Turn;
  readonly server: AppServer;
  readonly calls: CallBook;
  readonly changesOf: (itemId: string) => ProposedChanges;
  /** Takes the answer that the user gave to a call before a restart. Undefined when there is none. */
  readonly takeAnswer: (itemId: string) => ToolCallConfirmation | undefined;
  /** Makes and yields events in the order of the turn. Resolves when the agent is resumed after them. */
  readonly publish: (make: () => AgentEvent[]) => Promise<void>;
  /** Tells Codex something while it works. */
  readonly steer: (text: string) => Promise<void>;
  readonly now: () => Date;
}

/** Handles a request until it is answered. */
type Handler = (questions: Questions, request: ServerRequest, signal: AbortSignal) => Promise<void>;

/** The questions that Codex asks in one turn. Each is a tool call that waits for its user. */
export class Questions {
  readonly #options: QuestionsOptions;
  /** The requests that are not answered yet, by their id as JSON. */
  readonly #open = new Map<string, AbortController>();

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** Handles a request of the app-server until it is answered, or until the signal aborts. */
  async handle(request: ServerRequest, signal: AbortSignal): Promise<void> {
    const { server } = this.#options;
    const handler = HANDLERS.get(request.method);
    if (!handler) return server.refuse(request.id, `devtool does not support ${request.method}`);
    const withdrawn = new AbortController();
    this.#open.set(JSON.stringify(request.id), withdrawn);
    try {
      await handler(this, request, AbortSignal.any([signal, withdrawn.signal]));
    } catch (reason) {
      if (!withdrawn.signal.aborted && !signal.aborted) throw reason;
    } finally {
      this.#open.delete(JSON.stringify(request.id));
    }
  }

  /** Closes a question that Codex no longer asks (`serverRequest/resolved`). */
  withdraw({ requestId }: JsonObject): void {
    this.#open.get(JSON.stringify(requestId ?? null))?.abort();
  }

  async approveCommand({ id, params }: ServerRequest, signal: AbortSignal): Promise<void> {
    await this.#approve(id, params, commandApproval(params), signal);
  }

  async approveChanges({ id, params }: ServerRequest, signal: AbortSignal): Promise<void> {
    const { changes, diff } = this.#options.changesOf(stringOrEmpty(params.itemId));
    await this.#approve(id, params, fileApproval(changes, diff, params), signal);
  }

  async approvePermissions({ id, params }: ServerRequest, signal: AbortSignal): Promise<void> {
    const approval = permissionsApproval(params);
    const key = await this.#addQuestion(`permissions-${id}`, "request_permissions", params);
    const { selectedOptionId } = await this.#ask(key, approval, signal);
    await this.#endQuestion(key, selectedOptionId);
    this.#options.server.reply(id, approval.results.get(selectedOptionId) ?? { permissions: {}, scope: "turn" });
  }

  async askUser({ id, params }: ServerRequest, signal: AbortSignal): Promise<void> {
    const answers: JsonObject = {};
    for (const question of inputQuestions(params)) {
      const key = await this.#addQuestion(`input-${id}-${question.id}`, "request_user_input", params);
      const answer = await this.#ask(key, question.approval, signal);
      await this.#endQuestion(key, answer.selectedOptionId);
      answers[question.id] = inputAnswer(question, answer.selectedOptionId, this.#textOf(answer));
    }
    this.#options.server.reply(id, { answers });
  }

  async elicit({ id, params }: ServerRequest, signal: AbortSignal): Promise<void> {
    const { server } = this.#options;
    const approval = elicitationQuestion(params);
    if (!approval) return server.reply(id, { action: "decline", content: null, _meta: null });
    const key = await this.#addQuestion(`elicitation-${id}`, "mcp_elicitation", params);
    const answer = await this.#ask(key, approval, signal);
    await this.#endQuestion(key, answer.selectedOptionId);
    server.reply(id, elicitationAnswer(approval, answer.selectedOptionId, this.#textOf(answer)));
  }

  async tellTime({ id }: ServerRequest): Promise<void> {
    this.#options.server.reply(id, { currentTimeAt: Math.floor(this.#options.now().getTime() / 1000) });
  }

  /** Asks whether an item may go on, and answers the request. */
  async #approve(id: ServerRequest["id"], params: JsonObject, approval: Approval, signal: AbortSignal): Promise<void> {
    const { server, calls, takeAnswer, publish } = this.#options;
    const itemId = stringOrEmpty(params.itemId);
    const known = takeAnswer(itemId);
    const usable = known && approval.results.has(known.selectedOptionId) ? known : undefined;
    const isOfItem = usable !== undefined || (!params.approvalId && calls.mayAsk(itemId));
    const key = isOfItem ? itemId : await this.#addQuestion(`approval-${id}`, "approval", params, itemId);
    const answer = usable ?? (await this.#ask(key, approval, signal));
    const { selectedOptionId } = answer;
    const changed = answer.modifiedDetails.case === "fileDetails" ? answer.modifiedDetails.value.newContent : undefined;
    if (selectedOptionId === OPTION_CANCEL || selectedOptionId === OPTION_REJECT || changed !== undefined) {
      await publish(() => calls.end(key, CANCELLED));
    } else if (isOfItem) await publish(() => calls.run(key));
    else await this.#endQuestion(key, selectedOptionId);
    if (changed === undefined)
      return server.reply(id, approval.results.get(selectedOptionId) ?? { decision: "cancel" });
    server.reply(id, { decision: "decline" });
    const path = this.#options.changesOf(itemId).changes[0]?.path ?? "the file";
    await this.#options.steer(`I changed your proposal. Write exactly this content to ${path}:\n\n${changed}`);
  }

  /** Adds a call that only asks. Returns its key. */
  async #addQuestion(name: string, toolName: string, params: JsonObject, itemId?: string): Promise<string> {
    const { calls, publish, turn } = this.#options;
    const key = `${stringOrEmpty(params.turnId) || turn.task.sequence}-${name}`;
    const parent = calls.find(itemId ?? stringOrEmpty(params.itemId));
    const isRunning = parent?.status === ToolCallStatus.EXECUTING;
    const description = stringOrEmpty(params.reason) || stringOrEmpty(params.message) || "Codex asks";
    await publish(() =>
      calls.add(key, { toolCallId: key, toolName, description }, isRunning ? parent.toolCallId : undefined),
    );
    return key;
  }

  /** Asks the user about a call, and returns the answer. */
  async #ask(key: string, { request }: Approval, signal: AbortSignal): Promise<ToolCallConfirmation> {
    const { turn, calls, publish } = this.#options;
    const toolCallId = calls.find(key)?.toolCallId ?? key;
    turn.confirmations.open(toolCallId);
    await publish(() => calls.ask(key, request));
    try {
      const answer = await turn.confirmations.wait(toolCallId, signal);
      // The session has recorded the answer.
      if (answer.selectedOptionId === OPTION_CANCEL) calls.markCancelled(key);
      else calls.markAnswered(key);
      return answer;
    } catch (reason) {
      await publish(() => calls.withdraw(key));
      throw reason;
    }
  }

  /** Ends a call that only asked. */
  async #endQuestion(key: string, optionId: string): Promise<void> {
    const { calls, publish } = this.#options;
    const result = { case: undefined };
    if (optionId !== OPTION_CANCEL) await publish(() => calls.end(key, { status: ToolCallStatus.SUCCEEDED, result }));
  }

  #textOf({ toolCallId }: ToolCallConfirmation): string {
    return answerText(this.#options.turn.task, toolCallId);
  }
}

const HANDLERS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ["item/commandExecution/requestApproval", (questions, ...rest) => questions.approveCommand(...rest)],
  ["item/fileChange/requestApproval", (questions, ...rest) => questions.approveChanges(...rest)],
  ["item/permissions/requestApproval", (questions, ...rest) => questions.approvePermissions(...rest)],
  ["item/tool/requestUserInput", (questions, ...rest) => questions.askUser(...rest)],
  ["mcpServer/elicitation/request", (questions, ...rest) => questions.elicit(...rest)],
  ["currentTime/read", (questions, request) => questions.tellTime(request)],
]);

/** The requests of the app-server that are answered. The others are refused. */
export const CARRIED_REQUESTS: readonly string[] = [...HANDLERS.keys()];

/** Returns the text that the user sent together with the answer to a call. */
function answerText({ history }: Task, toolCallId: string): string {
  const answer = history.findLast((message) =>
    confirmationsOf(message).some((given) => given.toolCallId === toolCallId),
  );
  const texts = answer?.parts.flatMap(({ content }) => (content.case === "text" ? [content.value] : [])) ?? [];
  return texts.join("\n");
}
