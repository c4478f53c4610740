import { GoalState, type Task } from "@devtool/schema";
import type { ReactNode } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { countText, words } from "./words.ts";

/** The goal of a task: its checks, how far it is, and the button to pause it. */
export function Goal({
  client,
  task: { id: taskId, goal, goalProgress },
}: {
  readonly client: ConsoleClient;
  readonly task: Task;
}): ReactNode {
  if (!goal || !goalProgress) return null;
  const { state, turns, checks } = goalProgress;
  const states: Readonly<Record<string, string>> = words.goalStates;
  const isPassed = (command: string): boolean =>
    checks.some((check) => check.command === command && check.passed);
  const isActive = state === GoalState.ACTIVE;
  const goesOn =
    isActive || state === GoalState.PAUSED || state === GoalState.BLOCKED;
  const next = isActive ? GoalState.PAUSED : GoalState.ACTIVE;
  return (
    <details className="plan" open>
      <summary>
        {words.goal} · {states[GoalState[state]]} ·{" "}
        {countText(words.turns, turns)}
      </summary>
      <ol>
        {goal.checks.map((command, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a goal may have a check twice
          <li key={index} data-status={isPassed(command) && "completed"}>
            <code>{command}</code>
          </li>
        ))}
      </ol>
      {/* A goal may end meanwhile, which the conversation shows then. */}
      {goesOn && (
        <button
          type="button"
          onClick={() =>
            void client.tasks
              .setGoalState({ taskId, state: next })
              .catch(() => undefined)
          }
        >
          {isActive ? words.pauseGoal : words.resumeGoal}
        </button>
      )}
    </details>
  );
}
