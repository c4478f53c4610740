import { setTimeout as delay } from "node:timers/promises";
import type { Agent, AgentEvent, Turn } from "@devtool/server";

/** The number of words of a live task. */
export const WORDS = 30;

/** The prefix of the message id that begins a live task. */
export const LIVE = "live";

/** The number of words of a task that says them as fast as it can. */
export const BURST_WORDS = 2500;

/** The prefix of the message id that begins such a task. */
export const BURST = "burst";

const WORDS_OF = new Map([
  [LIVE, WORDS],
  [BURST, BURST_WORDS],
]);

/**
 * The time in milliseconds since 1970, with fractions: the same in all
 * processes of this machine.
 */
export function wallTime(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Says the time: once, once a second in a live task, or many times at once. A
 * reader can tell how long the word took.
 */
export const clockAgent: Agent = {
  about: { name: "clock", description: "Says the time." },
  open: () => ({
    createExecutor: () => ({
      async *execute(
        { prompt }: Turn,
        signal: AbortSignal,
      ): AsyncIterable<AgentEvent> {
        const [kind = ""] = prompt?.messageId.split("-") ?? [];
        const words = WORDS_OF.get(kind) ?? 1;
        for (let word = 0; word < words; word++) {
          if (kind === LIVE) {
            await delay(500 + Math.random() * 1000, undefined, { signal });
          }
          yield { case: "text", value: `${wallTime()} ` };
        }
      },
    }),
  }),
};
