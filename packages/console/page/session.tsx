import { useAgents, useTask } from "@devtool/react";
import { ApprovalMode, isTerminal } from "@devtool/schema";
import { type ReactNode, useEffect, useState } from "react";
import { Composer } from "./composer.tsx";
import { CLIENT_LABEL, type ConsoleClient } from "./console-client.ts";
import { Conversation } from "./conversation.tsx";
import {
  aboutAgent,
  NewSessionFields,
  NO_CHOICE,
} from "./new-session-fields.tsx";
import {
  type ForkPlace,
  replacePlace,
  type SessionPart,
  sessionAddress,
} from "./place.ts";
import { problemText } from "./problem-text.ts";
import { isFollowed } from "./session-choosers.tsx";
import { SessionDetails } from "./session-details.tsx";
import { SessionHeader } from "./session-header.tsx";
import { useFork } from "./use-fork.ts";
import { words } from "./words.ts";

export interface SessionProps {
  readonly client: ConsoleClient;
  /** Its key, which stays the same when a new session gets its id. */
  readonly sessionKey: string;
  /** Default: a new session. */
  readonly taskId?: string;
  readonly view: SessionPart;
  /** The message before which a new session goes on. Default: none. */
  readonly fork?: ForkPlace;
  /** Called with the id of the session that the first message has started. */
  readonly onStart: (taskId: string) => void;
  /** Called with its id when this page has deleted it. */
  readonly onDelete: (taskId: string) => void;
}

/**
 * A session: what was said and done, what waits for an answer, and where the
 * next message is written.
 */
export function Session({
  client,
  sessionKey,
  taskId,
  view,
  fork,
  onStart,
  onDelete,
}: SessionProps): ReactNode {
  const [choice, choose] = useState(NO_CHOICE);
  const forkStart = useFork(client, sessionKey, fork);
  const offered = useAgents(client);
  const task = useTask(client, {
    clientLabel: CLIENT_LABEL,
    startWith: "task",
    ...(taskId !== undefined && { taskId }),
  });
  const { id, sessionSettings } = task.task;
  const current = sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED;
  // What the session has by now is not asked for again: another client may
  // change it meanwhile.
  useEffect(() => {
    choose((now) =>
      now.mode === current ? { ...now, mode: ApprovalMode.UNSPECIFIED } : now,
    );
  }, [current]);
  const isNew = taskId === undefined;
  // The session that was just started gets its own address.
  useEffect(() => {
    if (!isNew || id === "") return;
    onStart(id);
    replacePlace(sessionAddress(id));
  }, [isNew, id, onStart]);
  const isSending = task.unsent.length > 0;
  const isEmpty = id === "" && isNew && !isSending;
  const isFork = id === "" && isNew && fork !== undefined;
  // A session that is loading, or does not exist, is no new one.
  const title = task.task.title || (isNew ? words.newSession : words.untitled);
  const problem = task.failure ?? task.error;
  const about = aboutAgent(offered.agents, sessionSettings?.agent ?? "");
  return (
    <section
      className={isEmpty ? "session empty" : "session"}
      aria-label={title}
    >
      <SessionHeader
        client={client}
        task={task}
        title={title}
        view={view}
        about={about}
        mode={choice.mode || current}
        onMode={(mode) => choose({ ...choice, mode })}
        onDelete={onDelete}
      />
      {id !== "" && view !== "conversation" && (
        <SessionDetails client={client} task={task.task} view={view} />
      )}
      {view === "conversation" && !isEmpty && (
        <Conversation
          client={client}
          task={task}
          canFork={isFollowed(about, "fork_before_message")}
        />
      )}
      <footer>
        {problem && <p role="alert">{problemText(problem)}</p>}
        {task.lost && <p role="status">{words.lost}</p>}
        {isEmpty && fork && <p>{words.forked}</p>}
        {isEmpty && !fork && (
          <NewSessionFields
            client={client}
            offered={offered}
            choice={choice}
            onChange={choose}
          />
        )}
        <Composer
          client={client}
          sessionKey={sessionKey}
          contextId={task.task.contextId}
          isWorking={
            id !== "" &&
            !isTerminal(task.task.state) &&
            task.questions.length === 0
          }
          send={task.send}
          session={choice}
          // If the first message of a fork is refused, the next one begins it.
          isReady={!isFork || (forkStart !== undefined && !isSending)}
          {...(isFork && forkStart && { fork: forkStart })}
        />
      </footer>
    </section>
  );
}
