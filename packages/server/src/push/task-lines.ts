import type { PushSubscription } from "@devtool/schema";
import { keyOf } from "../store/push-config-store.ts";
import { type LineParts, type LineTarget, PushLine } from "./push-line.ts";

/** A stop of a line lets a post on its way come to its end for so long, in milliseconds. */
const GRACE_MS = 2000;

/** What the lines of a task need. */
export interface TaskLinesOptions {
  readonly taskId: string;
  readonly parts: LineParts;
  /** Finds where a config leads; undefined for a format that this server does not post in. */
  readonly targetOf: (subscription: PushSubscription) => LineTarget | undefined;
  /** Is told when there is nothing left to do. */
  readonly onIdle: () => void;
}

/** The lines from one task to its configs. */
export class TaskLines {
  readonly #options: TaskLinesOptions;
  readonly #lines = new Map<string, PushLine>();
  /** Configs change one after the other. */
  #changing: Promise<void> = Promise.resolve();
  #changes = 0;

  /** Reads the configs and begins. */
  constructor(options: TaskLinesOptions) {
    this.#options = options;
    this.#change(async () => {
      const { parts, taskId } = options;
      for (const subscription of await parts.configs.list(taskId)) this.#start(subscription);
    });
  }

  /** Resolves when the configs were read and all changes so far were taken. */
  get settled(): Promise<void> {
    return this.#changing;
  }

  /** Tells whether nothing is left to do. */
  get isIdle(): boolean {
    return this.#changes === 0 && [...this.#lines.values()].every(({ isIdle }) => isIdle);
  }

  /** Tells whether no config posts any more. */
  get isEnded(): boolean {
    return [...this.#lines.values()].every(({ isEnded }) => isEnded);
  }

  /** Tells the lines that there are events. */
  wake(): void {
    for (const line of this.#lines.values()) line.wake();
  }

  /** Takes a config that was stored, replaced or deleted. */
  changed(configId: string): Promise<void> {
    return this.#change(async () => {
      const { parts, taskId } = this.#options;
      await this.#lines.get(configId)?.stop(GRACE_MS);
      this.#lines.delete(configId);
      const subscription = await parts.configs.get({ taskId, configId });
      if (subscription) this.#start(subscription);
    });
  }

  /** Ends all lines. */
  async stop(): Promise<void> {
    await this.#changing;
    await Promise.all([...this.#lines.values()].map((line) => line.stop(GRACE_MS)));
  }

  #change(run: () => Promise<void>): Promise<void> {
    this.#changes++;
    this.#changing = this.#changing
      .then(run)
      .catch(this.#options.parts.onError)
      .finally(() => {
        this.#changes--;
        this.#options.onIdle();
      });
    return this.#changing;
  }

  #start(subscription: PushSubscription): void {
    const { configId } = keyOf(subscription);
    const target = this.#options.targetOf(subscription);
    if (!target || this.#lines.has(configId)) return;
    const { parts, onIdle } = this.#options;
    const line = new PushLine(parts, subscription, { ...target, onIdle });
    this.#lines.set(configId, line);
    line.wake();
  }
}
