import type { JsonObject } from "@bufbuild/protobuf";
import type { AskedToolCall } from "@devtool/client";
import { visibleText } from "@devtool/internal/visible-text";
import { type TaskActions, useApproval } from "@devtool/react";
import { OPTION_MODIFY_WITH_EDITOR } from "@devtool/schema";
import { type ReactNode, useId, useRef, useState } from "react";
import { AnswerNotes, Answers } from "./answers.tsx";
import { ArgumentsEditor } from "./arguments-editor.tsx";
import { DiffView } from "./diff-view.tsx";
import { scrollingAround, useFocusHeir } from "./focus.ts";
import { useSeen } from "./use-seen.ts";
import { words } from "./words.ts";

export interface ApprovalProps {
  readonly question: AskedToolCall;
  /**
   * Whether the question has been in its place for a moment, so that an answer
   * is meant for it.
   */
  readonly isSettled: boolean;
  readonly answer: TaskActions["answer"];
}

/**
 * A question of the agent, with all that it is about, and its answers. What
 * would be written to a file can be changed here.
 *
 * The answers stay in view, except on small screens. Those that allow something
 * count once the end of all that they are for has been in view, too.
 */
export function Approval({
  question,
  isSettled,
  answer,
}: ApprovalProps): ReactNode {
  const approval = useApproval(question, answer);
  const { canEdit, content, isAnswering, edit, changeArguments } = approval;
  const [isEditing, setEditing] = useState(false);
  const section = useFocusHeir(scrollingAround);
  const title = visibleText(question.description || question.toolName);
  return (
    <section ref={section} className="approval" aria-label={title}>
      <p className="approval-kind">{words.asksPermission}</p>
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
          onChange={(args) =>
            void changeArguments(args).then((isSent) => setEditing(!isSent))
          }
        />
      )}
      <AnswerBar
        approval={approval}
        isSettled={isSettled}
        isEditing={isEditing}
        onEdit={() => setEditing(!isEditing)}
      />
    </section>
  );
}

interface AnswerBarProps {
  readonly approval: ReturnType<typeof useApproval>;
  readonly isSettled: boolean;
  readonly isEditing: boolean;
  readonly onEdit: () => void;
}

/** The answers to a question, with what they do and a reason for them. */
function AnswerBar({
  approval,
  isSettled,
  isEditing,
  onEdit,
}: AnswerBarProps): ReactNode {
  const {
    options,
    canEdit,
    canChangeArguments,
    isEdited,
    isAnswering,
    choose,
  } = approval;
  const [reason, setReason] = useState<string>();
  const end = useRef<HTMLSpanElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const isSeen = useSeen(end, bar);
  const notes = useId();
  // The content is edited here, so there is no need to be shown it again.
  const offered = canEdit
    ? options.filter(({ id }) => id !== OPTION_MODIFY_WITH_EDITOR)
    : options;
  return (
    <>
      <AnswerNotes id={notes} options={offered} />
      <span ref={end} />
      <div ref={bar} className="answer-bar">
        <p className="facts" hidden={isSeen !== false}>
          {words.seeAll}
        </p>
        {reason !== undefined && (
          <label className="reason">
            {words.reason}
            <input
              value={reason}
              onChange={({ currentTarget }) => setReason(currentTarget.value)}
            />
          </label>
        )}
        <Answers
          notes={notes}
          options={offered}
          mayDecline={isSettled && !isAnswering}
          mayAllow={isSettled && !isAnswering && isSeen === true}
          isEdited={isEdited}
          onChoose={(id) => void choose(id, reason)}
        >
          {(canEdit || canChangeArguments) && (
            <button type="button" aria-pressed={isEditing} onClick={onEdit}>
              {words.edit}
            </button>
          )}
          <button
            type="button"
            aria-expanded={reason !== undefined}
            onClick={() => setReason(reason === undefined ? "" : undefined)}
          >
            {words.addReason}
          </button>
        </Answers>
      </div>
    </>
  );
}

interface SubjectProps {
  readonly question: AskedToolCall;
  /** What would be written to the file, with the user's changes. */
  readonly content: string;
}

/**
 * All that the question is about, with the characters visible that could hide
 * some of it.
 */
function Subject({
  question: { confirmationRequest, inputParameters },
  content,
}: SubjectProps): ReactNode {
  const { details } = confirmationRequest ?? {};
  switch (details?.case) {
    case "executeDetails":
      return (
        <>
          <pre className="command">{visibleText(details.value.command)}</pre>
          {details.value.workingDirectory && (
            <p className="facts">
              {visibleText(details.value.workingDirectory)}
            </p>
          )}
        </>
      );
    case "fileEditDetails":
      return <DiffView diff={{ ...details.value, newContent: content }} />;
    case "mcpDetails":
      return (
        <>
          <p className="facts">
            {visibleText(details.value.serverName)} ·{" "}
            {visibleText(details.value.toolName)}
          </p>
          <Arguments args={inputParameters} />
        </>
      );
    case "genericDetails":
      return (
        <>
          <p className="prompt">{visibleText(details.value.description)}</p>
          <Arguments args={inputParameters} />
        </>
      );
    case undefined:
      return <Arguments args={inputParameters} />;
    default:
      return details satisfies never;
  }
}

function Arguments({
  args = {},
}: {
  readonly args: JsonObject | undefined;
}): ReactNode {
  if (Object.keys(args).length === 0) return null;
  return (
    <pre className="output">{visibleText(JSON.stringify(args, null, 2))}</pre>
  );
}
