import { channel } from "node:diagnostics_channel";
import { openSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { DatabaseSync, type SQLInputValue, StatementSync } from "node:sqlite";

/**
 * The protections that a bench can run without, by name: with each of them a
 * row must fail, or the bench measures nothing.
 */
const SABOTAGES: ReadonlyMap<string, () => void> = new Map([
  // A stream leaves memory on the heap of JavaScript.
  [
    "keep",
    () =>
      onResponse(
        (response) => void kept.set(response, Buffer.alloc(KEPT_BYTES, 1)),
      ),
  ],
  // A request in two leaves memory outside of the heap of JavaScript: the pages
  // of a database.
  [
    "native",
    () =>
      onResponse(
        everyNth(2, () => {
          const database = new DatabaseSync(":memory:");
          database.exec("CREATE TABLE leaked (data)");
          opened.push(database);
        }),
      ),
  ],
  // Each stream has a timer of its own.
  [
    "timers",
    () =>
      onResponse((response) => {
        const timer = setInterval(() => undefined, 20);
        response.on("close", () => clearInterval(timer));
      }),
  ],
  // Each stream encodes the events again that all streams send.
  [
    "encode",
    () =>
      onResponse((response) => {
        const write = response.write.bind(response);
        response.write = (chunk: unknown) => {
          busy(0.1);
          return write(chunk);
        };
      }),
  ],
  // Each event that a stream sends is copied once more.
  [
    "copy",
    () =>
      onResponse((response) => {
        const write = response.write.bind(response);
        response.write = (chunk: unknown) => {
          for (const [, data = ""] of String(chunk).matchAll(/^data: (.*)/gm)) {
            structuredClone(JSON.parse(data));
          }
          return write(chunk);
        };
      }),
  ],
  // A stream does not wait for its client.
  [
    "backpressure",
    () =>
      onResponse((response) => {
        const write = response.write.bind(response);
        response.write = (chunk: unknown) => {
          write(chunk);
          return true;
        };
      }),
  ],
  // A reader that catches up reads all missed events at once.
  [
    "paging",
    () =>
      Object.defineProperty(StatementSync.prototype, "iterate", {
        value: StatementSync.prototype.all,
      }),
  ],
  // Each append reads the whole conversation.
  ["reread", rereadConversations],
  // One stream in twenty waits until others have ended.
  [
    "starve",
    () => onResponse(everyNth(20, (response) => holdBack(response, 2000))),
  ],
  // A request in fifty leaves a file open.
  [
    "descriptors",
    () => onResponse(everyNth(50, () => void openSync("/dev/null", "r"))),
  ],
  // A request in twenty-five keeps all others waiting.
  ["block", () => onResponse(everyNth(25, () => busy(120)))],
]);

/** The sabotage of a server that should delete and does not. */
export const NO_RETENTION = "retain";

const KEPT_BYTES = 64 * 1024;
const kept = new Map<ServerResponse, Buffer>();
const opened: DatabaseSync[] = [];

/**
 * The value of `--sabotage=NAME` among the arguments of this process; empty
 * without it.
 */
export function sabotageNamed(): string {
  return (
    process.argv
      .find((arg) => arg.startsWith("--sabotage="))
      ?.slice("--sabotage=".length) ?? ""
  );
}

/**
 * Takes a protection away from the server of this process; none when the name
 * is empty.
 */
export function sabotage(name: string): void {
  if (name === "" || name === NO_RETENTION) return;
  const run = SABOTAGES.get(name);
  if (!run) {
    throw new TypeError(
      `sabotage ${JSON.stringify(name)} does not exist: choose ${[...SABOTAGES.keys()].join(", ")}`,
    );
  }
  run();
}

/**
 * Uses processor time of this thread: as much on a machine that others use,
 * where a time by the clock would be less.
 */
export function busy(ms: number): void {
  const start = process.threadCpuUsage();
  for (let usedMs = 0; usedMs < ms; ) {
    const { user, system } = process.threadCpuUsage(start);
    usedMs = (user + system) / 1000;
  }
}

function onResponse(change: (response: ServerResponse) => void): void {
  channel("http.server.request.start").subscribe((message) =>
    change(Object(message).response),
  );
}

function everyNth(
  count: number,
  run: (response: ServerResponse) => void,
): (response: ServerResponse) => void {
  let seen = 0;
  return (response) => {
    if (++seen % count === 0) run(response);
  };
}

/** Sends nothing of a response for a time. */
function holdBack(response: ServerResponse, ms: number): void {
  const write = response.write.bind(response);
  const end = response.end.bind(response);
  const held: (() => unknown)[] = [];
  Object.assign(response, {
    write: (chunk: unknown) => held.push(() => write(chunk)) > 0,
    end: () => held.push(() => end()) > 0,
  });
  setTimeout(() => {
    Object.assign(response, { write, end });
    for (const run of held) run();
  }, ms);
}

/**
 * Each row that is read takes a few microseconds more, as it would to decode
 * it.
 */
const ROW_MS = 0.005;

function rereadConversations(): void {
  const { prepare } = DatabaseSync.prototype;
  Object.defineProperty(DatabaseSync.prototype, "prepare", {
    value(this: DatabaseSync, sql: string): StatementSync {
      const statement = prepare.call(this, sql);
      // Where the id of the task is among the values of the statements that
      // write the heads of tasks.
      const at = sql.startsWith("UPDATE task SET ")
        ? 4
        : sql.startsWith("INSERT INTO task ")
          ? 0
          : undefined;
      if (at === undefined) return statement;
      const conversation =
        "SELECT id FROM task WHERE context_id = (SELECT context_id FROM task WHERE id = ?)";
      const read = prepare.call(
        this,
        `SELECT data FROM event WHERE task_id IN (${conversation})`,
      );
      const run = statement.run.bind(statement);
      Object.defineProperty(statement, "run", {
        value(...values: SQLInputValue[]) {
          const done = run(...values);
          busy(read.all(String(values[at])).length * ROW_MS);
          return done;
        },
      });
      return statement;
    },
  });
}
