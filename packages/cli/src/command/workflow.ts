import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { textMessage } from "@devtool/client";
import { oneLine } from "@devtool/internal/visible-text";
import {
  approvalModeOf,
  isEnded,
  type Part,
  PartSchema,
  type StepRun,
  type Task,
  type WorkflowStep,
} from "@devtool/schema";
import { agentSpecs } from "../agents/agent-modules.ts";
import { operatorConfig } from "../agents/agent-options.ts";
import { userWorkflows } from "../agents/user-workflows.ts";
import { readWorkflowFile } from "../agents/workflow-files.ts";
import { isMeshFile, isWorkflowFile } from "../agents/workflow-name.ts";
import { type ConnectionOptions, connect } from "../connection/connection.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { converse } from "../conversation.ts";
import { errorMessage, UsageError } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { countOf } from "../render/count.ts";
import { visibleName } from "../render/style.ts";
import { createConversation, type SessionOptions } from "../session.ts";
import { findTaskId, shortTaskId } from "../task-id.ts";
import { taskStateName } from "../task-state-name.ts";
import { type RunOptions, run } from "./run.ts";

/** The options of `devtool workflow run`. */
interface WorkflowRunOptions extends RunOptions {
  /** Fields of the run's data, as `NAME=VALUE`. */
  readonly input?: readonly string[];
}

/**
 * `devtool workflow run`: runs a workflow of a file, on a server for the run, or
 * one that the server serves, by its name.
 */
export async function runFlow(
  named: string,
  words: string | undefined,
  { input = [], ...options }: WorkflowRunOptions,
  io: Io,
): Promise<number> {
  const data = input.length === 0 ? [] : [inputPart(input)];
  if (!isWorkflowFile(named)) {
    return run(words ?? " ", { ...options, agent: named, parts: data }, io);
  }
  if (options.url !== undefined) {
    throw new UsageError(
      `"${named}" is a file, and a server knows workflows by their names: serve it there with --agent, or leave out --url`,
    );
  }
  const { name } = await readWorkflowFile(named);
  const workflows = [named];
  return run(
    words ?? " ",
    { ...options, agent: name, workflows, parts: data },
    io,
  );
}

function inputPart(input: readonly string[]): Part {
  const fields = input.map((text): [string, string] => {
    const [, name = "", value = ""] = /^([\w-]+)=(.*)$/s.exec(text) ?? [];
    if (name !== "") return [name, value];
    throw new UsageError(`--input "${text}" has no name: write NAME=VALUE`);
  });
  return create(PartSchema, {
    content: { case: "data", value: Object.fromEntries(fields) },
  });
}

/** `devtool workflow list`: lists the workflows that a server here serves. */
export async function listFlows(
  { data: named }: Pick<ConnectionOptions, "data">,
  io: Io,
): Promise<number> {
  const data = named ?? defaultDataDirectory(io.env);
  const operator = await operatorConfig(undefined, data);
  const configured = agentSpecs([], operator).flatMap(({ source }) =>
    source.case === "workflow" ? source.path : [],
  );
  const files = [...configured, ...(await userWorkflows(data))].filter(
    (file) => !isMeshFile(file),
  );
  let isUsable = true;
  for (const file of files) {
    try {
      const { name, description } = await readWorkflowFile(file);
      writeLine(
        io.stdout,
        `${visibleName(name)}  ${oneLine(description)}  ${visibleName(file)}`,
      );
    } catch (reason) {
      writeLine(io.stderr, oneLine(errorMessage(reason)));
      isUsable = false;
    }
  }
  if (files.length === 0) writeLine(io.stderr, "no workflows found");
  return isUsable ? ExitCode.OK : ExitCode.FAILED;
}

/** `devtool workflow show`: checks a file, or says how far a run is. */
export async function showFlow(
  named: string,
  options: ConnectionOptions,
  io: Io,
): Promise<number> {
  if (isWorkflowFile(named)) {
    const workflow = await readWorkflowFile(named);
    writeLine(io.stdout, `${workflow.name}: ${oneLine(workflow.description)}`);
    for (const line of stepLines(workflow.steps, "  ")) {
      writeLine(io.stdout, line);
    }
    return ExitCode.OK;
  }
  using interrupt = interruptSignal(io);
  const task = await findRun(named, options, io, interrupt.signal);
  for (const line of runLines(task)) writeLine(io.stdout, line);
  return ExitCode.OK;
}

