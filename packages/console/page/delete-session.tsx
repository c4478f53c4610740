import { type ReactNode, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { CLIENT_LABEL, type ConsoleClient } from "./console-client.ts";
import { mainAround, useFocusHeir } from "./focus.ts";
import { problemText } from "./problem-text.ts";
import { words } from "./words.ts";

interface DeleteSessionProps {
  readonly client: ConsoleClient;
  readonly taskId: string;
  /** Called when the server has deleted it. */
  readonly onDelete: () => void;
}

/** Deletes a session that has ended, after a question. Escape keeps it. */
export function DeleteSession({
  client,
  taskId,
  onDelete,
}: DeleteSessionProps): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState("");
  const begin = useRef<HTMLButtonElement>(null);
  const whole = useFocusHeir<HTMLSpanElement>(mainAround);
  const keep = (): void => {
    flushSync(() => setAsking(false));
    begin.current?.focus();
  };
  const remove = async (): Promise<void> => {
    try {
      await client.tasks.deleteTask({ taskId, clientLabel: CLIENT_LABEL });
      onDelete();
    } catch (reason) {
      setProblem(problemText(reason));
    }
  };
  return (
    <span ref={whole}>
      {isAsking ? (
        <form
          className="delete"
          aria-label={words.deleteQuestion}
          action={remove}
          onKeyDown={({ key }) => key === "Escape" && keep()}
        >
          <span role="alert">{problem || words.deleteQuestion}</span>
          <button type="submit">{words.delete}</button>
          <button ref={focusOn} type="button" onClick={keep}>
            {words.keep}
          </button>
        </form>
      ) : (
        <button ref={begin} type="button" onClick={() => setAsking(true)}>
          {words.delete}
        </button>
      )}
    </span>
  );
}

function focusOn(button: HTMLButtonElement | null): void {
  button?.focus();
}
