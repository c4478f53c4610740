import { describeToolCall } from "@devtool/react";
import { isTerminal, type Task, type WorkflowStep } from "@devtool/schema";

/** How far a tool call is. */
type Status = NonNullable<ReturnType<typeof describeToolCall>>["status"];

/** A step of a workflow that an agent does, and how far it is. */
export interface GraphStep {
  /** Its ids and those of the steps around it: `draft/write`. */
  readonly path: string;
  readonly agent: string;
  /** The paths of the steps that come right before it. */
  readonly before: readonly string[];
  /** How many steps come before it, at most. */
  readonly layer: number;
  readonly status: Status;
  /** Its round in the innermost loop around it; empty outside of loops. */
  readonly round: string;
  /** The number of its try; 0 before the first. */
  readonly attempt: number;
}

/** A step as the workflow has it. */
type PlannedStep = Pick<GraphStep, "path" | "agent" | "before" | "layer"> & {
  /** The segments of its paths in runs; undefined for the number of a round. */
  readonly segments: readonly (string | undefined)[];
};

/** A place in a workflow: what is around a list of steps, and before it. */
type Place = Pick<PlannedStep, "path" | "segments" | "before">;

/** Lists the steps of the workflow whose run a task is, those before first. */
export function stepsOfRun(task: Task): readonly GraphStep[] {
  const planned: PlannedStep[] = [];
  const whole = { path: "", segments: [], before: [] };
  plan(task.workflowRun?.workflow?.steps ?? [], whole, planned);
  const runs = runsOf(task);
  const rest = isTerminal(task.state) ? "cancelled" : "waiting";
  return planned.map(({ segments, ...step }) => {
    const run = runs.findLast(({ path }) => fits(path, segments));
    const rounds = run?.path.filter((_, at) => segments[at] === undefined);
    return {
      ...step,
      status: run?.status ?? rest,
      round: rounds?.at(-1) ?? "",
      attempt: run?.attempt ?? 0,
    };
  });
}

/** Adds the steps of a list to a plan, and returns the paths of the last ones. */
function plan(
  steps: readonly WorkflowStep[],
  around: Place,
  planned: PlannedStep[],
): readonly string[] {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const ends = new Map<string, readonly string[]>();
  const endsOf = (id: string): readonly string[] => {
    const known = ends.get(id);
    const step = byId.get(id);
    if (known || !step) return known ?? [];
    const { dependencies } = step;
    const before =
      dependencies.length > 0 ? dependencies.flatMap(endsOf) : around.before;
    const path = around.path === "" ? id : `${around.path}/${id}`;
    const round = step.loop ? [undefined] : [];
    const segments = [...around.segments, id, ...round];
    const found =
      step.steps.length > 0
        ? plan(step.steps, { path, segments, before }, planned)
        : [path];
    if (step.steps.length === 0) {
      const layers = planned.flatMap((one) =>
        before.includes(one.path) ? [one.layer + 1] : [],
      );
      const agent = step.agent || step.workflow;
      const layer = Math.max(0, ...layers);
      planned.push({ path, agent, before, segments, layer });
    }
    ends.set(id, found);
    return found;
  };
  const needed = new Set(steps.flatMap(({ dependencies }) => dependencies));
  const all = steps.map(({ id }) => [id, endsOf(id)] as const);
  return all.flatMap(([id, found]) => (needed.has(id) ? [] : found));
}

/** A try of a step, or the question whether it may begin. */
interface Run {
  readonly path: readonly string[];
  readonly status: Status;
  readonly attempt: number;
}

/** How the id of the call begins that asks whether a step may begin. */
const APPROVAL = "approval:";

/** Lists the tries and questions of a run, the last ones last. */
function runsOf({ history, workflowRun }: Task): readonly Run[] {
  const runs: Run[] = (workflowRun?.kept ?? []).map(({ path, attempt }) => ({
    path: path.split("/"),
    status: "succeeded",
    attempt,
  }));
  const parts = history.flatMap((message) => message.parts);
  // The calls whose agents ask.
  const asking = new Set(
    parts.flatMap((part) => {
      const isAsking = describeToolCall(part)?.status === "asking";
      return isAsking ? [part.toolCallDetail?.parentToolCallId] : [];
    }),
  );
  for (const part of parts) {
    const { stepRun } = part.toolCallDetail ?? {};
    const { call, status } = describeToolCall(part) ?? {};
    if (!call || !status) continue;
    const { toolCallId: id } = call;
    if (stepRun && !stepRun.undoes) {
      const isAsking = status === "running" && asking.has(id);
      runs.push({
        path: stepRun.path.split("/"),
        status: isAsking ? "asking" : status,
        attempt: stepRun.attempt,
      });
    } else if (id.startsWith(APPROVAL) && status === "asking") {
      // Behind the path stands a count where the turn was cut before.
      const [path = ""] = id.slice(APPROVAL.length).split(":");
      runs.push({ path: path.split("/"), status, attempt: 0 });
    }
  }
  return runs;
}

function fits(
  path: readonly string[],
  segments: PlannedStep["segments"],
): boolean {
  return (
    path.length === segments.length &&
    segments.every((one, at) => one === undefined || one === path[at])
  );
}
