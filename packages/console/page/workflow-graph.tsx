import { keepStart } from "@devtool/internal/cut-text";
import { visibleText } from "@devtool/internal/visible-text";
import type { Task } from "@devtool/schema";
import type { ReactNode } from "react";
import { Scrolling } from "./scrolling.tsx";
import { fillText, words } from "./words.ts";
import { type GraphStep, stepsOfRun } from "./workflow-steps.ts";

/** The size of a step and the space behind it, in pixels. */
const STEP = { width: 148, height: 44, gapX: 40, gapY: 16 };
/** The maximum number of characters of a name in the picture. */
const MAX_NAME = 18;

/** A step with its place in the picture. */
type PlacedStep = GraphStep & { readonly x: number; readonly y: number };

/**
 * The run of a workflow: its steps in the order of their dependencies, as a
 * picture and as a list, each with how far it is. Nothing for other tasks.
 */
export function WorkflowGraph({ task }: { readonly task: Task }): ReactNode {
  const name = task.workflowRun?.workflow?.name;
  if (name === undefined) return null;
  const steps = placed(stepsOfRun(task));
  const done = steps.filter(({ status }) => status === "succeeded").length;
  return (
    <details className="plan workflow" open>
      <summary>
        {words.workflow} {visibleText(name)} {done}/{steps.length}
      </summary>
      <Scrolling label={words.workflow}>
        <Picture steps={steps} />
      </Scrolling>
      <ol>
        {steps.map(({ path, agent, status, round, attempt }) => (
          <li key={path}>
            {visibleText([path, agent].join(" · "))} · {words.calls[status]}
            {round && ` · ${fillText(words.round, round)}`}
            {attempt > 1 && ` · ${fillText(words.attempt, String(attempt))}`}
          </li>
        ))}
      </ol>
    </details>
  );
}

/** The same as the list beside it. */
function Picture({ steps }: { readonly steps: readonly PlacedStep[] }) {
  const byPath = new Map(steps.map((step) => [step.path, step]));
  const width = Math.max(...steps.map(({ x }) => x)) + STEP.width + 2;
  const height = Math.max(...steps.map(({ y }) => y)) + STEP.height + 2;
  return (
    <svg width={width} height={height} aria-hidden="true">
      {steps.flatMap((step) =>
        step.before.map((path) => (
          <path key={`${path} ${step.path}`} d={edge(byPath.get(path), step)} />
        )),
      )}
      {steps.map(({ path, status, x, y }) => (
        <g key={path} data-status={status}>
          <rect x={x} y={y} width={STEP.width} height={STEP.height} rx={8} />
          <text x={x + 10} y={y + 18}>
            {shortName(path)}
          </text>
          <text x={x + 10} y={y + 35}>
            {words.calls[status]}
          </text>
        </g>
      ))}
    </svg>
  );
}

/** Places the steps: a column for each layer. */
function placed(steps: readonly GraphStep[]): readonly PlacedStep[] {
  const rows = new Map<number, number>();
  return steps.map((step) => {
    const row = rows.get(step.layer) ?? 0;
    rows.set(step.layer, row + 1);
    const x = 1 + step.layer * (STEP.width + STEP.gapX);
    const y = 1 + row * (STEP.height + STEP.gapY);
    return { ...step, x, y };
  });
}

/** Returns the line from a step to the one behind it. */
function edge(from: PlacedStep | undefined, to: PlacedStep): string {
  if (!from) return "";
  const [x, y] = [from.x + STEP.width, from.y + STEP.height / 2];
  const [toX, toY] = [to.x, to.y + STEP.height / 2];
  const middle = (x + toX) / 2;
  return `M${x} ${y}C${middle} ${y} ${middle} ${toY} ${toX} ${toY}`;
}

/** Returns the last ids of a path that have room. */
function shortName(path: string): string {
  const text = visibleText(path);
  if (text.length <= MAX_NAME) return text;
  const last = visibleText(path.split("/").at(-1) ?? "");
  return last.length <= MAX_NAME ? last : `${keepStart(last, MAX_NAME - 1)}…`;
}
