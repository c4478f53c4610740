import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  type Workflow,
  WorkflowSchema,
  type WorkflowStep,
} from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import { type Reference, referencesOf } from "./template.ts";

const MAX_STEPS = 100;
const MAX_NESTING = 8;
const NAME = /^[\w-]{1,50}$/;

/**
 * Creates a workflow, and checks it.
 *
 * Throws `Code.InvalidArgument` for one that cannot run: the error names the
 * step, the value and what to do.
 */
export function defineWorkflow(
  fields: MessageInitShape<typeof WorkflowSchema>,
): Workflow {
  const workflow = create(WorkflowSchema, fields);
  checkWorkflow(workflow);
  return workflow;
}

/**
 * Throws `Code.InvalidArgument` for a workflow that cannot run: the error names
 * the step, the value and what to do.
 */
export function checkWorkflow(workflow: Workflow): void {
  const { name, steps, output, concurrency = 1 } = workflow;
  if (!NAME.test(name)) {
    throw wrong(
      `name ${quoted(name)} is not 1 to 50 letters, digits, - and _`,
      "name it",
    );
  }
  if (concurrency < 1 || concurrency > 16) {
    throw wrong(
      `concurrency ${concurrency} is out of range`,
      "write a number from 1 to 16",
    );
  }
  const count = everyStep(workflow).length;
  if (count === 0 || count > MAX_STEPS) {
    throw wrong(`it has ${count} steps`, `write 1 to ${MAX_STEPS}`);
  }
  checkList(steps, "", { visible: new Set(), later: false, depth: 1 });
  const ids = new Set(steps.map(({ id }) => id));
  checkText("output", output, { visible: ids, inputs: new Set() });
}

/** Returns the steps of a workflow, with those inside of others. */
export function everyStep({
  steps,
}: Pick<Workflow, "steps">): readonly WorkflowStep[] {
  return steps.flatMap((step) => [step, ...everyStep(step)]);
}

/** Where a list of steps is. */
interface Place {
  /** The ids of outer steps whose results it sees. */
  readonly visible: ReadonlySet<string>;
  /** Whether a round of a loop has the results of the round before. */
  readonly later: boolean;
  readonly depth: number;
}

function checkList(
  steps: readonly WorkflowStep[],
  prefix: string,
  place: Place,
): void {
  if (place.depth > MAX_NESTING) {
    throw wrong(
      `step ${quoted(prefix)} is too deep: limit is ${MAX_NESTING}`,
      "make it a workflow of its own",
    );
  }
  const ids = new Set<string>();
  for (const { id } of steps) {
    if (!NAME.test(id)) {
      throw wrong(
        `step id ${quoted(prefix + id)} is not 1 to 50 letters, digits, - and _`,
        "give the step another id",
      );
    }
    if (ids.has(id) || place.visible.has(id)) {
      throw wrong(
        `step id ${quoted(prefix + id)} is there twice`,
        "give one of the steps another id",
      );
    }
    ids.add(id);
  }
  const before = dependenciesOf(steps, prefix, ids);
  for (const step of steps) {
    const seen = place.later ? ids : (before.get(step.id) ?? []);
    checkStep(step, prefix, {
      ...place,
      visible: new Set([...place.visible, ...seen]),
    });
  }
}

/** Returns all steps that come before each one. Throws for a cycle. */
function dependenciesOf(
  steps: readonly WorkflowStep[],
  prefix: string,
  ids: ReadonlySet<string>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, ReadonlySet<string>>();
  const visit = (step: WorkflowStep, path: readonly string[]): void => {
    if (path.includes(step.id)) {
      const cycle = [...path.slice(path.indexOf(step.id)), step.id];
      throw wrong(
        `steps depend on each other: ${cycle.map(quoted).join(" → ")}`,
        "take one of these dependencies away",
      );
    }
    if (found.has(step.id)) return;
    const all = new Set<string>();
    for (const id of step.dependencies) {
      const other = steps.find((one) => one.id === id);
      if (!other) {
        const others = new Set([...ids].filter((one) => one !== step.id));
        throw unknownStep(`step ${quoted(prefix + step.id)}`, id, others);
      }
      visit(other, [...path, step.id]);
      for (const each of [id, ...(found.get(id) ?? [])]) all.add(each);
    }
    found.set(step.id, all);
  };
  for (const step of steps) visit(step, []);
  return found;
}

function checkStep(step: WorkflowStep, prefix: string, place: Place): void {
  const path = prefix + step.id;
  const what = `step ${quoted(path)}`;
  checkKind(step, what);
  checkLimits(step, what);
  const { visible } = place;
  const loop = step.loop;
  const inputs = new Set(Object.keys(step.inputs));
  const own = loop ? new Set([...visible, step.id]) : visible;
  for (const [name, text] of Object.entries(step.inputs)) {
    if (!NAME.test(name)) {
      throw wrong(
        `${what} has the input ${quoted(name)}, which is not letters, digits, - and _`,
        "give it another name",
      );
    }
    checkText(`${what}, inputs.${name}`, text, {
      visible: own,
      inputs: new Set(),
    });
  }
  checkText(`${what}, task`, step.task, { visible: own, inputs });
  checkText(`${what}, approval`, step.approval, { visible: own, inputs });
  checkText(`${what}, undo`, step.undo, {
    visible: new Set([...visible, step.id]),
    inputs,
  });
  checkList(step.steps, `${path}/`, {
    visible,
    later: place.later || loop !== undefined,
    depth: place.depth + 1,
  });
  const inside = new Set([...visible, ...step.steps.map(({ id }) => id)]);
  checkText(`${what}, output`, step.output, { visible: inside, inputs });
  const looped = new Set([...inside, step.id]);
  checkText(`${what}, loop.until`, loop?.until ?? "", {
    visible: looped,
    inputs,
  });
}

