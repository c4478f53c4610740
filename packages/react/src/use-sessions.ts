import type { ConnectError } from "@connectrpc/connect";
import {
  createSessionList,
  type DevtoolClient,
  type SessionList,
  type SessionListOptions,
  type SessionListSnapshot,
} from "@devtool/client";
import { useState, useSyncExternalStore } from "react";
import { type RunAction, useActions } from "./use-actions.ts";
import { useFollowing } from "./use-following.ts";

/**
 * The caller's tasks, and how to act on the list. Actions never reject, as
 * those of `useTask`.
 */
export interface SessionsHandle extends SessionListSnapshot, SessionsActions {
  /**
   * Why the latest action failed. Undefined after one that succeeded.
   */
  readonly failure: ConnectError | undefined;
}

/**
 * The actions on a list of tasks.
 */
export interface SessionsActions {
  /**
   * Adds the next older tasks to the list, `pageSize` of them at most, if
   * `hasMore`. Resolves when the snapshot shows them.
   */
  readonly loadMore: () => Promise<boolean>;
  /**
   * Gives a task another title: at most 80 characters on one line. Resolves
   * when the server has it; the list shows it when it reads the change.
   */
  readonly rename: (taskId: string, title: string) => Promise<boolean>;
}

/**
 * Shows the caller's tasks as they are now, the last changed first, over one
 * stream for all of them. It needs a server with `WatchTasks`, over Connect or
 * gRPC.
 *
 * Another `client` or `filter` shows another list; filters are compared by
 * their fields. Changes of other options are ignored.
 */
export function useSessions(
  client: DevtoolClient,
  options: SessionListOptions = {},
): SessionsHandle {
  const { filter } = options;
  const [kept, keep] = useState(() => ({
    client,
    filter,
    list: createSessionList(client, options),
  }));
  const isOther = kept.client !== client || !isSameFilter(kept.filter, filter);
  if (isOther) {
    keep({ client, filter, list: createSessionList(client, options) });
  }
  const { list } = kept;
  const snapshot = useSyncExternalStore(
    list.subscribe,
    list.snapshot,
    list.snapshot,
  );
  useFollowing(list);
  const [actions, failure] = useActions(list, listActions, isDelivered);
  return { ...snapshot, ...actions, failure };
}

function listActions(list: SessionList, run: RunAction): SessionsActions {
  return {
    loadMore: () => run((signal) => list.loadMore(signal)),
    rename: (taskId, title) =>
      run((signal) => list.rename(taskId, title, signal)),
  };
}

/** A list sends nothing that must arrive after an unmount. */
function isDelivered(): boolean {
  return true;
}

function isSameFilter(
  one: SessionListOptions["filter"] = {},
  other: SessionListOptions["filter"] = {},
): boolean {
  return (
    one.state === other.state &&
    one.agent === other.agent &&
    one.workspacePath === other.workspacePath &&
    one.titleContains === other.titleContains
  );
}
