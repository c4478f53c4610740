import { create, type JsonObject } from "@bufbuild/protobuf";
import { createDevtoolClient } from "@devtool/client";
import {
  type CalledAgent,
  reachableAgents,
  UntoldCancels,
} from "@devtool/coding-agent/delegate";
import {
  ApprovalMode,
  ArtifactUpdateSchema,
  approvalModeOf,
  NoticeSchema,
  type StepRun,
  stricterMode,
  type Task,
  type Workflow,
  type WorkflowRun,
  WorkflowRunSchema,
} from "@devtool/schema";
import {
  type Agent,
  type AgentEvent,
  type AgentServices,
  Code,
  DevtoolError,
  invalid,
  quoted,
  type Turn,
} from "@devtool/server/agent";
import { checkWorkflow, everyStep } from "./check-workflow.ts";
import { keptSteps } from "./kept-steps.ts";
import { LogDriver } from "./log-driver.ts";
import { Outbox } from "./outbox.ts";
import { type CallingOptions, modesOf, narrowedBy } from "./reach.ts";
import { runWorkflow } from "./run-workflow.ts";
import { textOf } from "./step-result.ts";
import { TaskCalls } from "./task-calls.ts";
import type { StartedEngine, WorkflowEngine } from "./workflow-driver.ts";

/** Options of `workflowAgent`. */
interface WorkflowAgentOptions extends CallingOptions {
  /**
   * Keeps the runs, such as `dbosEngine` of `@devtool/workflow/dbos`. Default:
   * the logs of their tasks.
   */
  readonly engine?: WorkflowEngine | undefined;
}

const ARTIFACT_ID = "result";

/**
 * Creates the agent that a workflow is: each of its tasks is a run, whose steps
 * are calls of other agents of the server.
 *
 * Throws `Code.InvalidArgument` for a workflow that cannot run.
 */
export function workflowAgent(
  workflow: Workflow,
  options: WorkflowAgentOptions = {},
): Agent {
  checkWorkflow(workflow);
  const { name, description } = workflow;
  return {
    about: {
      name,
      description: description || `The workflow ${name}.`,
    },
    follows: ["approval_mode", "allowed_tools", "workflow_fork"],
    open: async (services) => {
      const engine = await options.engine?.start(services.nextId());
      const untold = new UntoldCancels(services);
      const reachOf = (task: Task): ReturnType<typeof reachableAgents> =>
        reachableAgents(task, {
          services,
          ...options,
          untold,
          modes: (asked) => modesOf(asked, options),
        });
      await untold.resume(async (task) => reachOf(task).agents);
      return {
        worksWhileAsking: true,
        forget: engine?.forget,
        createExecutor: () => ({
          continuesFromLog: "unasked",
          execute: (turn, signal) =>
            execute({
              ...{ workflow, options, services, engine, reachOf },
              ...{ turn, signal },
            }),
        }),
        [Symbol.asyncDispose]: async () => {
          untold[Symbol.dispose]();
          await engine?.[Symbol.asyncDispose]();
        },
      };
    },
  };
}

interface Execution {
  readonly workflow: Workflow;
  readonly options: CallingOptions;
  readonly services: AgentServices;
  readonly engine: StartedEngine | undefined;
  /** Returns the agents that a task may call. */
  readonly reachOf: (task: Task) => ReturnType<typeof reachableAgents>;
  readonly turn: Turn;
  readonly signal: AbortSignal;
}

async function* execute(execution: Execution): AsyncIterable<AgentEvent> {
  const { turn, services, options, engine, signal } = execution;
  const { task } = turn;
  if (turn.news.message && task.workflowRun) {
    const text =
      "A run of a workflow takes no messages: answer its questions, or begin another run.";
    yield { case: "notice", value: create(NoticeSchema, { text }) };
  }
  const run = task.workflowRun ?? (await newRun(execution));
  if (!task.workflowRun) yield { case: "workflowRun", value: run };
  const { agents, chain } = execution.reachOf(task);
  assertAgents(run.workflow, agents);
  assertNoneElsewhere(run.workflow, agents, execution);
  const outbox = new Outbox();
  const driver = (await engine?.driverOf(task)) ?? new LogDriver(turn);
  const calls = new TaskCalls({
    driver,
    turn,
    services,
    agents,
    chain,
    silenceMs: options.silenceMs,
    outbox,
    signal,
  });
  const ended = runWorkflow(run, calls, signal).finally(() => outbox.close());
  // Awaited below, when all is recorded.
  ended.catch(() => undefined);
  yield* outbox.events();
  yield* answer(turn, await ended);
}

