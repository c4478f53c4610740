import { basename } from "node:path";
import {
  type AskedToolCall,
  confirmationPart,
  streamMessage,
} from "@devtool/client";
import { oneLine, visibleText } from "@devtool/internal/visible-text";
import {
  declineOf,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ONCE,
  Role,
  reachOfAnswer,
} from "@devtool/schema";
import * as vscode from "vscode";
import type {
  Decision,
  Review,
  ReviewRequest,
  Reviews,
} from "../review/reviews.ts";
import { keyOf, type Question, textOf, titleOf } from "./question.ts";

/** How others see who answered. */
const CLIENT_LABEL = "VS Code";

const MAX_PATH_LENGTH = 100;

/**
 * The views of questions. An answer is for the question that its view shows: the
 * server refuses it when the call asks something else by then.
 */
export class QuestionViews implements vscode.Disposable {
  readonly #reviews: Reviews;
  readonly #open = new Map<string, Review>();
  /** The keys of questions whose answers are on their way. */
  readonly #answering = new Set<string>();
  readonly #ended = new AbortController();

  constructor(reviews: Reviews) {
    this.#reviews = reviews;
  }

  /** Shows a question, once. */
  async open(question: Question): Promise<void> {
    const key = keyOf(question);
    if (this.#open.has(key)) return;
    const request = {
      ...shownOf(question),
      decide: (decision: Decision, review: Review) =>
        this.#decide(question, decision, review).catch(showProblem),
    };
    this.#open.set(key, await this.#reviews.show(request, this.#ended.signal));
  }

  /** Closes the views of questions that are not asked any more. */
  async keepOnly(asked: ReadonlySet<string>): Promise<void> {
    for (const [key, review] of this.#open) {
      if (asked.has(key)) continue;
      this.#open.delete(key);
      await review.close();
    }
  }

  dispose(): void {
    this.#ended.abort();
  }

  async #decide(
    question: Question,
    decision: Decision,
    review: Review,
  ): Promise<void> {
    const key = keyOf(question);
    if (decision === "close") {
      this.#open.delete(key);
      return;
    }
    if (this.#answering.has(key)) return;
    this.#answering.add(key);
    try {
      const optionId = await optionOf(question.call, decision);
      if (optionId === undefined) return;
      await this.#send(question, optionId, review.content());
      this.#open.delete(key);
      await review.close();
    } finally {
      this.#answering.delete(key);
    }
  }

  /** Resolves when the server has the answer. */
  async #send(
    { client, taskId, call }: Question,
    optionId: string,
    content: string,
  ): Promise<void> {
    const details = call.confirmationRequest?.details;
    const isChanged =
      details?.case === "fileEditDetails" &&
      details.value.newContent !== content &&
      reachOfAnswer(optionId) !== "decline";
    const part = isChanged
      ? confirmationPart(call, optionId, content)
      : confirmationPart(call, optionId);
    const request = {
      taskId,
      message: {
        messageId: crypto.randomUUID(),
        role: Role.USER,
        parts: [part],
      },
      messageSettings: { clientLabel: CLIENT_LABEL },
    };
    await vscode.window.withProgress(
      { location: { viewId: "devtool.sessions" } },
      async () => {
        for await (const _ of streamMessage(
          client,
          request,
          this.#ended.signal,
        )) {
          // It has the answer, and goes on by itself.
          break;
        }
      },
    );
  }
}

function shownOf(question: Question): Omit<ReviewRequest, "decide"> {
  const details = question.call.confirmationRequest?.details;
  if (details?.case !== "fileEditDetails") {
    return {
      kind: "devtool-question",
      path: "/question.txt",
      title: titleOf(question),
      original: undefined,
      text: textOf(question),
    };
  }
  const { filePath, fileName, oldContent = "", newContent } = details.value;
  const path = filePath || fileName;
  return {
    kind: "devtool-question",
    path: `/${basename(path)}`,
    title: `${oneLine(path, MAX_PATH_LENGTH)}: proposed change`,
    original: oldContent,
    text: newContent,
  };
}

/** The option that a decision chooses; undefined when the user chooses none. */
async function optionOf(
  call: AskedToolCall,
  decision: Exclude<Decision, "close">,
): Promise<string | undefined> {
  const options = call.confirmationRequest?.options ?? [];
  if (decision === "reject") return declineOf(call);
  const once = options.find(({ id }) => id === OPTION_PROCEED_ONCE);
  if (decision === "accept" && once) return once.id;
  const chosen = await vscode.window.showQuickPick(
    options
      // The view is an editor.
      .filter(({ id }) => id !== OPTION_MODIFY_WITH_EDITOR)
      .map(({ id, name, description = "" }) => ({
        id,
        label: oneLine(name || id),
        detail: visibleText(description),
      })),
    { title: oneLine(call.description || call.toolName), ignoreFocusOut: true },
  );
  return chosen?.id;
}

function showProblem(reason: unknown): void {
  const text = reason instanceof Error ? reason.message : String(reason);
  void vscode.window.showErrorMessage(`devtool: ${text}`);
}
