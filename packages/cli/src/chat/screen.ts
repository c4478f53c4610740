import { keepStart } from "@devtool/internal/cut-text";
import { oneLine } from "@devtool/internal/visible-text";
import stringWidth from "string-width";
import { type LineStyle, visible, visibleName } from "../render/style.ts";
import type { Chat } from "./chat.ts";
import { commandHelp } from "./command-help.ts";
import { layoutDraft } from "./draft.ts";
import { type Entry, wrapLine } from "./entry.ts";
import { type Status, statusLine } from "./status-line.ts";

/**
 * The content of the chat's terminal at one moment. Lines are painted, and fit
 * the terminal.
 */
export interface Screen {
  readonly entries: readonly Entry[];
  /** The lines of unfinished parts of the conversation. */
  readonly live: readonly string[];
  /** The open question with its menu, or the list of sessions. */
  readonly question: readonly string[];
  /** The messages that wait, and what was typed beside a question. */
  readonly queue: readonly string[];
  /** The turn that runs; undefined between turns. */
  readonly activity: Activity | undefined;
  readonly status: string;
  readonly input: Input;
}

/** The turn of the agent. */
export interface Activity {
  /** When it began, on the clock of `performance.now`. */
  readonly startedAt: number;
  readonly tokens: bigint;
  /** What is happening beside the work, such as a retried request. */
  readonly notice: string;
}

/** The line that the user writes in, on as many lines as it needs. */
export interface Input {
  readonly lines: readonly string[];
  /**
   * The position of the cursor in `lines`; undefined while no text is written.
   */
  readonly cursor:
    | { readonly row: number; readonly column: number }
    | undefined;
}

/** Maximum number of waiting messages that are shown. */
const MAX_QUEUE = 4;

/** Maximum number of completions that are shown. */
const MAX_CANDIDATES = 20;

/** The size of the terminal. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/**
 * Returns the screen of a chat for a terminal of this size. Everything below
 * the entries has fewer rows than the terminal.
 */
export function screenOf(
  chat: Chat,
  status: Status,
  { columns, rows }: ScreenSize,
  style: LineStyle,
): Screen {
  const { asking, tasks, printout } = chat;
  const { entries } = printout;
  if (chat.left !== "not") return { ...EMPTY_SCREEN, entries };
  const input = inputOf(
    chat,
    Math.max(1, Math.floor((rows - 2) / 2)),
    columns,
    style,
  );
  const activity = activityOf(chat);
  // Some terminals keep a copy of a frame that is as high as they are, with the
  // row that follows it, each time that it is erased.
  const room = rows - 3 - input.lines.length - (activity ? 1 : 0);
  const isAsking = chat.picker !== undefined || asking.call !== undefined;
  const queue = queueLines(chat, style).slice(
    0,
    Math.max(0, isAsking ? Math.floor(room / 3) : room),
  );
  const free = room - queue.length;
  const question = chat.picker
    ? chat.picker.lines(Math.max(1, free))
    : asking.draw(free, style).slice(0, Math.max(1, free));
  const left = free - question.length;
  const live = [
    ...[tasks.conversation, ...(tasks.command ? [tasks.command] : [])].flatMap(
      ({ view, scrollback }) => scrollback.live(view.snapshot(), style),
    ),
    ...tasks.unsent.map((text) =>
      style.paint("dim", `> ${keepStart(oneLine(text), columns - 3)}`),
    ),
  ];
  return {
    entries,
    live: left > 0 ? live.slice(-left) : [],
    question,
    queue,
    activity,
    status: style.paint("dim", statusLine(status, columns - 1)),
    input,
  };
}

/** The screen of a chat that is over. */
export const EMPTY_SCREEN: Screen = {
  entries: [],
  live: [],
  question: [],
  queue: [],
  activity: undefined,
  status: "",
  input: { lines: [], cursor: undefined },
};

function activityOf(chat: Chat): Activity | undefined {
  const { asking, tasks, turn } = chat;
  const { startedAt, tokens, isCanceling } = turn;
  if (startedAt === undefined || asking.call) return undefined;
  const { notice, lost } = tasks.current;
  const isLost = lost !== undefined || chat.isServerGone;
  const text = isCanceling
    ? "canceling"
    : (notice?.text ?? (isLost ? "the connection is lost" : ""));
  return { startedAt, tokens, notice: oneLine(text) };
}

function queueLines(
  { outbox: { texts }, asking, composer, tasks }: Chat,
  { paint, columns }: LineStyle,
): string[] {
  const shown = texts
    .slice(0, MAX_QUEUE)
    .map((text) => `· queued: ${oneLine(text)}`);
  const more =
    texts.length > MAX_QUEUE
      ? [`· ${texts.length - MAX_QUEUE} more are queued`]
      : [];
  const hint =
    texts.length > 0 && !asking.call ? ["  (Up takes the last one back)"] : [];
  const kept =
    asking.call && composer.draft.text !== ""
      ? [`· kept for your next message: ${oneLine(composer.draft.text)}`]
      : [];
  // The candidates of a completion stand on one line, each by its last word.
  const { candidates } = composer;
  const words = candidates
    .slice(0, MAX_CANDIDATES)
    .map((each) => /\S+\s*$/.exec(each)?.[0].trim() ?? each);
  const rest =
    candidates.length > words.length
      ? [`… ${candidates.length - words.length} more`]
      : [];
  const completions =
    candidates.length === 0 ? [] : [`  ${[...words, ...rest].join("  ")}`];
  const help = asking.call
    ? []
    : commandHelp(composer.draft.text, tasks.commands, tasks.choices);
  const missing = composer.missing.map((path) => `  not found: @${path}`);
  return [
    ...shown,
    ...more,
    ...hint,
    ...kept,
    ...completions,
    ...missing,
    ...help,
  ].flatMap((line) =>
    wrapLine(visibleName(line), columns).map((piece) => paint("dim", piece)),
  );
}

function inputOf(
  chat: Chat,
  maxLines: number,
  columns: number,
  style: LineStyle,
): Input {
  const { asking, composer, picker } = chat;
  const { paint } = style;
  if (picker) {
    const line = `filter: ${picker.filter}`;
    const hint = `${picker.enterHint}, Esc goes back`;
    return {
      lines: [paint("dim", hint), line],
      cursor: { row: 1, column: stringWidth(line) },
    };
  }
  if (composer.search) {
    const { query } = composer.search;
    const line = `search: ${query}`;
    const found = wrapLine(
      paint("dim", oneLine(composer.found)),
      columns,
    ).slice(0, 3);
    return {
      lines: [...found, line],
      cursor: { row: found.length, column: line.length },
    };
  }
  if (asking.call && !asking.isInWords) {
    return {
      lines: [paint("prompt", asking.prompt)],
      cursor: { row: 0, column: asking.prompt.length },
    };
  }
  const prompt = asking.isInWords ? asking.prompt : "> ";
  const { text, cursor } = asking.isInWords
    ? asking.words.draft
    : composer.draft;
  const layout = layoutDraft(
    { text: visible(text) === text ? text : visibleName(text), cursor },
    columns - prompt.length - 1,
  );
  const first = Math.max(
    0,
    Math.min(layout.row - maxLines + 1, layout.lines.length - maxLines),
  );
  const lines = layout.lines
    .map(
      (line, index) =>
        `${index === 0 ? paint("prompt", prompt) : " ".repeat(prompt.length)}${line}`,
    )
    .slice(first, first + maxLines);
  return {
    lines,
    cursor: { row: layout.row - first, column: prompt.length + layout.column },
  };
}
