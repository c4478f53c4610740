import { Code, ConnectError } from "@connectrpc/connect";
import { useEffect, useRef, useState } from "react";
import type { ConsoleClient } from "./console-client.ts";

/**
 * Returns whether the session that is shown was deleted, here or elsewhere, and
 * a function that notes that this page has deleted one.
 *
 * @param sessions the listed ones: a session that leaves them may have been
 * deleted, and the server is asked
 */
export function useDeleted(
  client: ConsoleClient,
  taskId: string | undefined,
  sessions: readonly { readonly id: string }[],
): readonly [boolean, (taskId: string) => void] {
  const isListed = sessions.some(({ id }) => id === taskId);
  const [deleted, noteDeleted] = useState<string>();
  const listed = useRef<string>(undefined);
  useEffect(() => {
    if (isListed) listed.current = taskId;
    if (isListed || taskId === undefined || listed.current !== taskId) return;
    const shown = new AbortController();
    const { signal } = shown;
    client.tasks.getTask({ taskId }, { signal }).catch((reason: unknown) => {
      if (ConnectError.from(reason).code === Code.NotFound) noteDeleted(taskId);
    });
    return () => shown.abort();
  }, [client, taskId, isListed]);
  return [taskId !== undefined && deleted === taskId, noteDeleted];
}
