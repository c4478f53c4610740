import { setTimeout as delay } from "node:timers/promises";
import type { Agent, AgentEvent, Turn } from "@devtool/server";

/** The number of words of a live task. */
export const WORDS = 10;

/** The prefix of the message id that begins a live task. */
export const LIVE = "live";

/**
 * The time in milliseconds since 1970, with fractions: the same in all
 * processes of this machine.
 */
export function wallTime(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Says the time once, or once a second in a live task: a reader knows how long
 * the word took.
 */
export const clockAgent: Agent = {
  about: { name: "clock", description: "Says the time." },
  open: () => ({
    createExecutor: () => ({
      async *execute(
        { prompt }: Turn,
        signal: AbortSignal,
      ): AsyncIterable<AgentEvent> {
        const words = prompt?.messageId.startsWith(LIVE) ? WORDS : 1;
        for (let word = 0; word < words; word++) {
          if (words > 1) {
            await delay(500 + Math.random() * 1000, undefined, { signal });
          }
          yield { case: "text", value: `${wallTime()} ` };
        }
      },
    }),
  }),
};