function* answer(turn: Turn, result: JsonObject): Iterable<AgentEvent> {
  const { text, ...data } = result;
  yield* turn.say(typeof text === "string" ? text : "");
  const isThere = turn.task.artifacts.some(
    ({ artifactId }) => artifactId === ARTIFACT_ID,
  );
  if (isThere || Object.keys(data).length === 0) return;
  const artifact = {
    artifactId: ARTIFACT_ID,
    name: "result",
    parts: [{ content: { case: "data" as const, value: data } }],
  };
  const update = create(ArtifactUpdateSchema, { artifact, lastChunk: true });
  yield { case: "artifact", value: update };
}

async function newRun({
  workflow,
  services,
  turn,
  signal,
}: Execution): Promise<WorkflowRun> {
  const parts = turn.prompt?.parts ?? [];
  const data = parts.flatMap(({ content }) =>
    content.case === "data" ? [content.value] : [],
  );
  const input = Object.assign({}, ...data, { text: textOf(parts) });
  const fork = turn.prompt?.turnSettings?.workflowFork;
  if (!fork) return create(WorkflowRunSchema, { workflow, input });
  const { taskId, fromStep } = fork;
  const transport = await services.agents.transportFor(turn.task);
  const { tasks } = createDevtoolClient(transport);
  const { task: other } = await tasks.getTask({ taskId }, { signal });
  const before = other?.workflowRun;
  if (!other || before?.workflow?.name !== workflow.name) {
    throw invalid(
      "message_settings.turn.workflow_fork.task_id",
      taskId,
      `is no run of workflow ${quoted(workflow.name)}`,
      "list its runs with: devtool workflow list",
    );
  }
  assertNoWider(turn.task, other);
  const own = stepRunsOf(other);
  const runs = [...before.kept, ...own];
  if (fromStep !== "" && !runs.some((one) => isWithin(one.path, fromStep))) {
    const paths = [...new Set(runs.map(({ path }) => path))];
    throw invalid(
      "message_settings.turn.workflow_fork.from_step",
      fromStep,
      "is no step of that run",
      `choose ${paths.join(", ")}`,
    );
  }
  return create(WorkflowRunSchema, {
    workflow,
    input: before.input ?? {},
    forkedFrom: taskId,
    kept: [...keptSteps(workflow, before.kept, own, fromStep)],
  });
}

/** Throws where the session of a task allows more than that of another one. */
function assertNoWider(task: Task, other: Task): void {
  const { allowedTools: limit = [] } = other.sessionSettings ?? {};
  const { allowedTools = [] } = task.sessionSettings ?? {};
  const hasMoreTools =
    limit.length > 0 &&
    (allowedTools.length === 0 ||
      allowedTools.some((tool) => !limit.includes(tool)));
  const mode = approvalModeOf(other);
  const hasWiderMode =
    mode !== ApprovalMode.UNSPECIFIED &&
    stricterMode(mode, approvalModeOf(task)) !== approvalModeOf(task);
  if (!hasMoreTools && !hasWiderMode) return;
  throw new DevtoolError(
    `the session allows more than that of run ${quoted(other.id)}`,
    Code.FailedPrecondition,
    {
      remedy: `send the same session_settings.${hasMoreTools ? "allowed_tools" : "approval_mode"}`,
    },
  );
}

function isWithin(path: string, step: string): boolean {
  return path === step || path.startsWith(`${step}/`);
}

/** Returns the tries of the steps of a run, in the order in which they began. */
function stepRunsOf({ history }: Pick<Task, "history">): readonly StepRun[] {
  return history.flatMap(({ parts }) =>
    parts.flatMap(({ toolCallDetail }) => toolCallDetail?.stepRun ?? []),
  );
}

function assertAgents(
  workflow: Workflow | undefined,
  agents: readonly CalledAgent[],
): void {
  for (const step of workflow ? everyStep(workflow) : []) {
    const wanted = step.agent || step.workflow;
    if (wanted === "" || agents.some(({ name }) => name === wanted)) continue;
    const known = agents.map(({ name }) => name).join(", ");
    throw new DevtoolError(
      `workflow: step ${quoted(step.id)} names ${quoted(wanted)}, which this run cannot call`,
      Code.FailedPrecondition,
      {
        remedy:
          known === ""
            ? "serve other agents beside the workflow, or raise agent_calls.max_depth"
            : `choose ${known}`,
      },
    );
  }
}

/** Throws for a step elsewhere, where nobody keeps to what the session narrows. */
function assertNoneElsewhere(
  workflow: Workflow | undefined,
  agents: readonly CalledAgent[],
  { turn: { task }, options }: Execution,
): void {
  const setting = narrowedBy(task, options);
  if (!setting) return;
  for (const step of workflow ? everyStep(workflow) : []) {
    const agent = agents.find(({ name }) => name === step.agent);
    if (!agent || agent.isOwnServer) continue;
    throw new DevtoolError(
      `workflow: step ${quoted(step.id)} names ${quoted(step.agent)} elsewhere, which does not follow ${setting} of this session`,
      Code.FailedPrecondition,
      {
        remedy: `leave ${setting} out, or have an agent of this server do the step`,
      },
    );
  }
}
