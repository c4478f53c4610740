import type { Message } from "@devtool/schema";
import type { Turn } from "../agent/agent-executor.ts";
import type { Confirmations } from "../agent/confirmations.ts";
import { promptOf, turnNews } from "../agent/turn-news.ts";
import { TurnReplay } from "../agent/turn-replay.ts";
import type { EventLog } from "./event-log.ts";

/** Dependencies of a turn. */
export interface TurnOptions {
  readonly log: EventLog;
  /** What was said in the tasks that this one goes on from. */
  readonly earlier: readonly Message[];
  readonly confirmations: Confirmations;
  /** Whether another executor worked on the task before. */
  readonly isRestarted: boolean;
  readonly takeSteering: () => void;
}

/** Makes the turn that begins now, as its agent sees it. */
export function createTurn({ log, earlier, confirmations, isRestarted, takeSteering }: TurnOptions): Turn {
  const { task: begun } = log;
  const replay = new TurnReplay({ task: () => log.task, confirmations });
  return {
    get task() {
      return log.task;
    },
    earlier,
    prompt: promptOf(begun),
    news: turnNews(begun, isRestarted),
    say: (text) => replay.say(text),
    call: (call, signal) => replay.call(call, signal),
    confirmations,
    takeSteering,
  };
}
