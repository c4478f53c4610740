import type { JsonObject } from "@bufbuild/protobuf";
import { stringOrEmpty } from "@devtool/internal/json";
import {
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  OPTION_REJECT,
  type ToolCallConfirmation,
} from "@devtool/schema";
import { type AgentEvent, ANSWERED, CANCELLED } from "@devtool/server/agent";
import type { AppServer, ServerMessage } from "../app-server/app-server.ts";
import type { AnsweredCalls } from "./answered-calls.ts";
import {
  type Approval,
  type CallApproval,
  commandApproval,
  fileApproval,
  permissionsApproval,
} from "./approval.ts";
import { CallDecision, type CallDecisionOptions } from "./call-decision.ts";
import type { ProposedChanges } from "./item-stream.ts";
import { QuestionCalls, type QuestionCallsOptions } from "./question-calls.ts";
import { type ToolApproval, toolApproval } from "./tool-approval.ts";
import {
  elicitationAnswer,
  elicitationQuestion,
  elicitationResult,
  inputAnswer,
  inputQuestions,
} from "./user-question.ts";

/** A request of the app-server. */
export type ServerRequest = Extract<ServerMessage, { case: "request" }>;

/** Dependencies of `Questions`. */
export interface QuestionsOptions
  extends QuestionCallsOptions,
    CallDecisionOptions {
  readonly server: AppServer;
  readonly changesOf: (itemId: string) => ProposedChanges;
  /** Tells the user once of what Codex did that cannot be shown. */
  readonly leaveOut: (what: string) => AgentEvent[];
  /** The answers that the user gave before a restart. */
  readonly answered: AnsweredCalls;
  /** Sends Codex a message while it works. */
  readonly steer: (text: string) => Promise<void>;
  /** Begins the next turn of Codex with a message. */
  readonly sayNext: (text: string) => void;
  readonly now: () => Date;
}

/** The result of a request for permissions that is declined. */
const NO_PERMISSIONS: JsonObject = { permissions: {}, scope: "turn" };

/** The method of `Questions` that handles a request until it is answered. */
type Handler =
  | "approveCommand"
  | "approveChanges"
  | "approvePermissions"
  | "askUser"
  | "elicit"
  | "tellTime";

/**
 * The questions that Codex asks in one turn. Each is a tool call that waits for
 * its user.
 */
export class Questions {
  readonly #options: QuestionsOptions;
  /** The requests that are not answered yet, by their id as JSON. */
  readonly #open = new Map<string, AbortController>();
  readonly #asked: QuestionCalls;
  readonly #decision: CallDecision;

  constructor(options: QuestionsOptions) {
    this.#options = options;
    this.#asked = new QuestionCalls(options);
    this.#decision = new CallDecision(options);
  }

  /**
   * Handles a request of the app-server until it is answered, or until the
   * signal aborts.
   */
  async handle(request: ServerRequest, signal: AbortSignal): Promise<void> {
    const { server } = this.#options;
    const handler = HANDLERS.get(request.method);
    if (!handler) {
      return server.refuse(
        request.id,
        `devtool does not support ${request.method}`,
      );
    }
    const withdrawn = new AbortController();
    this.#open.set(JSON.stringify(request.id), withdrawn);
    try {
      await this[handler](request, AbortSignal.any([signal, withdrawn.signal]));
    } catch (reason) {
      if (!withdrawn.signal.aborted && !signal.aborted) throw reason;
    } finally {
      this.#open.delete(JSON.stringify(request.id));
    }
  }

  /**
   * Whether a call is only a question, which ends with the process that asked
   * it.
   */
  isOwnCall(key: string): boolean {
    return this.#asked.isOwn(key);
  }

  /** Closes a question that Codex no longer asks (`serverRequest/resolved`). */
  withdraw({ requestId }: JsonObject): void {
    this.#open.get(JSON.stringify(requestId ?? null))?.abort();
  }

