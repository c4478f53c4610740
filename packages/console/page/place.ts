import type { TaskItem } from "@devtool/client";
import { useSyncExternalStore } from "react";

/** What the page shows, by the fragment of its address. */
export type Place =
  | { readonly case: "list" }
  /** A session to be started. Each has a key of its own. */
  | {
      readonly case: "new";
      readonly key: string;
      /** Default: it goes on with no other session. */
      readonly fork?: ForkPlace;
    }
  | {
      readonly case: "session";
      readonly taskId: string;
      readonly view: SessionPart;
    }
  | { readonly case: "server" };

/** A message of a session, before which another one goes on. */
export interface ForkPlace {
  readonly taskId: string;
  /** Its place in the history of the task. */
  readonly index: number;
}

/** A part of a session. */
export type SessionPart =
  | "conversation"
  | "timeline"
  | "audit"
  | "checkpoints"
  | "rules";

/** The parts of a session, in the order in which they are listed. */
export const SESSION_PARTS: readonly SessionPart[] = [
  "conversation",
  "timeline",
  "audit",
  "checkpoints",
  "rules",
];

/** Returns the place that the page is at, and follows it. */
export function usePlace(): Place {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  const [, kind, id = "", view = ""] = hash.split("/");
  if (kind === "new") return { case: "new", key: id };
  if (kind === "server") return { case: "server" };
  if (!["session", "fork"].includes(kind ?? "") || id === "") {
    return { case: "list" };
  }
  const shown = SESSION_PARTS.find((part) => part === view) ?? "conversation";
  try {
    const taskId = decodeURIComponent(id);
    return kind === "fork"
      ? { case: "new", key: hash, fork: { taskId, index: Number(view) || 0 } }
      : { case: "session", taskId, view: shown };
  } catch {
    // A link from elsewhere may be malformed.
    return { case: "list" };
  }
}

/** Returns the address of a session. */
export function sessionAddress(
  taskId: string,
  view: SessionPart = "conversation",
): string {
  return `#/session/${encodeURIComponent(taskId)}${view === "conversation" ? "" : `/${view}`}`;
}

/**
 * Returns the address of a new session that goes on from before a message,
 * another one each time.
 */
export function forkAddress({ taskId, index }: ForkPlace): string {
  return `#/fork/${encodeURIComponent(taskId)}/${index}/${crypto.randomUUID()}`;
}

/** Returns the message that an item is of. */
export function messageOf({ key }: Pick<TaskItem, "key">): ForkPlace {
  const [, taskId = "", index = ""] = /^(.*)\/(\d+)\/\d+$/.exec(key) ?? [];
  return { taskId, index: Number(index) };
}

/** Shows another place, without a step in the history. */
export function replacePlace(address: string): void {
  history.replaceState(null, "", address);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("hashchange", listener);
  return () => window.removeEventListener("hashchange", listener);
}
