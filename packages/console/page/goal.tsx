import { Code, ConnectError } from "@connectrpc/connect";
import { GoalState, type Task } from "@devtool/schema";
import { type ReactNode, useState } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { problemText } from "./problem-text.ts";
import { countText, words } from "./words.ts";

/** The goal of a task: its checks, how far it is, and the button to pause it. */
export function Goal({
  client,
  task: { id: taskId, goal, goalProgress },
}: {
  readonly client: ConsoleClient;
  readonly task: Task;
}): ReactNode {
  const [problem, setProblem] = useState("");
  if (!goal || !goalProgress) return null;
  const { state, turns, checks } = goalProgress;
  const states: Readonly<Record<string, string>> = words.goalStates;
  const isPassed = (command: string): boolean =>
    checks.some((check) => check.command === command && check.passed);
  const isActive = state === GoalState.ACTIVE;
  const goesOn =
    isActive || state === GoalState.PAUSED || state === GoalState.BLOCKED;
  const next = isActive ? GoalState.PAUSED : GoalState.ACTIVE;
  const change = async (): Promise<void> => {
    setProblem("");
    try {
      await client.tasks.setGoalState({ taskId, state: next });
    } catch (reason) {
      // A goal may end meanwhile, which the conversation shows then.
      if (ConnectError.from(reason).code === Code.FailedPrecondition) return;
      setProblem(problemText(reason));
    }
  };
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
      {goesOn && (
        <button type="button" onClick={() => void change()}>
          {isActive ? words.pauseGoal : words.resumeGoal}
        </button>
      )}
      {problem && <p role="alert">{problem}</p>}
    </details>
  );
}
