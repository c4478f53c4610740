import type { TaskActions } from "@devtool/react";
import { type KeyboardEvent, type ReactNode, useId } from "react";
import {
  type Attached,
  type Attachment,
  Attachments,
  readAttachments,
} from "./attachments.tsx";
import { CommandOptions, useCommandList } from "./command-list.tsx";
import type { ConsoleClient } from "./console-client.ts";
import { type Draft, EMPTY_DRAFT, useDraft } from "./drafts.ts";
import type { NewSessionChoice } from "./new-session-fields.tsx";
import { sessionAddress } from "./place.ts";
import { isCommandLine, messageFor, runCommand } from "./sending.ts";
import type { ForkStart } from "./use-fork.ts";
import { useIsShown } from "./use-is-shown.ts";
import { words } from "./words.ts";

interface ComposerProps {
  readonly client: ConsoleClient;
  /**
   * The key of the session, which stays the same when a new session gets its
   * id.
   */
  readonly sessionKey: string;
  readonly contextId: string;
  /** Whether the agent works, so that a message waits in its queue. */
  readonly isWorking: boolean;
  readonly send: TaskActions["send"];
  /** What a first message starts the session with. */
  readonly session: NewSessionChoice;
  /** Whether it is known what a message begins. */
  readonly isReady: boolean;
  /** The session with which the first message goes on. Default: none. */
  readonly fork?: ForkStart;
}

/**
 * Where the next message is written: text, slash commands with completion,
 * images.
 */
export function Composer(props: ComposerProps): ReactNode {
  const { text, images, setText, addAttached, removeImage, problem, submit } =
    useWriting(props);
  const list = useId();
  const commands = useCommandList(props, text, setText);
  const attach = (files: Iterable<File>): void => {
    void readAttachments(files).then(addAttached);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    if (!commands.takeKey(event)) {
      // On touch screens, Enter begins a new line, and the button sends.
      const isTouch = matchMedia("(pointer: coarse)").matches;
      if (event.key !== "Enter" || event.shiftKey || isTouch) return;
      void submit();
    }
    event.preventDefault();
  };
  return (
    <form
      className="composer"
      // Not as its action: the text would stay until the agent has answered, as
      // all changes of an action wait for its end.
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {problem && <p role="alert">{problem}</p>}
      <CommandOptions list={list} {...commands} />
      <Attachments images={images} onRemove={removeImage} />
      <textarea
        value={text}
        rows={1}
        aria-label={words.message}
        placeholder={words.messageHint}
        aria-controls={commands.isListed ? list : undefined}
        aria-activedescendant={
          commands.isListed ? `${list}-${commands.chosen}` : undefined
        }
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          commands.choose(0);
        }}
        onKeyDown={onKeyDown}
        onPaste={({ clipboardData }) => attach(clipboardData.files)}
        onDrop={(event) => {
          if (event.dataTransfer.files.length === 0) return;
          event.preventDefault();
          attach(event.dataTransfer.files);
        }}
      />
      <ImageChooser onChoose={attach} />
      <button type="submit" className="primary" disabled={!props.isReady}>
        {props.isWorking ? words.queueIt : words.send}
      </button>
    </form>
  );
}

/** A message that is written, and what it takes to send it. */
interface Writing extends Draft {
  readonly setText: (text: string) => void;
  readonly addAttached: (more: Attached) => void;
  readonly removeImage: (gone: Attachment) => void;
  /** Sends the message, or runs it if it is a slash command. */
  readonly submit: () => Promise<void>;
}

function useWriting({
  client,
  sessionKey,
  contextId,
  send,
  session,
  isReady,
  fork,
}: ComposerProps): Writing {
  const [draft, setDraft] = useDraft(sessionKey);
  const isShown = useIsShown();
  const { text, images, problem } = draft;
  const setProblem = (problem: string): void =>
    setDraft((now) => ({ ...now, problem }));
  const submit = async (): Promise<void> => {
    if (!isReady || (text.trim() === "" && images.length === 0)) return;
    if (isCommandLine(text) && images.length > 0) {
      setProblem(
        `${words.noCommandImages} ${images.map(({ name }) => name).join(", ")}`,
      );
      return;
    }
    setDraft(() => EMPTY_DRAFT);
    // A refused message comes back, before one that was begun meanwhile.
    const restore = (problem: string): void =>
      setDraft((now) => ({
        text: [text, now.text].filter((part) => part !== "").join("\n"),
        images: [...images, ...now.images],
        problem,
      }));
    if (isCommandLine(text)) {
      const ran = await runCommand(client, text, contextId, session);
      if (ran.taskId === "") {
        restore(ran.message);
      } else if (isShown.current) {
        location.hash = sessionAddress(ran.taskId);
      }
      return;
    }
    const isSent = await send(messageFor(text, images, session, fork));
    // While the session is shown, it says itself why.
    if (!isSent) restore(isShown.current ? "" : words.notSent);
  };
  return {
    text,
    images,
    setText: (text) => setDraft((now) => ({ ...now, text })),
    addAttached: ({ images: more, others }) => {
      setProblem(
        others.length === 0 ? "" : `${words.onlyImages} ${others.join(", ")}`,
      );
      setDraft((now) => ({ ...now, images: [...now.images, ...more] }));
    },
    removeImage: (gone) =>
      setDraft((now) => ({
        ...now,
        images: now.images.filter((image) => image !== gone),
      })),
    problem,
    submit,
  };
}

function ImageChooser({
  onChoose,
}: {
  readonly onChoose: (files: Iterable<File>) => void;
}): ReactNode {
  return (
    <label className="attach">
      <span aria-hidden="true">+</span>
      <input
        type="file"
        accept="image/*"
        multiple
        aria-label={words.attach}
        onChange={({ currentTarget }) => onChoose(currentTarget.files ?? [])}
      />
    </label>
  );
}
