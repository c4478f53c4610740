import { hash } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { createDevtoolClient } from "@devtool/client";
import { createAgentTransport, fetchAgentCard } from "@devtool/client/a2a";
import { shownUrl } from "@devtool/internal/shown-url";
import { findExtension } from "@devtool/schema";
import type { CalledAgent, Connection } from "./called-agent.ts";

/** An agent elsewhere, which is reached over A2A. */
export interface RemoteAgent {
  /** The name for the model and the user: letters, digits, `-` and `_`. */
  readonly name: string;
  /** The URL of the agent, or of its card. */
  readonly url: string;
  /** What the agent is for, for the model. */
  readonly description: string;
  /** The bearer token for the agent. Default: none. */
  readonly token?: string | undefined;
  /** The keys that sign the agent's card. Default: no signature is checked. */
  readonly keys?: Parameters<typeof fetchAgentCard>[0]["keys"] | undefined;
  /** Makes the requests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** The agents of these URLs. Nothing is fetched before a call. */
export function remoteAgents(
  agents: readonly RemoteAgent[],
): readonly CalledAgent[] {
  return agents.map((agent) => {
    const { name, url, description, keys } = agent;
    let connected: Promise<Connection> | undefined;
    return {
      name,
      description,
      place: `at ${shownUrl(url)}`,
      chainId: chainIdOf(url),
      definitionHash: hash("sha256", url + (keys ? JSON.stringify(keys) : "")),
      connect: async (_task, signal) => {
        connected ??= connectTo(agent, signal);
        try {
          return await connected;
        } catch (reason) {
          connected = undefined;
          throw reason;
        }
      },
      // What the agent may do is its operator's to say.
      settingsFor: () => ({}),
    };
  });
}

/** A chain goes to other agents, which learn no password or query of a URL. */
function chainIdOf(url: string): string {
  const shown = shownUrl(url);
  return shown === url ? url : `${shown}#${hash("sha256", url).slice(0, 16)}`;
}

async function connectTo(
  { name, url, token, keys, fetch }: RemoteAgent,
  signal: AbortSignal,
): Promise<Connection> {
  const base = url.replace(/\/\.well-known\/agent(-card)?\.json(?=[?#]|$)/, "");
  const options = { url: base, ...(fetch && { fetch }) };
  const card = await fetchAgentCard(
    { ...options, ...(keys && { keys }), extension: "optional" },
    signal,
  ).catch((reason: unknown) => {
    const { code, rawMessage } = ConnectError.from(reason);
    if (!keys || code !== Code.Unauthenticated) throw reason;
    throw new ConnectError(
      `${rawMessage}: write the keys that sign it into keys_file, or take keys_file out of remote_agents "${name}"`,
      code,
    );
  });
  const uris = card.capabilities?.extensions.map(({ uri }) => uri) ?? [];
  const transport = createAgentTransport(card, {
    ...options,
    ...(token && { token }),
  });
  return {
    client: createDevtoolClient(transport),
    isIdempotent: findExtension(uris) !== undefined,
  };
}
