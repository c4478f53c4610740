import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { emptyTask, reduceTask, TaskEventSchema, TaskSchema } from "@devtool/schema";
import {
  type Conversation,
  type Golden,
  type ProgramCase,
  type ProgramResponse,
  type ProgramSuite,
  ProgramSuiteSchema,
} from "@devtool/schema/conformance";
import { Recording } from "./binding/recording.ts";
import type { CaseResult } from "./case-result.ts";
import { mismatch, missingInOrder } from "./match.ts";
import { Program, type ProgramStreams } from "./program.ts";
import { recordedProgram } from "./recorded-program.ts";
import { equalProblem, jsonGoldens, jsonOf, jsonProblem } from "./run-json-suite.ts";
import programSuite from "./suites/program.json" with { type: "json" };
import scriptedPrompts from "./suites/scripted-prompts.json" with { type: "json" };
import { Variables } from "./variables.ts";

/** How to test a program. */
export interface ProgramSuiteOptions {
  /** The server that it talks with. Left out: the conversations are skipped. */
  readonly server?: { readonly url: string; readonly token: string };
  /** A case may take so many milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
}

/** The conversations of programs with a server, as data. */
export function programCases(): ProgramSuite {
  return fromJson(ProgramSuiteSchema, programSuite);
}

/** Plays the golden documents and the conversations with a program. Results come as they are known. */
export async function* runProgramSuite(
  streams: ProgramStreams,
  signal: AbortSignal,
  { server, timeoutMs = 30_000 }: ProgramSuiteOptions = {},
): AsyncIterable<CaseResult> {
  const program = new Program(streams);
  for (const { id, requirements, problem } of [...goldenChecks(), ...conversationChecks(server)]) {
    signal.throwIfAborted();
    const start = performance.now();
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    // A program that does not answer in turn cannot be asked anything more.
    const recording = new Recording();
    const reason = await problem(recordedProgram(program, recording), limited).catch((cause: unknown) => {
      throw new Error(`${id}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    });
    const durationMs = Math.round(performance.now() - start);
    yield { id, requirements, durationMs, ...judged(reason, recording) };
  }
}

/** A case that was made ready: what is wrong with a program is told in words, what cannot be tested is skipped. */
interface Check {
  readonly id: string;
  readonly requirements: readonly string[];
  problem(program: Asked, signal: AbortSignal): Promise<Reason>;
}

type Asked = Pick<Program, "ask">;
type Reason = { readonly failed: string } | { readonly skipped: string } | undefined;

function judged(reason: Reason, { records }: Recording): Pick<CaseResult, "status" | "reason" | "exchanges"> {
  if (!reason) return { status: "passed" };
  return "skipped" in reason
    ? { status: "skipped", reason: reason.skipped }
    : { status: "failed", reason: reason.failed, exchanges: records };
}

function goldenChecks(): Check[] {
  return jsonGoldens().goldens.flatMap((golden, index) => {
    const id = `program/json/${golden.type.split(".").at(-1)}-${index}`;
    const requirements = ["JSON-1", "JSON-2"];
    const refusals = golden.bad.map(
      ({ json }, bad): Check => ({
        id: `${id}/bad-${bad}`,
        requirements,
        problem: (program, signal) => refusalProblem(program, { type: golden.type, json: jsonOf(json) }, signal),
      }),
    );
    return [{ id, requirements, problem: (program, signal) => goldenProblem(program, golden, signal) }, ...refusals];
  });
}

async function goldenProblem(program: Asked, golden: Golden, signal: AbortSignal): Promise<Reason> {
  const { type, binary } = golden;
  const wanted = jsonOf(golden.json);
  for (const form of [wanted, ...golden.equivalent.map(jsonOf)]) {
    const json = JSON.stringify(form);
    const outcome = await program.ask({ case: "readJson", value: { type, json } }, signal);
    const written = outcome.case === "binary" ? base64Encode(outcome.value) : told(outcome);
    if (written !== base64Encode(binary))
      return { failed: `${json}: the binary must be ${base64Encode(binary)}: got ${written}` };
  }
  const outcome = await program.ask({ case: "readBinary", value: { type, binary } }, signal);
  if (outcome.case !== "json") return { failed: `the binary must become JSON: got ${told(outcome)}` };
  const problem = writtenProblem(type, wanted, outcome.value);
  return problem === undefined ? undefined : { failed: problem };
}

function writtenProblem(type: string, wanted: JsonValue, text: string): string | undefined {
  try {
    return jsonProblem(type, wanted, JSON.parse(text));
  } catch {
    return `the binary must become JSON: got ${JSON.stringify(text)}`;
  }
}

async function refusalProblem(
  program: Asked,
  { type, json }: { readonly type: string; readonly json: JsonValue },
  signal: AbortSignal,
): Promise<Reason> {
  const text = JSON.stringify(json);
  const outcome = await program.ask({ case: "readJson", value: { type, json: text } }, signal);
  return outcome.case === "refused" ? undefined : { failed: `${text} must be refused: got ${told(outcome)}` };
}

function conversationChecks(server: ProgramSuiteOptions["server"]): Check[] {
  const prompts = Object.entries(scriptedPrompts).map(([name, text]) => [`prompt:${name}`, text]);
  return programCases().cases.map((one) => ({
    id: one.id,
    requirements: one.requirements,
    async problem(program, signal) {
      if (!server) return { skipped: "there is no server to talk with" };
      const variables = new Variables(Object.fromEntries(prompts));
      const value = { ...server, prompt: variables.text(one.prompt), answers: one.answers };
      const outcome = await program.ask({ case: "converse", value }, signal);
      if (outcome.case === "unsupported") return { skipped: `the program does not converse: ${outcome.value}` };
      if (outcome.case !== "conversation") return { failed: `the conversation must be told: got ${told(outcome)}` };
      const problem = conversationProblem(one, outcome.value, variables);
      return problem === undefined ? undefined : { failed: problem };
    },
  }));
}

/** What is wrong with what a program saw: its events must fold to its task, and both be as the case says. */
function conversationProblem(one: ProgramCase, seen: Conversation, variables: Variables): string | undefined {
  const gap = seen.events.findIndex(({ sequence }, index) => sequence !== BigInt(index + 1));
  if (gap >= 0) return `event ${gap + 1} has sequence ${seen.events[gap]?.sequence}`;
  if (!seen.task) return "the task is missing";
  const folded = toJson(TaskSchema, seen.events.reduce(reduceTask, emptyTask()));
  const task = toJson(TaskSchema, seen.task);
  const events = seen.events.map((event) => toJson(TaskEventSchema, event));
  return (
    foldProblem(folded, task) ??
    missingInOrder(
      one.events.map((event) => variables.fill(jsonOf(event))),
      events,
    ) ??
    mismatch(variables.fill(jsonOf(one.task)), task, "task")
  );
}

function foldProblem(folded: JsonValue, task: JsonValue): string | undefined {
  const problem = equalProblem(task, folded);
  return problem === undefined ? undefined : `the events do not fold to the task: ${problem}`;
}

function told(outcome: ProgramResponse["outcome"]): string {
  switch (outcome.case) {
    case "binary":
      return base64Encode(outcome.value);
    case "json":
      return outcome.value;
    case "conversation":
      return "a conversation";
    case "refused":
    case "unsupported":
      return `${outcome.case}: ${outcome.value}`;
    case undefined:
      return "nothing";
    default:
      return outcome satisfies never;
  }
}
