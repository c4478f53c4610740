import type { Message } from "@devtool/schema";
import type { Turn } from "../agent/agent-executor.ts";
import type { Confirmations } from "../agent/confirmations.ts";
import { isPrompt, turnNews } from "../agent/turn-news.ts";
import { TurnReplay } from "../agent/turn-replay.ts";
import type { EventLog } from "./event-log.ts";

/** Dependencies of a turn. */
export interface TurnOptions {
  readonly log: EventLog;
  /** The messages of the tasks that this one continues, oldest first. */
  readonly earlier: readonly Message[];
  readonly confirmations: Confirmations;
  /** Whether an earlier executor worked on the task. */
  readonly isRestarted: boolean;
  readonly takeSteering: () => void;
  /** See `Turn.sessionFence`. */
  readonly sessionFence: bigint;
}

/** Creates the turn that starts now, for the executor. */
export function createTurn({ log, confirmations, isRestarted, ...rest }: TurnOptions): Turn {
  const atStart = log.task;
  const replay = new TurnReplay({ task: () => log.task, confirmations });
  return {
    get task() {
      return log.task;
    },
    ...rest,
    prompt: atStart.history.findLast(isPrompt),
    news: turnNews(atStart, isRestarted),
    say: (text) => replay.say(text),
    call: (call, signal) => replay.call(call, signal),
    confirmations,
  };
}
