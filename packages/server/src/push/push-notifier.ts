import type { PushConfig, PushSubscription } from "@devtool/schema";
import type { PushConfigKey } from "../store/push-config-store.ts";
import { Endpoint } from "./endpoint.ts";
import type { PushEncodings } from "./push-format.ts";
import type { LineParts, LineTarget } from "./push-line.ts";
import { Slots } from "./slots.ts";
import { TaskLines } from "./task-lines.ts";

/** So many posts may be on their way at once. */
const MAX_IN_FLIGHT = 64;

/** So many hosts are remembered before those are forgotten that have nothing to remember. */
const MAX_ENDPOINTS = 1024;

/** What a notifier needs. */
export interface PushNotifierOptions extends Omit<LineParts, "slots"> {
  readonly encodings: PushEncodings;
}

/**
 * Posts the events of tasks to their configs, at least once and in order per task (PUSH-1). The outbox is the tasks' own
 * logs, read from the cursor of each config: a stop or a crash loses nothing, and at most the one post of a config that
 * was on its way is made twice.
 */
export class PushNotifier implements AsyncDisposable {
  readonly #parts: LineParts;
  readonly #encodings: PushEncodings;
  /** The tasks with a config that posts: those of all others cost nothing. */
  readonly #active = new Set<string>();
  readonly #tasks = new Map<string, TaskLines>();
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #stopping = new AbortController();

  constructor({ encodings, ...parts }: PushNotifierOptions) {
    this.#encodings = encodings;
    this.#parts = { ...parts, slots: new Slots(() => MAX_IN_FLIGHT) };
  }

  /** Goes on with what an earlier run of the server left. */
  async start(): Promise<void> {
    for await (const taskId of this.#parts.configs.activeTasks()) {
      if (this.#stopping.signal.aborted) return;
      this.#active.add(taskId);
      await (this.#tasks.get(taskId) ?? this.#open(taskId)).settled;
    }
  }

  /** Tells it that a task has new events, which are durable. */
  wake(taskId: string): void {
    if (!this.#active.has(taskId) || this.#stopping.signal.aborted) return;
    const lines = this.#tasks.get(taskId);
    if (lines) lines.wake();
    else this.#open(taskId);
  }

  /** Tells it that a config was stored, replaced or deleted. Resolves when nothing is posted by the earlier one. */
  async changed({ taskId, configId }: PushConfigKey): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#active.add(taskId);
    const lines = this.#tasks.get(taskId);
    await (lines ? lines.changed(configId) : this.#open(taskId).settled);
  }

  /** Stops posting; what is left is posted after the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#tasks.values()].map((lines) => lines.stop()));
    this.#tasks.clear();
  }

  #open(taskId: string): TaskLines {
    const lines: TaskLines = new TaskLines({
      taskId,
      parts: this.#parts,
      targetOf: (subscription) => this.#targetOf(subscription),
      onIdle: () => {
        if (lines.isIdle) this.#close(taskId, lines);
      },
    });
    this.#tasks.set(taskId, lines);
    return lines;
  }

  /** Forgets a task that rests: what comes next opens it anew. */
  #close(taskId: string, lines: TaskLines): void {
    if (this.#tasks.get(taskId) !== lines) return;
    this.#tasks.delete(taskId);
    if (lines.isEnded) this.#active.delete(taskId);
  }

  #targetOf({ config, principal }: PushSubscription): LineTarget | undefined {
    const encoding = config && this.#encodings.get(config.format);
    return encoding && { encoding, endpoint: this.#endpointOf(config, principal) };
  }

  /** Who shares a host shares a circuit, but nobody trips another principal's. */
  #endpointOf({ url }: PushConfig, principal: string): Endpoint {
    const key = JSON.stringify([principal, URL.parse(url)?.origin]);
    const known = this.#endpoints.get(key);
    if (known) return known;
    const { clock, random } = this.#parts;
    const endpoint = new Endpoint({ clock, random, stopped: this.#stopping.signal });
    if (this.#endpoints.size >= MAX_ENDPOINTS) this.#forgetEndpoints();
    this.#endpoints.set(key, endpoint);
    return endpoint;
  }

  #forgetEndpoints(): void {
    for (const [key, endpoint] of this.#endpoints) if (endpoint.isAtRest) this.#endpoints.delete(key);
  }
}
