import { timestampDate } from "@bufbuild/protobuf/wkt";
import { callWithRetry } from "@devtool/client";
import { visibleText } from "@devtool/internal/visible-text";
import { useAgents } from "@devtool/react";
import type { BrowserSession } from "@devtool/schema";
import { type ReactNode, useEffect, useState } from "react";
import { isOwnSession } from "./access.ts";
import { AgentCard } from "./agent-card.tsx";
import { ReportOpener } from "./conformance-report.tsx";
import type { ConsoleClient } from "./console-client.ts";
import { mainAround, useFocusHeir } from "./focus.ts";
import { problemText } from "./problem-text.ts";
import { fillText, language, words } from "./words.ts";

/**
 * The agents of the server, a conformance report, where agents may work, and
 * the browsers with access.
 */
export function ServerPage({
  client,
}: {
  readonly client: ConsoleClient;
}): ReactNode {
  const { agents, workspace, workspaceRoots } = useAgents(client);
  const roots = [...new Set([workspace, ...workspaceRoots])].filter(Boolean);
  return (
    <section className="server" aria-label={words.settings}>
      <a className="back" href="#/">
        ← {words.back}
      </a>
      <h1>{words.settings}</h1>
      <h2>{words.agents}</h2>
      {agents.map(({ name, displayName, description, model }) => (
        <article key={name}>
          <h3>{visibleText(displayName)}</h3>
          <p>{visibleText(description)}</p>
          <AgentCard client={client} agent={name} />
          <p className="facts">
            {visibleText(
              [name, model && `${words.model} ${model}`]
                .filter(Boolean)
                .join(" · "),
            )}
          </p>
        </article>
      ))}
      <h2>{words.report}</h2>
      <ReportOpener />
      <h2>{words.roots}</h2>
      <ul>
        {roots.map((root) => (
          <li key={root}>
            <code>{visibleText(root)}</code>
          </li>
        ))}
      </ul>
      <h2>{words.browsers}</h2>
      <Browsers client={client} />
    </section>
  );
}

function Browsers({ client }: { readonly client: ConsoleClient }): ReactNode {
  const [sessions, setSessions] = useState<readonly BrowserSession[]>([]);
  const [revoked, countRevoked] = useState(0);
  const [problem, setProblem] = useState("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is another one once a session was revoked
  useEffect(() => {
    const mounted = new AbortController();
    // Until there is an answer the list stays as it is; the list of sessions
    // says that the connection is lost.
    callWithRetry(
      (signal) => client.browsers.listBrowserSessions({}, { signal }),
      { maxAttempts: Number.POSITIVE_INFINITY },
      mounted.signal,
    ).then(
      ({ sessions: found }) => setSessions(found),
      () => undefined,
    );
    return () => mounted.abort();
  }, [client, revoked]);
  const revoke = async (id: string): Promise<void> => {
    try {
      await client.browsers.revokeBrowserSession({ id });
      setProblem("");
    } catch (reason) {
      setProblem(problemText(reason));
    }
    // The list also says what became of a request whose answer was lost.
    countRevoked((before) => before + 1);
  };
  return (
    <>
      {problem && <p role="alert">{problem}</p>}
      <ul>
        {sessions.map((session) => (
          <Browser
            key={session.id}
            session={session}
            onRevoke={() => void revoke(session.id)}
          />
        ))}
      </ul>
    </>
  );
}

function Browser({
  session: { id, label, expireTime, isNotified },
  onRevoke,
}: {
  readonly session: BrowserSession;
  readonly onRevoke: () => void;
}): ReactNode {
  const row = useFocusHeir<HTMLLIElement>(mainAround);
  return (
    <li ref={row}>
      {visibleText(label)} <code>{id}</code>{" "}
      {isOwnSession(id) && <strong>{words.thisBrowser} </strong>}
      {expireTime &&
        fillText(
          words.until,
          timestampDate(expireTime).toLocaleString(language),
        )}{" "}
      {isNotified && `${words.isNotified} `}
      <button type="button" onClick={onRevoke}>
        {words.revoke}
      </button>
    </li>
  );
}
