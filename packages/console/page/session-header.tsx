import { visibleText } from "@devtool/internal/visible-text";
import type { TaskHandle } from "@devtool/react";
import {
  type ApprovalMode,
  isTerminal,
  type ListedAgent,
  type Task,
} from "@devtool/schema";
import { type ReactNode, type Ref, useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { ConsoleClient } from "./console-client.ts";
import { DeleteSession } from "./delete-session.tsx";
import { mainAround, useFocusHeir } from "./focus.ts";
import { SESSION_PARTS, type SessionPart, sessionAddress } from "./place.ts";
import { ModeChooser } from "./session-choosers.tsx";
import { State } from "./state.tsx";
import { countText, fillText, words } from "./words.ts";

interface SessionHeaderProps {
  readonly client: ConsoleClient;
  readonly task: TaskHandle;
  /** What the session is called, also while it has no title. */
  readonly title: string;
  readonly view: SessionPart;
  /** What the server says of the agent; undefined while that is not known. */
  readonly about: ListedAgent | undefined;
  /** The approval mode that is wanted for the next message. */
  readonly mode: ApprovalMode;
  readonly onMode: (mode: ApprovalMode) => void;
  /** Called with its id when it was deleted. */
  readonly onDelete: (taskId: string) => void;
}

/**
 * The title of a session, its state, and what can be done with it as a whole.
 */
export function SessionHeader({
  client,
  task: { task, cancel, rename },
  title,
  view,
  about,
  mode,
  onMode,
  onDelete,
}: SessionHeaderProps): ReactNode {
  const [isRenaming, setRenaming] = useState(false);
  const { id, state } = task;
  const renameButton = useRef<HTMLButtonElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const close = (): void => {
    const hasFocus = form.current?.contains(document.activeElement);
    flushSync(() => setRenaming(false));
    if (hasFocus) renameButton.current?.focus();
  };
  const save = async (data: FormData): Promise<void> => {
    if (await rename(String(data.get("title")))) close();
  };
  return (
    <header className="session-header">
      <a className="back" href="#/">
        ← {words.back}
      </a>
      {isRenaming && <h1 className="away">{title}</h1>}
      {isRenaming ? (
        <RenameForm
          form={form}
          title={task.title}
          onSave={save}
          onClose={close}
        />
      ) : (
        <h1>{title}</h1>
      )}
      {id !== "" && (
        <div className="session-about">
          <State state={state} />
          <Facts task={task} />
          <ModeChooser
            about={about}
            mode={mode}
            limit={task.approvalLimit}
            onChange={onMode}
          />
          {!isRenaming && (
            <button
              ref={renameButton}
              type="button"
              onClick={() => setRenaming(true)}
            >
              {words.rename}
            </button>
          )}
          {isTerminal(state) ? (
            <DeleteSession
              client={client}
              taskId={id}
              onDelete={() => onDelete(id)}
            />
          ) : (
            <StopButton onStop={() => void cancel()} />
          )}
          <PartLinks id={id} view={view} />
        </div>
      )}
    </header>
  );
}

interface RenameFormProps {
  readonly form: Ref<HTMLFormElement>;
  /** The title that the session has. */
  readonly title: string;
  readonly onSave: (data: FormData) => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for another title. Escape discards it. */
function RenameForm({
  form,
  title,
  onSave,
  onClose,
}: RenameFormProps): ReactNode {
  return (
    <form
      ref={form}
      className="rename"
      action={onSave}
      onKeyDown={({ key }) => key === "Escape" && onClose()}
    >
      <input
        ref={focusOn}
        name="title"
        aria-label={words.title}
        defaultValue={title}
        maxLength={80}
        required
      />
      <button type="submit">{words.save}</button>
      <button type="button" onClick={onClose}>
        {words.discard}
      </button>
    </form>
  );
}

interface PartLinksProps {
  readonly id: string;
  readonly view: SessionPart;
}

/** Links to the parts of a session, of which one is shown. */
function PartLinks({ id, view }: PartLinksProps): ReactNode {
  return (
    <span className="parts">
      {SESSION_PARTS.map((part) => (
        <a
          key={part}
          href={sessionAddress(id, part)}
          aria-current={part === view ? "page" : undefined}
        >
          {words[part]}
        </a>
      ))}
    </span>
  );
}

/**
 * The agent, its model, where it works, the editor that it was told of last, and
 * how many tokens it has used.
 */
function Facts({ task }: { readonly task: Task }): ReactNode {
  const { model, usage, settings, sessionSettings, ideContext } = task;
  const tokens = (usage?.inputTokens ?? 0n) + (usage?.outputTokens ?? 0n);
  const facts = [
    sessionSettings?.agent,
    model,
    settings?.workspacePath,
    ideContext?.editor && fillText(words.editor, ideContext.editor),
    tokens > 0n && countText(words.tokens, tokens),
  ];
  return (
    <span className="facts">
      {visibleText(facts.filter(Boolean).join(" · "))}
    </span>
  );
}

function StopButton({ onStop }: { readonly onStop: () => void }): ReactNode {
  const button = useFocusHeir<HTMLButtonElement>(mainAround);
  return (
    <button ref={button} type="button" onClick={onStop}>
      {words.stop}
    </button>
  );
}

function focusOn(field: HTMLInputElement | null): void {
  field?.select();
}
