import { keepStart } from "@devtool/internal/cut-text";
import {
  Box,
  Static,
  type SuspendTerminal,
  Text,
  useAnimation,
  useApp,
  useCursor,
  useWindowSize,
} from "ink";
import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import stringWidth from "string-width";
import { shortCount } from "../render/count.ts";
import type { Paint } from "../render/style.ts";
import type { Activity, Input, Screen } from "./screen.ts";

/** What the app draws, as `useSyncExternalStore` takes it. */
interface ScreenSource {
  subscribe(listener: () => void): () => void;
  snapshot(): Screen;
}

/** Properties of `App`. */
interface AppProps {
  readonly store: ScreenSource;
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

/** Draws lines that fit the terminal. An empty one takes a row as well. */
function Lines({ lines }: { readonly lines: readonly string[] }): ReactNode {
  if (lines.length === 0) return null;
  return (
    <Text wrap="truncate">{lines.map((line) => line || " ").join("\n")}</Text>
  );
}

/** Properties of `InputLine`. */
interface InputLineProps {
  readonly input: Input;
  /** The number of rows above it. */
  readonly top: number;
}

/** Shows what the user writes, with the terminal's own cursor in it. */
function InputLine({
  input: { lines, cursor },
  top,
}: InputLineProps): ReactNode {
  const { setCursorPosition } = useCursor();
  setCursorPosition(cursor && { x: cursor.column, y: top + cursor.row });
  return <Lines lines={lines} />;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** Properties of `ActivityLine`. */
interface ActivityLineProps {
  readonly activity: Activity;
  readonly columns: number;
  readonly paint: Paint;
}

/**
 * Shows that the agent works: for how long, and how many tokens it has used.
 */
function ActivityLine({
  activity,
  columns,
  paint,
}: ActivityLineProps): ReactNode {
  const { frame } = useAnimation({ interval: 120 });
  const words = keepStart(activityWords(activity), columns - 3);
  return (
    <Lines
      lines={[
        `${paint("prompt", FRAMES[frame % FRAMES.length] ?? "")} ${words}`,
      ]}
    />
  );
}

function activityWords(activity: Activity): string {
  const seconds = Math.floor((performance.now() - activity.startedAt) / 1000);
  const tokens =
    activity.tokens === 0n ? "" : ` · ${shortCount(activity.tokens)} tokens`;
  const notice = activity.notice === "" ? "" : ` · ${activity.notice}`;
  return `working ${seconds}s${tokens}${notice} · Esc interrupts`;
}

/**
 * Returns the number of rows by which the terminal's own wrapping has moved the
 * cursor down from the top of a frame that was drawn for `before` columns.
 */
export function addedRows(
  { live, question, activity, queue, status, input }: Screen,
  before: number,
  columns: number,
): number {
  const { lines, cursor } = input;
  const working = activity
    ? [`⠋ ${keepStart(activityWords(activity), before - 3)}`]
    : [];
  const above = [...live, ...question, ...working, ...queue, status];
  const added = [...above, ...lines.slice(0, cursor?.row)]
    .map((line) => Math.max(0, Math.ceil(stringWidth(line) / columns) - 1))
    .reduce((sum, rows) => sum + rows, 0);
  return added + Math.max(0, Math.ceil((cursor?.column ?? 0) / columns) - 1);
}
