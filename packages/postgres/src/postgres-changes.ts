import { hash } from "node:crypto";
import { isObject } from "@devtool/internal/json";
import type { TaskEvent } from "@devtool/schema";
import { decodeRow, type TaskChanges } from "@devtool/server/store";
import { Client, type ClientConfig, type Pool } from "pg";
import { keyText } from "./key-text.ts";

/**
 * The interval between polls in milliseconds. A change whose notification is
 * lost is seen after this time at the latest.
 */
const POLL_MS = 1000;

/** The maximum size in bytes of a notification. PostgreSQL permits 8000. */
const MAX_PAYLOAD_BYTES = 7000;

/**
 * The maximum size in bytes of the rows of a task that a notification carries.
 * Readers read larger ones, so that servers without readers are not sent them.
 */
const MAX_CARRIED_BYTES = 2000;

/**
 * The key that stands for the inbox among the keys of tasks. `keyText` never
 * returns it.
 */
const INBOX_KEY = String.raw`\i`;

/** The key that stands for all tasks. `keyText` never returns it. */
const ALL_KEY = String.raw`\a`;

/**
 * The key that stands for all tasks that a server has given up. `keyText` never
 * returns it.
 */
const GIVEN_UP_KEY = String.raw`\l`;

/** The key that stands for deleted tasks. `keyText` never returns it. */
const DELETED_KEY = String.raw`\d`;

/** A task that was deleted. */
type GoneTask = Parameters<Parameters<TaskChanges["watchDeleted"]>[0]>[0];

/** What a watch calls, with the events that a notification carries. */
type Wake = (events?: readonly TaskEvent[]) => void;

/** The watches of one key. */
interface Watched {
  /** The functions to call when what the key stands for has changed. */
  readonly wakes: Set<Wake>;
  /**
   * The end of the log at the last poll, or at the last notification with
   * events; undefined before the first one.
   */
  sequence: string | undefined;
}

/**
 * Notifies servers of each other's appends, with LISTEN and NOTIFY of
 * PostgreSQL.
 *
 * A notification is a hint: it is sent after the commit and on a connection of
 * its own, because a commit with a notification takes a lock of the whole
 * database cluster. Readers read by sequence, so one that is lost or comes
 * twice costs only time. While there are watches, one statement a second looks
 * for changes without a notification.
 */
export class PostgresChanges implements TaskChanges, AsyncDisposable {
  readonly #pool: Pool;
  readonly #config: ClientConfig;
  readonly #channel: string;
  readonly #watched = new Map<string, Watched>();
  /**
   * The keys to notify about next, with the last rows that were appended while
   * they are small.
   */
  #announced = new Map<string, Uint8Array[]>();
  #announcing: Promise<void> | undefined;
  readonly #deleted = new Set<(task: GoneTask) => void>();
  #listener: Promise<Client | undefined> | undefined;
  #poll: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param schema servers with the same schema notify each other */
  constructor(pool: Pool, config: ClientConfig, schema: string) {
    this.#pool = pool;
    this.#config = config;
    this.#channel = `devtool_${hash("sha256", schema).slice(0, 32)}`;
  }

  /**
   * Notifies all servers that the log of a task has grown by rows, or that a
   * request to it has a reply.
   */
  announce(taskId: string, rows: readonly Uint8Array[] = []): void {
    this.#announceKey(keyText(taskId), rows);
  }

  /** Notifies all servers that the inbox has an entry. */
  announceEntry(): void {
    this.#announceKey(INBOX_KEY);
  }

  /** Notifies all servers that this one has given up its tasks. */
  announceGivenUp(): void {
    this.#announceKey(GIVEN_UP_KEY);
  }

  watch(taskId: string, wake: Wake): Disposable {
    return this.#watch(keyText(taskId), wake);
  }

  /** Calls `wake` when the inbox has an entry, and each second. */
  watchInbox(wake: () => void): Disposable {
    return this.#watch(INBOX_KEY, wake);
  }

  watchAll(wake: () => void): Disposable {
    return this.#watch(ALL_KEY, wake);
  }

  watchGivenUp(wake: () => void): Disposable {
    return this.#watch(GIVEN_UP_KEY, wake);
  }

  /** Notifies all servers that a task was deleted. */
  announceDeleted(task: GoneTask): void {
    const { taskId, contextId, principal } = task;
    const told = JSON.stringify({ taskId, contextId, principal });
    this.#announceKey(DELETED_KEY, [Buffer.from(told)]);
  }

  watchDeleted(wake: (task: GoneTask) => void): Disposable {
    this.#deleted.add(wake);
    const watch = this.#watch(DELETED_KEY, () => undefined);
    return {
      [Symbol.dispose]: () => {
        this.#deleted.delete(wake);
        watch[Symbol.dispose]();
      },
    };
  }

