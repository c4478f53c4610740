import type { DevtoolClient } from "@devtool/client";
import { PostgresStore } from "@devtool/postgres";
import {
  type Agent,
  type AgentEvent,
  createServer,
  type DevtoolServer,
  type ServerOptions,
  type Turn,
} from "@devtool/server";
import { clientOf } from "../client-of.ts";

/** The turn of an agent. */
export type Execute = (
  turn: Turn,
  signal: AbortSignal,
) => AsyncIterable<AgentEvent>;

/**
 * The lease of a server in a test, in milliseconds: a busy machine stops this
 * process for longer than the three seconds of a lease by default, and its tasks
 * would move in the middle of a test.
 */
export const LEASE_MS = 15_000;

/** One server of several that share a database. */
export interface Replica extends AsyncDisposable {
  readonly server: DevtoolServer;
  readonly store: PostgresStore;
  readonly client: DevtoolClient;
  /** The log lines for its operator. */
  readonly errors: readonly unknown[];
}

/**
 * Starts a server in this process on a schema of a database, with one agent.
 */
export function startReplica(
  url: string,
  schema: string,
  execute: Execute,
  settings: Partial<ServerOptions> = {},
): Promise<Replica> {
  const opened = { createExecutor: () => ({ execute }) };
  return startReplicaOf(
    url,
    schema,
    {
      about: { name: "own", description: "Ours." },
      follows: ["approval_mode"],
      open: () => opened,
    },
    settings,
  );
}

/** Starts a server in this process on a schema of a database, with an agent. */
export async function startReplicaOf(
  url: string,
  schema: string,
  own: Agent,
  settings: Partial<ServerOptions> = {},
): Promise<Replica> {
  const store = await PostgresStore.open({ url, schema, leaseMs: LEASE_MS });
  const errors: unknown[] = [];
  const server = await createServer({
    agents: { own },
    workspace: process.cwd(),
    openStore: async () => store,
    onError: (reason) => errors.push(reason),
    ...settings,
  });
  const client = clientOf(server, "2");
  return {
    server,
    store,
    client,
    errors,
    [Symbol.asyncDispose]: () => server.close(),
  };
}
