import { confirmationsOf, Role } from "@devtool/schema";
import { useEffect, useState } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { useDraft } from "./drafts.ts";
import type { ForkPlace } from "./place.ts";
import { problemText } from "./problem-text.ts";
import { words } from "./words.ts";

/** Where a new session leaves the one that it goes on with. */
export interface ForkStart {
  readonly taskId: string;
  readonly beforeMessageId: string;
}

/**
 * Finds the message before which a new session goes on, and puts its text into
 * the draft of the session. Undefined until it is found.
 */
export function useFork(
  client: ConsoleClient,
  sessionKey: string,
  { taskId, index }: ForkPlace = { taskId: "", index: 0 },
): ForkStart | undefined {
  const [start, setStart] = useState<ForkStart>();
  const [, setDraft] = useDraft(sessionKey);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the draft is set once.
  useEffect(() => {
    if (taskId === "") return;
    const mounted = new AbortController();
    const fail = (problem: string): void =>
      setDraft((now) => ({ ...now, problem }));
    client.tasks.getTask({ taskId }, mounted).then(
      ({ task }) => {
        const message = task?.history
          .slice(0, index + 1)
          .findLast(
            (each) =>
              each.role === Role.USER && confirmationsOf(each).length === 0,
          );
        if (!message) return fail(words.noFork);
        const { messageId: beforeMessageId, parts } = message;
        setStart({ taskId, beforeMessageId });
        const text = parts
          .flatMap(({ content }) =>
            content.case === "text" ? content.value : [],
          )
          .join("\n");
        setDraft((now) => (now.text === "" ? { ...now, text } : now));
      },
      (reason: unknown) => {
        if (!mounted.signal.aborted) fail(problemText(reason));
      },
    );
    return () => mounted.abort();
  }, [client, taskId, index]);
  return start;
}