  #announceKey(key: string, rows: readonly Uint8Array[] = []): void {
    const all = [...(this.#announced.get(key) ?? []), ...rows];
    const bytes = all.reduce((sum, { length }) => sum + length, 0);
    this.#announced.set(key, bytes > MAX_CARRIED_BYTES ? [] : all);
    this.#announcing ??= this.#announceAll();
  }

  #watch(key: string, wake: Wake): Disposable {
    const watched = this.#watched.get(key) ?? {
      wakes: new Set(),
      sequence: undefined,
    };
    this.#watched.set(key, watched);
    watched.wakes.add(wake);
    this.#listen();
    this.#pollLater();
    return {
      [Symbol.dispose]: () => {
        watched.wakes.delete(wake);
        if (watched.wakes.size === 0 && this.#watched.get(key) === watched) {
          this.#watched.delete(key);
        }
      },
    };
  }

  /** Sends what is announced, and ends the connection that listens. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#poll);
    await this.#announcing;
    const listener = await this.#listener;
    await listener?.end();
  }

  async #announceAll(): Promise<void> {
    // Appends that are acknowledged together share a notification.
    await Promise.resolve();
    while (this.#announced.size > 0) {
      const lines = [...this.#announced].map(lineOf);
      this.#announced = new Map();
      // On the connection that listens, the reply brings its own notification.
      const connection = (await this.#listener) ?? this.#pool;
      await connection
        .query({
          name: "notify",
          text: "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload",
          values: [this.#channel, payloadsOf(lines)],
        })
        // The poll finds it.
        .catch(() => undefined);
    }
    this.#announcing = undefined;
  }

  /**
   * Opens the connection that listens, unless it is open. It is opened again
   * when it breaks and somebody waits.
   */
  #listen(): void {
    if (!this.#isClosed) this.#listener ??= this.#openListener();
  }

  async #openListener(): Promise<Client | undefined> {
    const client = new Client(this.#config);
    let isKnown = true;
    // A connection that breaks may say so twice, and late: by then, the next
    // one may be open.
    const forget = (): void => {
      if (isKnown) this.#listener = undefined;
      isKnown = false;
    };
    client.on("error", forget);
    client.on("end", forget);
    client.on("notification", ({ payload = "" }) => {
      for (const line of payload.split("\n")) this.#wakeByLine(line);
      this.#wake(ALL_KEY);
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${client.escapeIdentifier(this.#channel)}`);
      // What was committed before is not notified any more.
      for (const key of this.#watched.keys()) this.#wake(key);
      return client;
    } catch {
      forget();
      await client.end().catch(() => undefined);
      return undefined;
    }
  }

  #wake(key: string, events?: readonly TaskEvent[]): void {
    for (const wake of this.#watched.get(key)?.wakes ?? []) wake(events);
  }

  #wakeByLine(line: string): void {
    const end = line.indexOf(" ");
    const key = line.slice(end + 1);
    const watched = this.#watched.get(key);
    if (!watched) return;
    if (key === DELETED_KEY) {
      for (const task of goneTasksIn(line.slice(0, end))) {
        for (const wake of this.#deleted) wake(task);
      }
      return;
    }
    const events = end > 0 ? eventsIn(line.slice(0, end)) : undefined;
    watched.sequence = events?.at(-1)?.sequence.toString() ?? watched.sequence;
    this.#wake(key, events);
  }

  #pollLater(): void {
    if (this.#isClosed || this.#watched.size === 0) return;
    this.#poll ??= setTimeout(() => void this.#pollOnce(), POLL_MS).unref();
  }

  /** Wakes the readers of logs that have grown since the last poll. */
  async #pollOnce(): Promise<void> {
    this.#listen();
    this.#wake(INBOX_KEY);
    this.#wake(ALL_KEY);
    try {
      const { rows } = await this.#pool.query<{ id: string; sequence: string }>(
        {
          name: "poll",
          text: "SELECT id, sequence FROM task WHERE id = ANY ($1::text[])",
          values: [[...this.#watched.keys()]],
        },
      );
      for (const { id, sequence } of rows) {
        const watched = this.#watched.get(id);
        if (!watched || watched.sequence === sequence) continue;
        watched.sequence = sequence;
        this.#wake(id);
      }
      // A task that is not there any more was deleted.
      const found = new Set(rows.map(({ id }) => id));
      for (const [id, watched] of this.#watched) {
        if (watched.sequence === undefined || found.has(id)) continue;
        watched.sequence = undefined;
        this.#wake(id);
      }
    } catch {
      // Tried again in a second.
    }
    this.#poll = undefined;
    this.#pollLater();
  }
}

/** Returns the line of a notification: the rows in base64, and the key. */
function lineOf([key, rows]: readonly [string, readonly Uint8Array[]]): string {
  return `${rows.map((row) => Buffer.from(row).toString("base64"))} ${key}`;
}

/** Returns the events of a line. Undefined for rows that are damaged. */
function eventsIn(rows: string): readonly TaskEvent[] | undefined {
  try {
    return rows
      .split(",")
      .flatMap((row) => decodeRow(Buffer.from(row, "base64")));
  } catch {
    return undefined;
  }
}

/** Returns the tasks of a line about deleted ones; none for a damaged line. */
function goneTasksIn(tasks: string): GoneTask[] {
  try {
    return tasks.split(",").map((each) => {
      const read: unknown = JSON.parse(Buffer.from(each, "base64").toString());
      const { taskId, contextId, principal } = isObject(read) ? read : {};
      return {
        taskId: String(taskId),
        contextId: String(contextId),
        principal: String(principal),
      };
    });
  } catch {
    return [];
  }
}

/**
 * Puts lines into as few notifications as they fit in: PostgreSQL drops equal
 * notifications, not parts of them.
 */
function payloadsOf(all: readonly string[]): string[] {
  const payloads: string[] = [];
  let lines: string[] = [];
  let bytes = 0;
  for (const line of all) {
    const size = Buffer.byteLength(line) + 1;
    if (bytes + size > MAX_PAYLOAD_BYTES && lines.length > 0) {
      payloads.push(lines.join("\n"));
      lines = [];
      bytes = 0;
    }
    // An id that no notification can hold is found by the poll.
    if (size > MAX_PAYLOAD_BYTES || line.includes("\n")) continue;
    lines.push(line);
    bytes += size;
  }
  return lines.length > 0 ? [...payloads, lines.join("\n")] : payloads;
}
