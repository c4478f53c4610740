import { ConnectError } from "@connectrpc/connect";
import { callWithRetry, type DevtoolClient } from "@devtool/client";
import type { ListedAgent } from "@devtool/schema";
import { useEffect, useState } from "react";

/**
 * The agents and directories to choose from when a session starts.
 */
export interface AgentsHandle {
  /**
   * The agents of the server, the default one first, each with the settings
   * that it follows. Empty until the server has answered. Over A2A the one agent
   * of the card (`createAgentTransport`).
   */
  readonly agents: readonly ListedAgent[];
  /**
   * The directory in which agents work if a session names none, by its absolute
   * path. Empty if each session must name one, and over A2A.
   */
  readonly workspace: string;
  /**
   * The directories that may contain workspaces, by their absolute paths. Empty
   * if only `workspace` itself is allowed.
   */
  readonly workspaceRoots: readonly string[];
  /**
   * Whether the server has answered.
   */
  readonly isLoaded: boolean;
  /**
   * Why the agents are not listed: an error that a retry cannot fix, such as
   * `Code.Unimplemented` over A2A, or that of the last attempt.
   */
  readonly error: ConnectError | undefined;
}

const NONE: AgentsHandle = {
  agents: [],
  workspace: "",
  workspaceRoots: [],
  isLoaded: false,
  error: undefined,
};

/**
 * Lists the agents of the server. They do not change while it runs, so they are
 * listed once; a server that cannot be reached is asked again until it answers.
 */
export function useAgents(client: DevtoolClient): AgentsHandle {
  const [listed, setListed] = useState({ client, handle: NONE });
  useEffect(() => {
    const mounted = new AbortController();
    const show = (handle: AgentsHandle): void => {
      if (!mounted.signal.aborted) setListed({ client, handle });
    };
    callWithRetry(
      (signal) => client.agents.listAgents({}, { signal }),
      {
        maxAttempts: Number.POSITIVE_INFINITY,
        onLost: (error) => show({ ...NONE, error }),
      },
      mounted.signal,
    ).then(
      ({ agents, workspace, workspaceRoots }) =>
        show({
          agents,
          workspace,
          workspaceRoots,
          isLoaded: true,
          error: undefined,
        }),
      (reason: unknown) => show({ ...NONE, error: ConnectError.from(reason) }),
    );
    return () => mounted.abort();
  }, [client]);
  return listed.client === client ? listed.handle : NONE;
}
