import type { JsonObject } from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import type { Artifact, Task, TaskEvent, ToolCall } from "@devtool/schema";

/**
 * A step of an agent's plan.
 */
export interface PlanStep {
  /** The step, in the words of the agent. */
  readonly text: string;
  readonly status: "pending" | "in_progress" | "completed";
}

/**
 * Returns the plan after an event: the steps that it gives, or the plan before
 * it.
 *
 * An agent gives its plan, each time whole, with a call of `update_plan`, or in
 * an artifact named "Plan" with a JSON object as its content.
 */
export function reducePlan(
  plan: readonly PlanStep[],
  { payload }: TaskEvent,
): readonly PlanStep[] {
  switch (payload.case) {
    case "toolCall":
      return stepsOfCall(payload.value) ?? plan;
    case "artifact": {
      const { artifact } = payload.value;
      return (artifact && stepsOfArtifact(artifact)) ?? plan;
    }
    default:
      return plan;
  }
}

/**
 * Returns the plan of a task whose events are not known. An agent gives it in
 * one of the two forms: of a task that has both, it is the artifact.
 */
export function planOf({ history, artifacts }: Task): readonly PlanStep[] {
  const ofCalls = history.flatMap(({ parts }) =>
    parts.map(({ content }) =>
      content.case === "toolCall" ? stepsOfCall(content.value) : undefined,
    ),
  );
  return (
    [...ofCalls, ...artifacts.map(stepsOfArtifact)].findLast(
      (steps) => steps !== undefined,
    ) ?? []
  );
}

function stepsOfCall({
  toolName,
  inputParameters,
}: ToolCall): readonly PlanStep[] | undefined {
  return toolName === "update_plan" ? stepsIn(inputParameters) : undefined;
}

function stepsOfArtifact({
  name,
  parts,
}: Artifact): readonly PlanStep[] | undefined {
  if (name !== "Plan") return undefined;
  const [data] = parts.flatMap(({ content }) =>
    content.case === "data" ? [content.value] : [],
  );
  return stepsIn(data);
}

/**
 * Reads the steps of a plan: `plan` with `step`, or `entries` with `content`.
 */
function stepsIn(
  data: JsonObject | undefined,
): readonly PlanStep[] | undefined {
  const list = data?.plan ?? data?.entries;
  if (!Array.isArray(list)) return undefined;
  return list
    .map(objectOrEmpty)
    .flatMap(({ step, content, status }): PlanStep[] => {
      const text = step ?? content;
      if (typeof text !== "string") return [];
      if (status === "completed") return [{ text, status }];
      return [
        {
          text,
          status:
            status === "in_progress" || status === "inProgress"
              ? "in_progress"
              : "pending",
        },
      ];
    });
}
