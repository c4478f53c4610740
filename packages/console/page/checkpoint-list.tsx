import { timestampDate } from "@bufbuild/protobuf/wkt";
import { visibleText } from "@devtool/internal/visible-text";
import { type ReactNode, useCallback, useState } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { NO_CHOICE } from "./new-session-fields.tsx";
import { sessionAddress } from "./place.ts";
import { problemText } from "./problem-text.ts";
import { Scrolling } from "./scrolling.tsx";
import { runCommand } from "./sending.ts";
import { type Asked, useAnswer } from "./use-answer.ts";
import { useIsShown } from "./use-is-shown.ts";
import { fillText, language, words } from "./words.ts";

interface CheckpointListProps {
  readonly client: ConsoleClient;
  readonly taskId: string;
  readonly contextId: string;
  /** The sequence number of the last event of the session. */
  readonly head: bigint;
}

/**
 * The checkpoints of a session's directory. Restoring one asks first, with the
 * files that would change.
 */
export function CheckpointList({
  client,
  taskId,
  contextId,
  head,
}: CheckpointListProps): ReactNode {
  const ask = useCallback(
    ({ signal }: Pick<Asked<unknown>, "signal">) =>
      client.workspaces.listCheckpoints({ taskId }, { signal }),
    [client, taskId],
  );
  const { value, error } = useAnswer(ask, head);
  const [refusal, setRefusal] = useState("");
  const isShown = useIsShown();
  const restore = async (id: string): Promise<void> => {
    const ran = await runCommand(
      client,
      `/restore ${id}`,
      contextId,
      NO_CHOICE,
    );
    if (ran.taskId === "") {
      setRefusal(ran.message);
    } else if (isShown.current) {
      location.hash = sessionAddress(ran.taskId);
    }
  };
  return (
    <Scrolling className="facts-page" label={words.checkpoints}>
      {(error || refusal) && (
        <p role="alert">{error ? problemText(error) : refusal}</p>
      )}
      {value?.checkpoints.length === 0 && <p>{words.noCheckpoints}</p>}
      <ul>
        {value?.checkpoints.map(({ id, label, createTime }) => (
          <li key={id} className="checkpoint">
            <time>
              {createTime && timestampDate(createTime).toLocaleString(language)}
            </time>
            <span>{fillText(words.beforeCall, visibleText(label))}</span>
            <button
              type="button"
              aria-label={`${words.restore} ${id}`}
              onClick={() => void restore(id)}
            >
              {words.restore}
            </button>
          </li>
        ))}
      </ul>
    </Scrolling>
  );
}
