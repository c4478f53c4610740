import { createSessionList, type SessionList } from "@devtool/client";
import { TaskState } from "@devtool/schema";
import { type ConnectionOptions, connect } from "../connection/connection.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, isTerminal, writeLine } from "../io.ts";
import { paintFor } from "../render/style.ts";
import { topLines } from "../render/top-lines.ts";
import { SessionRates } from "../session-rates.ts";

/** The options of `devtool top`. */
interface TopOptions extends ConnectionOptions {
  readonly once?: true;
  /** Shows the sessions of all callers. */
  readonly all?: true;
}

/** The time between two pictures in milliseconds. */
const REDRAW_MS = 500;

/** The largest page of sessions. */
const PAGE = 100;

/** Another screen of the terminal, which leaves its lines as they are. */
const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const END_OF_LINE = "\u001b[K";
const END_OF_SCREEN = "\u001b[J";

/**
 * `devtool top`: shows the sessions that work, what each waits for, and how much
 * happens, until Ctrl-C. Prints them once where nobody sits at a terminal.
 */
export async function top(options: TopOptions, io: Io): Promise<number> {
  using interrupt = interruptSignal(io);
  const { signal } = interrupt;
  const client = await connect(options, io, signal);
  // Sessions that work or wait may be older than those that changed last.
  const lists = [
    TaskState.UNSPECIFIED,
    TaskState.WORKING,
    TaskState.INPUT_REQUIRED,
  ].map((state) =>
    createSessionList(client, {
      pageSize: PAGE,
      filter: { state, allCallers: options.all ?? false },
    }),
  );
  const isLive = isTerminal(io.stdout) && io.env.TERM !== "dumb";
  await (isLive && !options.once
    ? showLive(lists, io, signal)
    : printOnce(lists, io, signal));
  return ExitCode.OK;
}

/** Reads the sessions until each list is loaded, and prints them. */
async function printOnce(
  lists: readonly SessionList[],
  io: Io,
  signal: AbortSignal,
): Promise<void> {
  const loaded = new AbortController();
  const read = AbortSignal.any([signal, loaded.signal]);
  for (const list of lists) {
    list.subscribe(() => {
      const isLoaded = lists.every((each) => each.snapshot().isLoaded);
      if (isLoaded) loaded.abort();
    });
  }
  await followAll(lists, read);
  for (const line of linesOf(lists, io, undefined)) writeLine(io.stdout, line);
}

/** Shows the sessions as they are, until the signal aborts. */
async function showLive(
  lists: readonly SessionList[],
  io: Io,
  signal: AbortSignal,
): Promise<void> {
  const { stdout } = io;
  const rates = new SessionRates();
  const draw = (): void => {
    const rows = sizeOf(stdout, "rows", 24);
    const lines = linesOf(lists, io, rates).slice(0, rows);
    const drawn = lines.map((line) => `${line}${END_OF_LINE}`).join("\r\n");
    stdout.write(`${HOME}${drawn}${END_OF_SCREEN}`);
  };
  stdout.write(ENTER);
  const timer = setInterval(draw, REDRAW_MS);
  try {
    await followAll(lists, signal);
  } finally {
    clearInterval(timer);
    stdout.write(LEAVE);
  }
}

async function followAll(
  lists: readonly SessionList[],
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const follow = async (list: SessionList): Promise<void> => {
    try {
      await list.follow(either);
    } catch (reason) {
      failed.abort();
      throw reason;
    }
  };
  await Promise.all(lists.map(follow));
}

function linesOf(
  lists: readonly SessionList[],
  io: Io,
  rates: SessionRates | undefined,
): readonly string[] {
  const snapshots = lists.map((list) => list.snapshot());
  const nowMs = Date.now();
  const sessions = snapshots.flatMap((each) => each.sessions);
  const isLoaded = snapshots.every((each) => each.isLoaded);
  if (isLoaded) rates?.note(sessions, nowMs);
  return topLines(
    {
      sessions,
      hasMore: snapshots.some(({ hasMore }) => hasMore),
      isLost: snapshots.some(({ lost }) => lost !== undefined),
      rates: isLoaded ? rates?.read(nowMs) : undefined,
    },
    {
      nowMs,
      columns: isTerminal(io.stdout)
        ? sizeOf(io.stdout, "columns", 80)
        : Number.POSITIVE_INFINITY,
      paint: paintFor(io),
    },
  );
}

/** Returns the size of a terminal. */
function sizeOf(
  stdout: Io["stdout"],
  side: "rows" | "columns",
  otherwise: number,
): number {
  const size: unknown = Reflect.get(stdout, side);
  return typeof size === "number" && size > 0 ? size : otherwise;
}
