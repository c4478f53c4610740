import { Code } from "@connectrpc/connect";
import { useSessions } from "@devtool/react";
import { type ReactNode, useEffect, useState } from "react";
import { forgetAccess } from "./access.ts";
import { CLIENT_LABEL, createConsoleClient } from "./console-client.ts";
import { useFocusAtPlace } from "./focus.ts";
import { NoAccess } from "./no-access.tsx";
import {
  type ForkPlace,
  type Place,
  type SessionPart,
  usePlace,
} from "./place.ts";
import { ServerPage } from "./server-page.tsx";
import { Session } from "./session.tsx";
import { SessionList } from "./session-list.tsx";
import { useDeleted } from "./use-deleted.ts";
import { words } from "./words.ts";

/**
 * The console of an authenticated browser: the list of sessions, and the chosen
 * one.
 */
export function App({ token }: { readonly token: string }): ReactNode {
  const [client] = useState(() => createConsoleClient(token));
  const sessions = useSessions(client, { clientLabel: CLIENT_LABEL });
  const place = usePlace();
  const [started, setStarted] = useState<Started>(new Map());
  const session = shownSession(place, started);
  const isEmpty = sessions.sessions.length === 0;
  const [isDeleted, noteDeleted] = useDeleted(
    client,
    session?.taskId,
    sessions.sessions,
  );
  const isRefused = sessions.error?.code === Code.Unauthenticated;
  useFocusAtPlace(
    session?.key ?? place.case,
    place.case === "list" ? "nav" : "main",
  );
  useEffect(() => {
    if (isRefused) forgetAccess();
  }, [isRefused]);
  if (isRefused) return <NoAccess failed={false} />;
  return (
    <div className="app" data-place={place.case}>
      <a className="skip" href="#main">
        {words.skip}
      </a>
      <SessionList client={client} list={sessions} place={place} />
      <main id="main" tabIndex={-1}>
        {place.case === "server" && <ServerPage client={client} />}
        {/* Narrow screens show the list in place of the hint to choose from it. */}
        {place.case === "list" && sessions.isLoaded && (
          <div className={isEmpty ? "hint" : "hint choose"}>
            <p>{isEmpty ? words.noSessions : words.chooseSession}</p>
            {isEmpty && (
              <pre>{`devtool chat\ndevtool run "…"\ndevtool acp`}</pre>
            )}
          </div>
        )}
        {isDeleted && (
          <div className="hint">
            <a className="back" href="#/">
              ← {words.back}
            </a>
            <p role="status">{words.deleted}</p>
          </div>
        )}
        {session && !isDeleted && (
          <Session
            client={client}
            sessionKey={session.key}
            {...session}
            onStart={(taskId) =>
              setStarted(new Map(started).set(taskId, session.key))
            }
            onDelete={noteDeleted}
          />
        )}
      </main>
    </div>
  );
}

/**
 * For each session that this page has started, by its id: the key that it had
 * before it got the id, and keeps.
 */
type Started = ReadonlyMap<string, string>;

interface ShownSession {
  readonly key: string;
  readonly taskId?: string;
  readonly view: SessionPart;
  readonly fork?: ForkPlace;
}

function shownSession(
  place: Place,
  started: Started,
): ShownSession | undefined {
  if (place.case === "new") {
    const { key, fork } = place;
    return { key, view: "conversation", ...(fork && { fork }) };
  }
  if (place.case !== "session") return undefined;
  const { taskId, view } = place;
  return { key: started.get(taskId) ?? taskId, taskId, view };
}