function checkKind(step: WorkflowStep, what: string): void {
  const kinds = [
    step.agent !== "" && "agent",
    step.workflow !== "" && "workflow",
    step.steps.length > 0 && "steps",
  ].filter((kind) => kind !== false);
  if (kinds.length !== 1) {
    const has = kinds.length === 0 ? "nothing" : kinds.join(" and ");
    throw wrong(
      `${what} has ${has} that does it`,
      "give it one of agent, workflow and steps",
    );
  }
  const [kind = ""] = kinds;
  if (kind === "agent" && step.task.trim() === "") {
    throw wrong(`${what} has no task`, "say what the agent is to do");
  }
  const extra = [
    kind === "steps" && step.task !== "" && "task",
    kind === "steps" && Object.keys(step.inputs).length > 0 && "inputs",
    kind === "steps" && step.retries !== 0 && "retries",
    kind === "steps" && step.retryDelay && "retry_delay",
    kind === "steps" && step.timeout && "timeout",
    kind !== "agent" && step.undo !== "" && "undo",
    kind !== "steps" && step.output !== "" && "output",
  ].find((field) => typeof field === "string");
  if (extra) {
    throw wrong(
      `${what} has ${extra}, which a step with ${kind} does not use`,
      "take it away",
    );
  }
}

function checkLimits(
  { retries, retryDelay, timeout, loop }: WorkflowStep,
  what: string,
): void {
  if (retries < 0 || retries > 10) {
    throw wrong(
      `${what} has retries ${retries}`,
      "write a number from 0 to 10",
    );
  }
  const times = { retry_delay: retryDelay, timeout };
  for (const [name, time] of Object.entries(times)) {
    if (!time || time.seconds > 0n || (time.seconds === 0n && time.nanos > 0)) {
      continue;
    }
    throw wrong(
      `${what} has a ${name} of ${durationMs(time) / 1000} s`,
      'write a time above zero, such as "30s"',
    );
  }
  if (retryDelay && retries === 0) {
    throw wrong(`${what} has retry_delay and no retries`, "write retries, too");
  }
  if (!loop) return;
  const { max, until, startsWith } = loop;
  if (max < 1 || max > 100) {
    throw wrong(`${what} has loop.max ${max}`, "write a number from 1 to 100");
  }
  if (until === "" || startsWith === "") {
    throw wrong(
      `${what} has a loop without ${until === "" ? "until" : "starts_with"}`,
      "say which text ends it, and how that text begins",
    );
  }
}

interface Seen {
  readonly visible: ReadonlySet<string>;
  readonly inputs: ReadonlySet<string>;
}

function checkText(where: string, text: string, seen: Seen): void {
  let references: readonly Reference[];
  try {
    references = referencesOf(text);
  } catch (reason) {
    const { problem, remedy } = DevtoolError.from(reason);
    throw wrong(`${where}: ${problem}`, remedy);
  }
  for (const reference of references) checkReference(where, reference, seen);
}

function checkReference(
  where: string,
  reference: Reference,
  { visible, inputs }: Seen,
): void {
  const [root = "", name = "", kind = "", ...more] = reference;
  const written = quoted(`{{${reference.join(".")}}}`);
  switch (root) {
    case "input":
      if (name !== "") return;
      throw wrong(
        `${where}: ${written} names no field`,
        "write {{input.text}}",
      );
    case "inputs":
      if (inputs.has(name)) return;
      throw wrong(
        `${where}: ${written} is no input of the step`,
        inputs.size === 0
          ? "give the step inputs"
          : `choose ${[...inputs].join(", ")}`,
      );
    case "steps":
      if (!visible.has(name)) throw unknownStep(where, name, visible);
      if (kind === "result" || (kind === "error" && more.length === 0)) return;
      throw wrong(
        `${where}: ${written} is neither a result nor an error`,
        `write {{steps.${name}.result.text}}`,
      );
    default:
      throw wrong(
        `${where}: ${written} begins with ${quoted(root)}`,
        "write steps, input or inputs",
      );
  }
}

function unknownStep(
  where: string,
  id: string,
  known: ReadonlySet<string>,
): DevtoolError {
  const choices = [...known].join(", ");
  return wrong(
    `${where} refers to step ${quoted(id)}, which is not there or not before it`,
    choices === ""
      ? "name it in dependencies"
      : `choose ${choices}, or name it in dependencies`,
  );
}

function wrong(problem: string, remedy: string): DevtoolError {
  return new DevtoolError(`workflow: ${problem}`, Code.InvalidArgument, {
    remedy,
  });
}