  async approveCommand(
    request: ServerRequest,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#approve(request, commandApproval(request.params), signal);
  }

  async approveChanges(
    request: ServerRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const { changes, diff } = this.#options.changesOf(
      stringOrEmpty(request.params.itemId),
    );
    await this.#approve(
      request,
      fileApproval(changes, diff, request.params),
      signal,
    );
  }

  async approvePermissions(
    { id, params }: ServerRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const approval = permissionsApproval(params);
    if (!approval) {
      await this.#leaveOut("asked for permissions");
      return this.#options.server.reply(id, NO_PERMISSIONS);
    }
    const key = await this.#asked.add(
      "permissions",
      "request_permissions",
      params,
    );
    const { server, calls, publish } = this.#options;
    const decision = await this.#decision.about(key, approval, signal);
    if (decision.case === "deny") {
      await publish(() => calls.deny(key, decision));
      return server.reply(id, NO_PERMISSIONS);
    }
    const { selectedOptionId } = await this.#asked.ask(key, approval, signal);
    await this.#asked.end(key, selectedOptionId);
    server.reply(id, approval.results.get(selectedOptionId) ?? NO_PERMISSIONS);
  }

  async askUser(
    { id, params }: ServerRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const answers: JsonObject = {};
    const { questions, isWhole } = inputQuestions(params);
    if (!isWhole) await this.#leaveOut("asked a question");
    for (const question of questions) {
      const key = await this.#asked.add("input", "request_user_input", params);
      const answer = await this.#asked.ask(key, question.approval, signal);
      await this.#asked.end(key, answer.selectedOptionId);
      answers[question.id] = inputAnswer(
        question,
        answer.selectedOptionId,
        this.#asked.textOf(answer),
      );
    }
    this.#options.server.reply(id, { answers });
  }

  async elicit(
    { id, params }: ServerRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const { server, calls } = this.#options;
    const asked = toolApproval(params);
    if (asked) return this.#approveTool({ id, params }, asked, signal);
    const approval = elicitationQuestion(params);
    if (!approval) {
      await this.#leaveOut("passed on a question of an MCP server");
      return server.reply(id, elicitationResult("decline", null));
    }
    // Codex does not say which call the question belongs to.
    const itemId = calls.findRunning(stringOrEmpty(params.serverName));
    const key = await this.#asked.add(
      "elicitation",
      "mcp_elicitation",
      params,
      { itemId },
    );
    const answer = await this.#asked.ask(key, approval, signal);
    await this.#asked.end(key, answer.selectedOptionId);
    server.reply(
      id,
      elicitationAnswer(
        approval,
        answer.selectedOptionId,
        this.#asked.textOf(answer),
      ),
    );
  }

  /** Asks whether an MCP tool may be called, unless a rule decides. */
  async #approveTool(
    { id, params }: Pick<ServerRequest, "id" | "params">,
    { approval, toolName, args }: ToolApproval,
    signal: AbortSignal,
  ): Promise<void> {
    const { server, calls, publish } = this.#options;
    const key = await this.#asked.add("elicitation", toolName, params, {
      args,
      itemId: calls.findRunning(stringOrEmpty(params.serverName)),
    });
    const decision = await this.#decision.about(key, approval, signal);
    let optionId = OPTION_PROCEED_ONCE;
    switch (decision.case) {
      case "allow":
        await publish(() => [
          ...calls.allow(key, decision),
          ...calls.end(key, ANSWERED),
        ]);
        break;
      case "deny":
        await publish(() => calls.deny(key, decision));
        optionId = OPTION_CANCEL;
        break;
      case "ask":
        ({ selectedOptionId: optionId } = await this.#asked.ask(
          key,
          approval,
          signal,
        ));
        await this.#asked.end(key, optionId);
        break;
      default:
        decision satisfies never;
    }
    server.reply(
      id,
      approval.results.get(optionId) ?? elicitationResult("cancel", null),
    );
  }

  async #leaveOut(what: string): Promise<void> {
    await this.#options.publish(() => this.#options.leaveOut(what));
  }

  async tellTime({ id }: ServerRequest): Promise<void> {
    this.#options.server.reply(id, {
      currentTimeAt: Math.floor(this.#options.now().getTime() / 1000),
    });
  }

  /**
   * Asks whether an item may go on, unless a rule decides, and answers the
   * request.
   */
  async #approve(
    { id, params }: ServerRequest,
    approval: CallApproval | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { server, calls, publish } = this.#options;
    if (!approval) {
      await this.#leaveOut("asked for an approval");
      return server.reply(id, { decision: "decline" });
    }
    if (approval.lacksAnswers) await this.#leaveOut("offered an answer");
    const itemId = stringOrEmpty(params.itemId);
    const known = this.#options.answered.takeAnswer(itemId, approval);
    const isOfItem =
      known !== undefined || (!params.approvalId && calls.mayAsk(itemId));
    const key = isOfItem
      ? itemId
      : await this.#asked.add("approval", "approval", params, { itemId });
    if (known) return this.#answer({ id, itemId, key }, approval, known);
    const decision = await this.#decision.about(key, approval, signal);
    switch (decision.case) {
      case "allow":
        await publish(() => [
          ...calls.allow(key, decision),
          ...(isOfItem ? calls.run(key) : calls.end(key, ANSWERED)),
        ]);
        return server.reply(
          id,
          approval.results.get(OPTION_PROCEED_ONCE) ?? { decision: "accept" },
        );
      case "deny":
        await publish(() => calls.deny(key, decision));
        return server.reply(id, { decision: "decline" });
      case "ask":
        return this.#answer(
          { id, itemId, key },
          approval,
          await this.#asked.ask(key, approval, signal),
        );
      default:
        return decision satisfies never;
    }
  }

  /** Gives Codex the user's answer. */
  async #answer(
    {
      id,
      itemId,
      key,
    }: {
      readonly id: ServerRequest["id"];
      readonly itemId: string;
      readonly key: string;
    },
    approval: Approval,
    answer: ToolCallConfirmation,
  ): Promise<void> {
    const { server, calls, publish } = this.#options;
    const { selectedOptionId } = answer;
    const changed =
      answer.modifiedDetails.case === "fileDetails"
        ? answer.modifiedDetails.value.newContent
        : undefined;
    if (
      selectedOptionId === OPTION_CANCEL ||
      selectedOptionId === OPTION_REJECT ||
      changed !== undefined
    ) {
      await publish(() => calls.end(key, CANCELLED));
    } else if (key === itemId) {
      await publish(() => calls.run(key));
    } else {
      await this.#asked.end(key, selectedOptionId);
    }
    if (changed === undefined) {
      server.reply(
        id,
        approval.results.get(selectedOptionId) ?? { decision: "cancel" },
      );
      const words = this.#asked.textOf(answer);
      if (words.trim() === "") return;
      // Codex takes nothing more in a turn that it ends.
      return selectedOptionId === OPTION_CANCEL
        ? this.#options.sayNext(words)
        : this.#options.steer(words);
    }
    server.reply(id, { decision: "decline" });
    const path = this.#options.changesOf(itemId).changes[0]?.path ?? "the file";
    await this.#options.steer(
      `I changed your proposal. Write exactly this content to ${path}:\n\n${changed}`,
    );
  }
}

const HANDLERS: ReadonlyMap<string, Handler> = new Map([
  ["item/commandExecution/requestApproval", "approveCommand"],
  ["item/fileChange/requestApproval", "approveChanges"],
  ["item/permissions/requestApproval", "approvePermissions"],
  ["item/tool/requestUserInput", "askUser"],
  ["mcpServer/elicitation/request", "elicit"],
  ["currentTime/read", "tellTime"],
]);

/** The requests of the app-server that are answered. The others are refused. */
export const CARRIED_REQUESTS: readonly string[] = [...HANDLERS.keys()];
