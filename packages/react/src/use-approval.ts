import type { JsonObject } from "@bufbuild/protobuf";
import type { AnswerChanges, AskedToolCall } from "@devtool/client";
import {
  type ConfirmationOption,
  OPTION_MODIFY_ARGUMENTS,
} from "@devtool/schema";
import { useState } from "react";
import type { TaskActions } from "./use-task.ts";

/**
 * A question about a tool call, and the answer to it as far as the user has
 * made it.
 */
export interface ApprovalHandle {
  /**
   * The options to choose from, in the order in which to show them.
   */
  readonly options: readonly ConfirmationOption[];
  /**
   * Whether the user can change what the call writes to a file.
   */
  readonly canEdit: boolean;
  /**
   * What the call would write to the file, with the user's changes. Empty if it
   * writes none.
   */
  readonly content: string;
  /**
   * Whether `content` differs from what the call proposes.
   */
  readonly isEdited: boolean;
  /**
   * Whether an answer is on its way. No other is sent meanwhile.
   */
  readonly isAnswering: boolean;
  /**
   * Replaces `content`. For calls with `canEdit` alone: others do not take it.
   */
  readonly edit: (content: string) => void;
  /**
   * Whether the user can change the arguments of the call.
   */
  readonly canChangeArguments: boolean;
  /**
   * Replaces all arguments of the call, which then asks again. Resolves as
   * `choose` does.
   */
  readonly changeArguments: (args: JsonObject) => Promise<boolean>;
  /**
   * Answers with one of `options` by its id, with the changed content, and with
   * words to the agent, such as why a call is declined. Resolves as `answer`
   * does; to false, without an effect, while an answer is on its way.
   */
  readonly choose: (optionId: string, text?: string) => Promise<boolean>;
}

/**
 * Holds the answer to a question. When the call asks something else, the
 * changes are dropped: they were made for the other question.
 *
 * ```tsx
 * const { options, content, edit, choose } = useApproval(question, answer);
 * ```
 *
 * @param call one of `questions` of `useTask`
 * @param answer `answer` of `useTask`
 */
export function useApproval(
  call: AskedToolCall,
  answer: TaskActions["answer"],
): ApprovalHandle {
  const [draft, setDraft] = useState<Draft>({
    call,
    edited: undefined,
    isAnswering: false,
  });
  const { edited, isAnswering } =
    draft.call === call ? draft : { edited: undefined, isAnswering: false };
  const details = call.confirmationRequest?.details;
  const proposed =
    details?.case === "fileEditDetails" ? details.value.newContent : undefined;
  const content = edited ?? proposed ?? "";
  const isEdited = proposed !== undefined && content !== proposed;
  const send = async (
    optionId: string,
    changes: AnswerChanges,
  ): Promise<boolean> => {
    if (isAnswering) return false;
    setDraft({ call, edited, isAnswering: true });
    const succeeded = await answer(call.toolCallId, optionId, changes);
    setDraft((now) =>
      now.call === call ? { ...now, isAnswering: false } : now,
    );
    return succeeded;
  };
  return {
    options: call.confirmationRequest?.options ?? [],
    canEdit: proposed !== undefined,
    content,
    isEdited,
    isAnswering,
    edit: (text) => setDraft({ call, edited: text, isAnswering }),
    canChangeArguments: call.argumentsEditable === true,
    changeArguments: (modifiedArguments) =>
      send(OPTION_MODIFY_ARGUMENTS, { modifiedArguments }),
    choose: (optionId, text = "") =>
      send(optionId, { text, ...(isEdited && { newContent: content }) }),
  };
}

interface Draft {
  readonly call: AskedToolCall;
  readonly edited: string | undefined;
  readonly isAnswering: boolean;
}
