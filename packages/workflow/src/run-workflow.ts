import type { JsonObject } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { Semaphore } from "@devtool/internal/semaphore";
import {
  FailureAction,
  type StepRun,
  type WorkflowRun,
  type WorkflowStep,
} from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import type { RunCalls, StepCall, StepEnd } from "./run-calls.ts";
import {
  referencesOf,
  render,
  renderResult,
  type Scope,
  type StepValue,
} from "./template.ts";

/** How many agents work at the same time, if a workflow does not say. */
const CONCURRENCY = 4;
/** Maximum number of tries in a run, without those that undo. */
const MAX_TRIES = 1000;

/**
 * Runs a workflow that `checkWorkflow` accepts, and returns its result: `text`,
 * and what else it has.
 *
 * Rejects with a `DevtoolError` when the workflow fails, and with the signal's
 * reason when that aborts.
 */
export async function runWorkflow(
  run: WorkflowRun,
  calls: RunCalls,
  signal: AbortSignal,
): Promise<JsonObject> {
  return new Runner(run, calls, signal).run();
}

/** The failure of a step, with its path in the words. */
class StepFailure extends DevtoolError {
  constructor(
    problem: string,
    /** Whether what was done is undone. */
    readonly compensates: boolean,
  ) {
    super(problem, Code.Aborted);
  }
}

/** The failure of a run that no step can go on behind. */
class RunFailure extends DevtoolError {}

/** A step that an agent has done in this run, and that `undo` can undo. */
interface DoneStep {
  readonly step: WorkflowStep;
  readonly path: string;
  /** What the agent is told, or why that cannot be said. */
  readonly undo: string | DevtoolError;
  readonly endMs: number;
}

/** What the steps of a list come to. */
class Values {
  /** By id. A round of a loop begins with those of the round before. */
  readonly steps: Map<string, StepValue> = new Map();
  readonly #inside = new Map<string, Values>();

  /** Returns what the steps inside of a step come to. */
  inside(id: string): Values {
    const values = this.#inside.get(id) ?? new Values();
    this.#inside.set(id, values);
    return values;
  }
}

/** Where a list of steps is. */
interface Place {
  /** Begins the paths of its steps. */
  readonly prefix: string;
  readonly scope: Scope;
  /** Gets what its steps come to. */
  readonly values: Values;
  /** Whether results of a run before count, if there are any. */
  readonly mayKeep: boolean;
}

const NOTHING: StepValue = { result: { text: "" }, error: "", isKept: true };

class Runner {
  readonly #run: WorkflowRun;
  readonly #calls: RunCalls;
  readonly #signal: AbortSignal;
  readonly #kept: ReadonlyMap<string, StepRun>;
  readonly #slots: Semaphore;
  readonly #done: DoneStep[] = [];
  #tryCount = 0;

  constructor(run: WorkflowRun, calls: RunCalls, signal: AbortSignal) {
    this.#run = run;
    this.#calls = calls;
    this.#signal = signal;
    this.#kept = new Map(run.kept.map((one) => [one.path, one]));
    this.#slots = new Semaphore(run.workflow?.concurrency ?? CONCURRENCY);
  }

  async run(): Promise<JsonObject> {
    const { workflow, input = {} } = this.#run;
    const { steps = [], output = "" } = workflow ?? {};
    const values = new Values();
    const scope: Scope = { input, inputs: {}, steps: values.steps };
    try {
      const place = { prefix: "", scope, values, mayKeep: true };
      await this.#runList(steps, place, this.#signal);
      return resultOf(steps, output, scope);
    } catch (reason) {
      this.#signal.throwIfAborted();
      if (!(reason instanceof DevtoolError)) throw reason;
      const problem = wordsOf(reason);
      const compensates = reason instanceof StepFailure && reason.compensates;
      const undone = compensates ? await this.#undoAll() : "";
      throw new DevtoolError(problem + undone, Code.Aborted);
    }
  }

