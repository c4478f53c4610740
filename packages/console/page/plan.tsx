import type { PlanStep } from "@devtool/client";
import type { ReactNode } from "react";
import { words } from "./words.ts";

/** The steps of the agent's plan, with how far each is. */
export function Plan({
  steps,
}: {
  readonly steps: readonly PlanStep[];
}): ReactNode {
  const done = steps.filter(({ status }) => status === "completed").length;
  return (
    <details className="plan" open>
      <summary>
        {words.plan} {done}/{steps.length}
      </summary>
      <ol>
        {steps.map(({ text, status }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two steps may have the same text
          <li key={index} data-status={status}>
            {text}
          </li>
        ))}
      </ol>
    </details>
  );
}
