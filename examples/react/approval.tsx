import type { AskedToolCall } from "@devtool/client";
import { type TaskActions, useApproval } from "@devtool/react";
import type { ReactNode } from "react";

export interface ApprovalProps {
  readonly question: AskedToolCall;
  readonly answer: TaskActions["answer"];
}

/**
 * A question with its options. What would be written to a file can be changed
 * first.
 */
export function Approval({ question, answer }: ApprovalProps): ReactNode {
  const { options, canEdit, content, isEdited, isAnswering, edit, choose } =
    useApproval(question, answer);
  return (
    <fieldset disabled={isAnswering}>
      <legend>{question.description || question.toolName}</legend>
      {canEdit && (
        <textarea
          aria-label="Content"
          value={content}
          onChange={({ currentTarget }) => edit(currentTarget.value)}
        />
      )}
      {options.map(({ id, name }) => (
        <button
          key={id}
          type="button"
          value={id}
          onClick={() => void choose(id)}
        >
          {name}
          {isEdited && id !== "cancel" && " (changed)"}
        </button>
      ))}
    </fieldset>
  );
}
