import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk";
import { flags } from "./fake-flags.ts";

/**
 * A session: what `session/load` replays, and the lines of its prompt that are
 * not done yet.
 */
export interface Session {
  readonly id: string;
  readonly cwd: string;
  readonly mcpServers: readonly string[];
  history: acp.SessionUpdate[];
  todo: string[];
  mode: string;
  speed: string;
  /** Further options: `effort` and `verbose`. */
  options?: Record<string, string | boolean>;
  calls: number;
}

/** The sessions of this process by id. */
export const sessions: Map<string, Session> = new Map();

function pathOf(id: string): string {
  return join(flags.state ?? "", `${id}.json`);
}

/** Keeps a session for later processes, where they share a directory. */
export function save(session: Session): void {
  if (flags.state !== undefined) {
    writeFileSync(pathOf(session.id), JSON.stringify(session));
  }
}

/**
 * Returns a session, also one of an earlier process. Throws the error of ACP
 * when there is none.
 */
export function find(id: string): Session {
  const known = sessions.get(id);
  if (known) return known;
  if (flags.state === undefined || !existsSync(pathOf(id))) {
    throw acp.RequestError.sessionNotFound(id);
  }
  const session: Session = JSON.parse(readFileSync(pathOf(id), "utf8"));
  sessions.set(id, session);
  return session;
}