function stepLines(
  steps: readonly WorkflowStep[],
  indent: string,
): readonly string[] {
  return steps.flatMap((step) => {
    const { id, agent, workflow, dependencies, loop, approval } = step;
    const facts = [
      agent && `agent ${agent}`,
      workflow && `workflow ${workflow}`,
      dependencies.length > 0 && `after ${dependencies.join(", ")}`,
      loop && `at most ${countOf(loop.max, "round")}`,
      approval !== "" && "asks before",
    ].filter((fact) => fact);
    return [
      `${indent}${id}: ${facts.join(", ")}`,
      ...stepLines(step.steps, `${indent}  `),
    ];
  });
}

/** Writes how far a run is: a line for each try, and what all took. */
function runLines(task: Task): readonly string[] {
  const runs = stepRunsOf(task);
  const tokens = runs.reduce(
    (sum, one) => sum + one.inputTokens + one.outputTokens,
    0n,
  );
  const kept = task.workflowRun?.kept ?? [];
  return [
    `${shortTaskId(task.id)}  ${visibleName(task.workflowRun?.workflow?.name ?? "")}  ${taskStateName(task.state)}`,
    ...kept.map(({ path }) => `  = ${path}`),
    ...runs.map((one) => `  ${runLine(one)}`),
    ...(task.error === "" ? [] : [oneLine(`failed: ${task.error}`)]),
    `${countOf(runs.length, "try").replace("trys", "tries")}, ${secondsOf(task.createTime, task.updateTime)}, ${countOf(tokens, "token")}`,
  ];
}

function runLine(one: StepRun): string {
  const { path, attempt, undoes, error, startTime, endTime } = one;
  const mark = error !== "" ? "✗" : endTime === undefined ? "▸" : "✓";
  const what = `${mark} ${undoes ? "undo " : ""}${path}${attempt > 1 ? ` (try ${attempt})` : ""}`;
  const took = endTime ? `  ${secondsOf(startTime, endTime)}` : "";
  return oneLine(`${what}${took}${error === "" ? "" : `  ${error}`}`);
}

type Time = Task["createTime"];

function secondsOf(from: Time, to: Time): string {
  const ms = from && to ? timestampMs(to) - timestampMs(from) : 0;
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Returns the tries of a run. One that was cut, as by a budget, has failed. */
function stepRunsOf({ history }: Task): readonly StepRun[] {
  return history.flatMap(({ parts }) =>
    parts.flatMap(({ content, toolCallDetail }) => {
      const run = toolCallDetail?.stepRun;
      if (!run || run.endTime || content.case !== "toolCall") return run ?? [];
      const { value: call } = content;
      return isEnded(call) ? { ...run, error: "it was cut" } : run;
    }),
  );
}

async function findRun(
  named: string,
  options: ConnectionOptions,
  io: Io,
  signal: AbortSignal,
): Promise<Task> {
  const client = await connect(options, io, signal);
  const taskId = await findTaskId(client, named, signal);
  const { task } = await client.tasks.getTask({ taskId }, { signal });
  if (task?.workflowRun) return task;
  throw new Error(
    `task "${named}" is no run of a workflow: list runs with devtool tasks --agent NAME`,
  );
}

/** The options of `devtool workflow resume` and `fork`. */
interface ForkOptions extends ConnectionOptions, SessionOptions {
  /** The path of the step from which on to run again. */
  readonly from?: string;
}

/**
 * `devtool workflow resume` and `fork`: begins a run with the results of another
 * one, and follows it.
 */
export async function forkFlow(
  named: string,
  { from: fromStep = "", ...options }: ForkOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  const { signal } = interrupt;
  const before = await findRun(named, options, io, signal);
  const client = await connect(options, io, signal);
  const conversation = createConversation(
    client,
    { ...options, clientLabel: "devtool workflow" },
    io,
  );
  const { settings, sessionSettings } = before;
  const task = await converse(
    {
      request: {
        message: textMessage(conversation.nextId(), before.title),
        ...(settings && { settings }),
        // The run may do no more than that one.
        sessionSettings: {
          agent: sessionSettings?.agent ?? "",
          approvalMode: approvalModeOf(before),
          allowedTools: sessionSettings?.allowedTools ?? [],
        },
      },
      turn: { workflowFork: { taskId: before.id, fromStep } },
    },
    conversation,
    signal,
  );
  if (!options.json) writeLine(io.stderr, `task ${oneLine(task.id)}`);
  return conversation.exitCode(task);
}
