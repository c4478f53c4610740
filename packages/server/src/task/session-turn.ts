import { setTimeout as delay } from "node:timers/promises";
import type { AgentSessions, SessionTurn } from "../store/agent-sessions.ts";
import type { EventLog } from "./event-log.ts";
import type { TurnRecorder } from "./turn-recorder.ts";

/** The time in milliseconds between attempts to begin a turn while another server works in the conversation. */
const RETRY_MS = 500;

/** Dependencies of `beginSessionTurn`. */
export interface SessionTurnOptions {
  readonly sessions: AgentSessions;
  readonly log: EventLog;
  readonly recorder: TurnRecorder;
}

/**
 * Waits until no other server works in the conversation of a task, and begins a turn there.
 *
 * The task then has the id of the agent's session that the last turn used, whichever server had it.
 */
export async function beginSessionTurn(
  { sessions, log, recorder }: SessionTurnOptions,
  signal: AbortSignal,
): Promise<SessionTurn> {
  for (;;) {
    const turn = await sessions.begin(log.task);
    if (!turn) {
      await delay(RETRY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
      continue;
    }
    log.conversation.agentSessionId = turn.agentSessionId || log.conversation.agentSessionId;
    // The first event with the id puts it into the task. Store failures surface on the next append.
    if (log.task.agentSessionId !== log.conversation.agentSessionId)
      recorder.append([{ payload: { case: undefined } }]).catch(() => undefined);
    return turn;
  }
}
