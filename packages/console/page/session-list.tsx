import { timestampMs } from "@bufbuild/protobuf/wkt";
import { visibleText } from "@devtool/internal/visible-text";
import type { useSessions } from "@devtool/react";
import { GoalState, TaskState, type TaskSummary } from "@devtool/schema";
import { type ReactNode, useEffect, useState } from "react";
import { VList } from "virtua";
import type { ConsoleClient } from "./console-client.ts";
import { type Place, sessionAddress } from "./place.ts";
import { problemText } from "./problem-text.ts";
import { State } from "./state.tsx";
import { isWaiting, useNotifications } from "./use-notifications.ts";
import { ageText, countText, words } from "./words.ts";

interface SessionListProps {
  readonly client: ConsoleClient;
  readonly list: ReturnType<typeof useSessions>;
  readonly place: Place;
}

/** The number of sessions from which the list has a search. */
const SEARCHED_FROM = 10;

/** All sessions, those that wait for the user first. */
export function SessionList({
  client,
  list,
  place,
}: SessionListProps): ReactNode {
  const { sessions, hasMore, loadMore } = list;
  const now = useNow();
  const allowNotifications = useNotifications(client, sessions, list.isLoaded);
  const [sought, seek] = useState("");
  const found = sessions.filter((session) => isFound(session, sought));
  const waiting = sessions.filter(isWaiting);
  const ordered = [
    ...found.filter(isWaiting),
    ...found.filter((session) => !isWaiting(session)),
  ];
  // The first heading of the page is that of what is chosen, if anything is.
  const Heading = place.case === "list" ? "h1" : "h2";
  const chosen = place.case === "session" ? place.taskId : "";
  return (
    <nav className="sessions" tabIndex={-1} aria-label={words.sessions}>
      <header>
        <Heading>{words.sessions}</Heading>
        <a href="#/server">{words.settings}</a>
        <a className="primary" href={`#/new/${crypto.randomUUID()}`}>
          {words.newSession}
        </a>
      </header>
      <p className="status" role="status">
        {statusText(list, waiting.length)}
      </p>
      {allowNotifications && (
        <button type="button" onClick={allowNotifications}>
          {words.notifyMe}
        </button>
      )}
      {sessions.length >= SEARCHED_FROM && (
        <input
          type="search"
          aria-label={words.findSessions}
          placeholder={words.findSessions}
          value={sought}
          onChange={({ currentTarget }) => seek(currentTarget.value)}
        />
      )}
      <VList className="rows">
        {ordered.map((session) => (
          <Row
            key={session.id}
            session={session}
            isChosen={session.id === chosen}
            now={now}
          />
        ))}
      </VList>
      {hasMore && (
        <button type="button" onClick={() => void loadMore()}>
          {words.loadMore}
        </button>
      )}
    </nav>
  );
}

/** Says whether the list is up to date, and how many sessions wait. */
function statusText(
  { lost, error, isLoaded }: SessionListProps["list"],
  waiting: number,
): string {
  if (lost) return words.lost;
  if (error) return problemText(error);
  if (!isLoaded) return words.connecting;
  return waiting > 0 ? countText(words.waiting, waiting) : "";
}

interface RowProps {
  readonly session: TaskSummary;
  readonly isChosen: boolean;
  /** The time in milliseconds. */
  readonly now: number;
}

function Row({ session, isChosen, now }: RowProps): ReactNode {
  const { id, title, agent, workspacePath, lastEvent, messageCount } = session;
  const where = workspacePath.split("/").at(-1);
  const count = messageCount > 0 && countText(words.messages, messageCount);
  const states: Readonly<Record<string, string>> = words.goalStates;
  const reached = states[GoalState[lastEvent?.goalState ?? 0] ?? ""];
  const goal = reached && `${words.goal}: ${reached}`;
  return (
    <a
      className="row"
      href={sessionAddress(id)}
      aria-current={isChosen ? "page" : undefined}
    >
      <span className="row-title">{title || words.untitled}</span>
      <span className="row-about">
        <State state={lastEvent?.state ?? TaskState.UNSPECIFIED} />
        <span>
          {visibleText([goal, agent, where, count].filter(Boolean).join(" · "))}
        </span>
        <time>
          {lastEvent?.time && ageText(timestampMs(lastEvent.time), now)}
        </time>
      </span>
    </a>
  );
}

/** Whether a text is in the title, the agent or the directory of a session. */
function isFound(
  { title, agent, workspacePath }: TaskSummary,
  text: string,
): boolean {
  return `${title} ${agent} ${workspacePath}`
    .toLowerCase()
    .includes(text.toLowerCase());
}

/** Returns the time in milliseconds, which goes on every half minute. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