  /**
   * Runs the steps of a list, each one when those before it have ended, and puts
   * what they come to into `values`. The first failure ends all of them.
   */
  async #runList(
    steps: readonly WorkflowStep[],
    place: Place,
    signal: AbortSignal,
  ): Promise<void> {
    const failed = new AbortController();
    const until = AbortSignal.any([signal, failed.signal]);
    const begun = new Map<string, Promise<void>>();
    const begin = (step: WorkflowStep): Promise<void> => {
      const known = begun.get(step.id);
      if (known) return known;
      const before = steps.filter(({ id }) => step.dependencies.includes(id));
      const ended = Promise.all(before.map(begin)).then(() =>
        this.#runStep(step, place, until),
      );
      begun.set(step.id, ended);
      return ended;
    };
    const all = steps.map(begin);
    try {
      await Promise.all(all);
    } catch (reason) {
      failed.abort(new DevtoolError(wordsOf(reason), Code.Aborted));
      await Promise.allSettled(all);
      throw reason;
    }
  }

  async #runStep(
    step: WorkflowStep,
    place: Place,
    signal: AbortSignal,
  ): Promise<void> {
    const { id, dependencies, onFailure } = step;
    const values = place.values.steps;
    const path = place.prefix + id;
    // What was kept is of no use behind what runs again.
    const mayKeep =
      place.mayKeep && dependencies.every((one) => values.get(one)?.isKept);
    try {
      const value = await this.#rounds(
        step,
        path,
        { ...place, mayKeep },
        signal,
      );
      values.set(id, value);
    } catch (reason) {
      signal.throwIfAborted();
      if (!(reason instanceof DevtoolError)) throw reason;
      if (reason instanceof RunFailure) throw reason;
      if (onFailure === FailureAction.CONTINUE) {
        const error = wordsOf(reason);
        values.set(id, { ...NOTHING, error, isKept: false });
        return;
      }
      const isInner = reason instanceof StepFailure;
      throw new StepFailure(
        isInner
          ? reason.problem
          : `step ${quoted(path)} failed: ${wordsOf(reason)}`,
        onFailure === FailureAction.COMPENSATE ||
          (isInner && reason.compensates),
      );
    }
  }

  async #rounds(
    step: WorkflowStep,
    path: string,
    place: Place,
    signal: AbortSignal,
  ): Promise<StepValue> {
    const { loop } = step;
    const inner = place.values.inside(step.id);
    if (!loop) return this.#once(step, path, inner, place, signal);
    let said = "";
    let { mayKeep } = place;
    for (let round = 1; round <= loop.max; round++) {
      const at = `${path}/${round}`;
      const here = { ...place, mayKeep };
      const value = await this.#once(step, at, inner, here, signal);
      mayKeep = value.isKept;
      place.values.steps.set(step.id, value);
      said = render(loop.until, inside(place.scope, inner.steps)).trim();
      if (said.startsWith(loop.startsWith)) return value;
    }
    const problem = `after ${loop.max} rounds, loop.until does not begin with ${quoted(loop.startsWith)}, but says ${quoted(said)}`;
    throw new DevtoolError(problem, Code.Aborted);
  }

  /** Runs a round of a step: what is inside of it, or its agent. */
  async #once(
    step: WorkflowStep,
    path: string,
    inner: Values,
    { scope: outer, mayKeep }: Place,
    signal: AbortSignal,
  ): Promise<StepValue> {
    if (step.steps.length > 0) {
      const scope = inside(outer, inner.steps);
      await this.#approve(step, path, scope, "", signal);
      const place = { prefix: `${path}/`, scope, values: inner, mayKeep };
      await this.#runList(step.steps, place, signal);
      const isKept = step.steps.every(({ id }) => inner.steps.get(id)?.isKept);
      return {
        result: resultOf(step.steps, step.output, scope),
        error: "",
        isKept,
      };
    }
    const inputs = Object.fromEntries(
      Object.entries(step.inputs).map(([name, text]) => [
        name,
        render(text, outer),
      ]),
    );
    const scope = { ...outer, inputs };
    const kept = mayKeep ? this.#kept.get(path) : undefined;
    // What another run did is not undone by this one.
    if (kept?.result) return { result: kept.result, error: "", isKept: true };
    const message = messageOf(step, scope);
    await this.#approve(step, path, scope, toldTo(step, scope), signal);
    const call = {
      path,
      agent: step.agent || step.workflow,
      message,
      ...(step.workflow !== "" && { data: inputs }),
    };
    const { result, endMs } = await this.#tries(
      step,
      { ...call, undoes: false },
      signal,
    );
    const value = { result, error: "", isKept: false };
    if (step.undo !== "") {
      // Later rounds of a loop change the values.
      const own = inside(scope, new Map([[step.id, value]]));
      this.#done.push({ step, path, undo: undoOf(step, own), endMs });
    }
    return value;
  }

  async #approve(
    { approval, agent, workflow }: WorkflowStep,
    path: string,
    scope: Scope,
    told: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (approval === "") return;
    const gets = told === "" ? "" : `\n\n${agent || workflow} gets:\n${told}`;
    const text = render(approval, scope) + gets;
    if (await this.#calls.wait({ path, text }, signal)) return;
    throw new DevtoolError("it was declined", Code.Aborted);
  }

  /** Tries a step until it succeeds. Rejects when its last try has failed. */
  async #tries(
    { retries, retryDelay, timeout }: WorkflowStep,
    call: Omit<StepCall, "attempt">,
    signal: AbortSignal,
  ): Promise<StepEnd & { readonly result: JsonObject }> {
    const timeoutMs = timeout && durationMs(timeout);
    for (let attempt = 1; ; attempt++) {
      const end = await this.#try({ ...call, attempt, timeoutMs }, signal);
      const { result, error, isFinal, endMs } = end;
      if (result) return { ...end, result };
      if (isFinal || attempt > retries) {
        throw new DevtoolError(error, Code.Aborted);
      }
      const delayMs = retryDelay ? durationMs(retryDelay) : 0;
      await this.#calls.sleep(endMs + delayMs, signal);
    }
  }

  async #try(call: StepCall, signal: AbortSignal): Promise<StepEnd> {
    if (!call.undoes && ++this.#tryCount > MAX_TRIES) {
      throw new RunFailure(
        `the run has had ${MAX_TRIES} tries of steps, which is the limit: make a part of it a workflow of its own`,
        Code.ResourceExhausted,
      );
    }
    // A try cancels its work of before a restart that another failure stops.
    using _slot = await this.#slots.acquire(this.#signal);
    return await this.#calls.step(call, signal);
  }

  /** Undoes what was done, the last first. Returns what could not be undone. */
  async #undoAll(): Promise<string> {
    const done = this.#done
      .toReversed()
      .sort((one, other) => other.endMs - one.endMs);
    const problems: string[] = [];
    for (const { step, path, undo } of done) {
      try {
        if (undo instanceof DevtoolError) throw undo;
        const call = { path, agent: step.agent, message: undo, undoes: true };
        await this.#tries(step, call, this.#signal);
      } catch (reason) {
        this.#signal.throwIfAborted();
        problems.push(
          `; step ${quoted(path)} could not be undone: ${wordsOf(reason)}`,
        );
      }
    }
    return problems.join("");
  }
}

