import { Box, Static, type SuspendTerminal, useApp, useWindowSize } from "ink";
import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import type { Paint } from "../render/style.ts";
import { ActivityLine } from "./activity-line.tsx";
import { InputLine } from "./input-line.tsx";
import { Lines } from "./lines.tsx";
import type { Screen } from "./screen.ts";

/** What the app draws, as `useSyncExternalStore` takes it. */
export interface ScreenStore {
  subscribe(listener: () => void): () => void;
  snapshot(): Screen;
}

/** Properties of `App`. */
export interface AppProps {
  readonly store: ScreenStore;
  readonly paint: Paint;
  /**
   * Receives the function that gives the terminal to another program for a
   * time.
   */
  readonly onStart: (suspend: SuspendTerminal) => void;
  /** Called when the terminal has another size. */
  readonly onResize: () => void;
}

/**
 * A chat in the terminal: what is finished above, in the scrollback, and below
 * it what changes.
 */
export function App({ store, paint, onStart, onResize }: AppProps): ReactNode {
  const screen = useSyncExternalStore(store.subscribe, store.snapshot);
  const { suspendTerminal } = useApp();
  const { columns, rows } = useWindowSize();
  useEffect(() => onStart(suspendTerminal), [onStart, suspendTerminal]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect is for changes of the size.
  useEffect(onResize, [columns, rows]);
  const { live, question, queue, activity, status, input } = screen;
  const above =
    live.length +
    question.length +
    (activity ? 1 : 0) +
    queue.length +
    (status === "" ? 0 : 1);
  return (
    <>
      {/* Prints each entry once. From then on it belongs to the terminal's scrollback. */}
      <Static items={[...screen.entries]}>
        {({ key, lines }) => <Lines key={key} lines={lines} />}
      </Static>
      <Box flexDirection="column">
        <Lines lines={live} />
        <Lines lines={question} />
        {activity && (
          <ActivityLine activity={activity} columns={columns} paint={paint} />
        )}
        <Lines lines={queue} />
        {status !== "" && <Lines lines={[status]} />}
        <InputLine input={input} top={above} />
      </Box>
    </>
  );
}
