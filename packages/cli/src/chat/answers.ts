import type { AnswerChanges, AskedToolCall } from "@devtool/client";
import { isQuestionOfCall, type Part } from "@devtool/schema";
import type { Approver } from "../approval.ts";
import type { Choice } from "../choice.ts";
import { type LineStyle, visible } from "../render/style.ts";
import type { ChatTasks } from "./chat-tasks.ts";
import { wrapLine } from "./entry.ts";
import { menuLines } from "./question.ts";

/** The ways to answer questions. */
export interface AnswerMeans {
  /** Answers questions without the user; undefined to ask. */
  readonly approve: Approver | undefined;
  /** Opens a text in the user's editor, which gets the terminal. */
  readonly edit: (text: string, name: string) => Promise<string>;
  /**
   * Opens the arguments of a call in the editor, and returns the answer with
   * the arguments that the user wrote.
   */
  readonly editArguments: (call: AskedToolCall) => Promise<Part>;
  /** Returns how lines are made for the terminal as it is now. */
  readonly style: () => LineStyle;
}

/** A question as it was shown. */
export interface DrawnQuestion {
  readonly call: AskedToolCall;
  readonly lines: readonly string[];
}

/** Dependencies of `Answers`. */
interface AnswersOptions {
  readonly tasks: ChatTasks;
  readonly means: AnswerMeans;
  /** Prints lines. */
  readonly onLines: (lines: readonly string[]) => void;
  /**
   * Called with the reason why an answer was not accepted, `AbandonedTurn`
   * included. The question is asked again.
   */
  readonly onProblem: (reason: unknown) => void;
}

/**
 * Sends the user's answers to the agent, and prints each question with its
 * answer.
 */
export class Answers {
  readonly #options: AnswersOptions;

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /** Answers with an option of the call. */
  async give(
    { call, lines }: DrawnQuestion,
    choice: Choice,
    changes: AnswerChanges,
  ): Promise<void> {
    this.#print(lines, choice, changes.text);
    await this.#send(() =>
      this.#options.tasks.answer(call.toolCallId, choice.id, changes),
    );
  }

  /** Answers a question in place of the user, if the command line says so. */
  async automatic(call: AskedToolCall): Promise<void> {
    const { tasks, means } = this.#options;
    const isQuestion = isQuestionOfCall(tasks.current.task, call.toolCallId);
    const parts = await means.approve?.(
      { call, isQuestion },
      new AbortController().signal,
    );
    if (parts) await this.#send(() => tasks.answerWith(parts));
  }

  /**
   * Lets the user edit the proposed file or the arguments, and answers with the
   * result.
   */
  async edit(question: DrawnQuestion, choice: Choice): Promise<void> {
    const { call, lines } = question;
    const { tasks, means, onProblem } = this.#options;
    const details = call.confirmationRequest?.details;
    const proposed =
      details?.case === "fileEditDetails" ? details.value : undefined;
    let answer: AnswerChanges | Part;
    try {
      answer =
        choice.edits === "arguments"
          ? await means.editArguments(call)
          : {
              newContent: await means.edit(
                proposed?.newContent ?? "",
                proposed?.fileName ?? "file",
              ),
            };
    } catch (reason) {
      onProblem(reason);
      return;
    }
    if (!("content" in answer)) return this.give(question, choice, answer);
    const part = answer;
    this.#print(lines, choice, undefined);
    await this.#send(() => tasks.answerWith([part]));
  }

  /** Prints the question with its answer. */
  #print(
    asked: readonly string[],
    choice: Choice,
    text: string | undefined,
  ): void {
    const style = this.#options.means.style();
    const said =
      text === undefined
        ? []
        : wrapLine(
            `  ${style.paint("dim", "in words:")} ${visible(text)}`,
            style.columns,
          );
    const lines = choice.key === "" ? [] : menuLines([choice], style);
    this.#options.onLines([...asked, ...lines, ...said]);
  }

  async #send(send: () => Promise<void>): Promise<void> {
    try {
      await send();
    } catch (reason) {
      this.#options.onProblem(reason);
    }
  }
}
