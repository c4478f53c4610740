import type { StepRun, Workflow, WorkflowStep } from "@devtool/schema";

/**
 * Returns the tries of a run that count for a run that goes on with it: one for
 * each path, none from `fromStep` on, and none that something has run before
 * since then.
 *
 * @param before what that run had kept itself
 * @param own its own tries
 * @param fromStep path of the first step to run again. Empty for none
 */
export function keptSteps(
  workflow: Pick<Workflow, "steps">,
  before: readonly StepRun[],
  own: readonly StepRun[],
  fromStep: string,
): readonly StepRun[] {
  const { steps } = workflow;
  const undone = new Set(
    own.filter(({ undoes }) => undoes).map(({ path }) => path),
  );
  const done = own.filter(({ path, result }) => result && !undone.has(path));
  const ran = new Set(own.map(({ path }) => path));
  const valid = before.filter(
    (kept) => ![...ran].some((path) => isAtOrBehind(steps, kept.path, path)),
  );
  return [...valid, ...done].filter(
    ({ path }) => fromStep === "" || !isAtOrBehind(steps, path, fromStep),
  );
}

/**
 * Whether a step is another one, is inside of it, or runs behind it and may have
 * its result: as a step that depends on it, or in a later round of a loop.
 */
function isAtOrBehind(
  steps: readonly WorkflowStep[],
  path: string,
  other: string,
): boolean {
  const [id = "", ...rest] = path.split("/");
  const [otherId = "", ...otherRest] = other.split("/");
  if (id !== otherId) return dependsOn(steps, id, otherId);
  const step = steps.find((one) => one.id === id);
  if (!step || otherRest.length === 0 || rest.length === 0) return true;
  if (step.loop) {
    const later = Number(rest.shift()) - Number(otherRest.shift());
    if (later !== 0) return later > 0;
    if (otherRest.length === 0 || rest.length === 0) return true;
  }
  return isAtOrBehind(step.steps, rest.join("/"), otherRest.join("/"));
}

function dependsOn(
  steps: readonly WorkflowStep[],
  id: string,
  other: string,
): boolean {
  const before = new Set([id]);
  // The loop goes on over what it adds, each step once.
  for (const one of before) {
    const step = steps.find((each) => each.id === one);
    for (const dependency of step?.dependencies ?? []) before.add(dependency);
  }
  return before.has(other);
}
