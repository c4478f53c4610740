import type { Writable } from "node:stream";
import type { LogLine } from "@devtool/schema/operator";
import type { Observer, Operation, ServerSettings } from "@devtool/server";
import type { OperationEnd } from "@devtool/server/agent";
import { boundedLine, type LineText } from "./line-text.ts";
import {
  beginLine,
  type Entry,
  endEntry,
  kindsAt,
  type Level,
  type Line,
} from "./log-lines.ts";
import { faultProblem } from "./problem.ts";
import { Repeats, type Timers } from "./repeats.ts";

/** How a log is written. */
interface ServerLogOptions {
  readonly stream: Writable;
  /** The least important lines that are written. */
  readonly level: Level;
  readonly text: LineText;
  readonly timers: Timers;
  /** Returns the time in milliseconds since any moment, which never goes back. */
  readonly elapsedMs: () => number;
}

const RANKS: Readonly<Record<Level, number>> = {
  debug: 0,
  info: 1,
  warn: 2,
  error: 3,
};

/**
 * The number of bytes that wait for the reader of the log. Beyond it, lines are
 * dropped and counted, so that a reader which stands still takes no memory.
 */
const MAX_WAITING_BYTES = 1024 * 1024;

/** The time in milliseconds that the reader has for the last lines. */
const LAST_LINES_MS = 1000;

/**
 * The log of a server: a line for each thing that an operator wants to know of.
 *
 * It gets them as the server's observer, and where the server tells notices and
 * errors.
 */
export class ServerLog
  implements Required<Pick<ServerSettings, "observer" | "onNotice" | "onError">>
{
  readonly #options: ServerLogOptions;
  readonly #repeats: Repeats<Line>;
  /** The open requests that named no task, by the id of their operation. */
  readonly #requests = new Map<string, { taskId: string }>();
  #dropped = 0;

  readonly observer: Observer;

  constructor(options: ServerLogOptions) {
    this.#options = options;
    const kinds = kindsAt(options.level);
    this.observer = Object.assign(
      (operation: Operation) =>
        kinds.has(operation.kind) ? this.#begin(operation) : undefined,
      { kinds },
    );
    this.#repeats = new Repeats(options.timers, (line, repeated) =>
      this.write({ ...line, repeated }),
    );
  }

  readonly onNotice = (problem: string): void => {
    this.#enter({
      line: { event: "notice", level: "warn", problem },
      key: `notice ${problem}`,
    });
  };

  readonly onError = (reason: unknown): void => {
    const said = faultProblem(reason);
    const [innermost = ""] = said.stack;
    this.#enter({
      line: { event: "fault", level: "error", ...said },
      // The text of a repeated fault may have other ids each time.
      key: `fault ${said.code} ${withoutIds(said.problem)} ${innermost}`,
    });
  };

  /** Writes a line, if it is important enough. */
  write(line: Line): void {
    const { stream, text, timers } = this.#options;
    if (!this.#writes(line.level)) return;
    if (stream.writableLength > MAX_WAITING_BYTES) {
      this.#dropped++;
      return;
    }
    const put = (each: LogLine): boolean => stream.write(`${text(each)}\n`);
    if (this.#dropped > 0) {
      const repeated = this.#dropped;
      this.#dropped = 0;
      put(
        boundedLine(
          { event: "lines dropped", level: "warn", repeated },
          timers.now(),
        ),
      );
    }
    put(boundedLine(line, timers.now()));
  }

  /** Writes what was counted, and waits a second for the reader. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#repeats.flush();
    const { stream } = this.#options;
    if (stream.writableLength === 0) return;
    const drained = Promise.withResolvers<void>();
    const late = setTimeout(drained.resolve, LAST_LINES_MS);
    stream.once("drain", drained.resolve);
    await drained.promise;
    clearTimeout(late);
  }

  #writes(level: Level): boolean {
    return RANKS[level] >= RANKS[this.#options.level];
  }

  #begin(operation: Operation): ReturnType<Observer> {
    const begunMs = this.#options.elapsedMs();
    const begin = beginLine(operation);
    if (begin) this.write(begin);
    const made = this.#follow(operation);
    return (end) => {
      this.#requests.delete(operation.id);
      this.#end({ ...operation, ...made }, end, begunMs);
    };
  }

  /**
   * Notes which task a request has made, which its turn says. Returns what a
   * request learns of its task until it ends.
   */
  #follow({ id, kind, parentId, taskId }: Operation): { taskId: string } {
    const task = { taskId };
    if (kind === "request" && taskId === "") this.#requests.set(id, task);
    const request = kind === "turn" ? this.#requests.get(parentId) : undefined;
    if (request) request.taskId = taskId;
    return task;
  }

  #end(operation: Operation, end: OperationEnd, begunMs: number): void {
    const { elapsedMs } = this.#options;
    this.#enter(endEntry(operation, end, elapsedMs() - begunMs));
  }

  #enter({ line, key }: Entry): void {
    if (!this.#writes(line.level)) return;
    if (key === undefined || this.#repeats.admits(key, line)) this.write(line);
  }
}

/** Returns a text without what stands in quotes, and without numbers. */
function withoutIds(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|\d+/gs, "…");
}
