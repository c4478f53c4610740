import type { AskedToolCall } from "@devtool/client";
import { type TaskActions, useApproval } from "@devtool/react";
import { OPTION_CANCEL, OPTION_MODIFY_WITH_EDITOR } from "@devtool/schema";
import { type ReactNode, useState } from "react";
import { ArgumentsEditor } from "./arguments-editor.tsx";
import { DiffView } from "./diff-view.tsx";
import { words } from "./words.ts";

export interface ApprovalProps {
  readonly question: AskedToolCall;
  readonly answer: TaskActions["answer"];
}

/** A question of the agent, with all that it is about, and its answers. What would be written to a file can be changed here. */
export function Approval({ question, answer }: ApprovalProps): ReactNode {
  const approval = useApproval(question, answer);
  const { options, canEdit, canChangeArguments, content, isEdited, isAnswering, edit, choose } = approval;
  const [isEditing, setEditing] = useState(false);
  const [reason, setReason] = useState("");
  // The content is edited here, so there is no need to be shown it again.
  const offered = canEdit ? options.filter(({ id }) => id !== OPTION_MODIFY_WITH_EDITOR) : options;
  const title = question.description || question.toolName;
  return (
    <section className="approval" aria-label={title}>
      <p className="approval-kind">{words.asksLeave}</p>
      <h2>{title}</h2>
      {isEditing && canEdit ? (
        <textarea
          className="code"
          aria-label={words.editContent}
          value={content}
          spellCheck={false}
          onChange={({ currentTarget }) => edit(currentTarget.value)}
        />
      ) : (
        <Subject question={question} content={content} />
      )}
      {isEditing && !canEdit && (
        <ArgumentsEditor
          initial={question.inputParameters ?? {}}
          isDisabled={isAnswering}
          onChange={(args) => void approval.changeArguments(args).then((isSent) => setEditing(!isSent))}
        />
      )}
      {(canEdit || canChangeArguments) && (
        <button type="button" aria-pressed={isEditing} onClick={() => setEditing(!isEditing)}>
          {words.edit}
        </button>
      )}
      <label className="reason">
        {words.reason}
        <input value={reason} onChange={({ currentTarget }) => setReason(currentTarget.value)} />
      </label>
      <div className="options">
        {offered.map(({ id, name }, index) => (
          <button
            key={id}
            type="button"
            className={id === OPTION_CANCEL ? "decline" : index === 0 ? "primary" : undefined}
            disabled={isAnswering}
            onClick={() => void choose(id, reason)}
          >
            {words.options[id] ?? name}
            {isEdited && id !== OPTION_CANCEL && ` (${words.edited})`}
          </button>
        ))}
      </div>
    </section>
  );
}

interface SubjectProps {
  readonly question: AskedToolCall;
  /** What would be written to the file, with the user's changes. */
  readonly content: string;
}

/** What the question is about. */
function Subject({ question: { confirmationRequest, inputParameters }, content }: SubjectProps): ReactNode {
  const { details } = confirmationRequest ?? {};
  switch (details?.case) {
    case "executeDetails":
      return (
        <>
          <pre className="command">{details.value.command}</pre>
          {details.value.workingDirectory && <p className="facts">{details.value.workingDirectory}</p>}
        </>
      );
    case "fileEditDetails":
      return <DiffView diff={{ ...details.value, newContent: content }} />;
    case "mcpDetails":
      return (
        <>
          <p className="facts">
            {details.value.serverName} · {details.value.toolName}
          </p>
          <pre className="output">{JSON.stringify(inputParameters, null, 2)}</pre>
        </>
      );
    case "genericDetails":
      return <p className="prompt">{details.value.description}</p>;
    case undefined:
      return null;
    default:
      return details satisfies never;
  }
}