/** Returns what undoes a step, or why that cannot be said. */
function undoOf({ undo }: WorkflowStep, scope: Scope): string | DevtoolError {
  try {
    return render(undo, scope);
  } catch (reason) {
    return DevtoolError.from(reason);
  }
}

function inside(scope: Scope, inner: Scope["steps"]): Scope {
  // Both may still change: what is read is what they have then.
  const steps = {
    get: (id: string) => inner.get(id) ?? scope.steps.get(id),
  };
  return { ...scope, steps };
}

/** Returns the result of a list of steps, as its output says. */
function resultOf(
  steps: readonly WorkflowStep[],
  output: string,
  scope: Scope,
): JsonObject {
  if (output !== "") return renderResult(output, scope);
  const { result } = scope.steps.get(steps.at(-1)?.id ?? "") ?? NOTHING;
  return result;
}

/** Returns the message for an agent, or a workflow, which gets inputs as data. */
function messageOf(step: WorkflowStep, scope: Scope): string {
  return step.workflow === "" ? toldTo(step, scope) : render(step.task, scope);
}

/** Returns a step's task, with the inputs that the task leaves out. */
function toldTo(step: WorkflowStep, scope: Scope): string {
  const task = render(step.task, scope);
  const named = new Set(
    referencesOf(step.task).map(([root, name]) =>
      root === "inputs" ? name : "",
    ),
  );
  const rest = Object.keys(step.inputs).filter((name) => !named.has(name));
  const texts = rest.map(
    (name) => `${name}:\n${render(`{{inputs.${name}}}`, scope)}`,
  );
  return [task, ...texts].join("\n\n");
}

function wordsOf(reason: unknown): string {
  return DevtoolError.from(reason).message;
}
