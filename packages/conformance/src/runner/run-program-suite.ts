import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { parseJsonOrUndefined } from "@devtool/internal/json";
import {
  emptyTask,
  reduceTask,
  TaskEventSchema,
  TaskSchema,
} from "@devtool/schema";
import { Recording } from "../binding/recording.ts";
import { inequality, mismatch, missingInOrder } from "../match/match.ts";
import { messageInequality } from "../match/message-json.ts";
import { promptVariables, Variables, valueToJson } from "../match/variables.ts";
import { type CaseResult, elapsedMs } from "../play/case-result.ts";
import {
  type AskProgram,
  Program,
  type ProgramOutcome,
  type ProgramStreams,
} from "../program/program.ts";
import { recordedProgram } from "../program/recorded-program.ts";
import {
  type Conversation,
  type Golden,
  type ProgramCase,
  type ProgramSuite,
  ProgramSuiteSchema,
} from "../protos.ts";
import programSuite from "../suites/program.json" with { type: "json" };
import { SCRIPTED_PROMPTS } from "../suites/prompts.ts";
import { jsonGoldens } from "./run-json-suite.ts";
import { describeFailure } from "./verdict.ts";

/**
 * Options of `runProgramSuite`.
 */
export interface ProgramSuiteOptions {
  /**
   * The server that the program talks to.
   *
   * Default: none, and the conversations are skipped.
   */
  readonly server?: { readonly url: string; readonly token: string };
  /**
   * Time limit of a case in milliseconds.
   *
   * Default: 30,000.
   */
  readonly timeoutMs?: number;
}

/**
 * Returns the conversations that a program must be able to have with a server,
 * as data.
 */
export function programCases(): ProgramSuite {
  return fromJson(ProgramSuiteSchema, programSuite);
}

/**
 * Plays the golden documents and the conversations with a program, and yields
 * each result as soon as it is known.
 *
 * Rejects if the program ends or does not answer in time, because it cannot be
 * asked anything more then, and when the signal aborts.
 */
export async function* runProgramSuite(
  streams: ProgramStreams,
  signal: AbortSignal,
  { server, timeoutMs = 30_000 }: ProgramSuiteOptions = {},
): AsyncIterable<CaseResult> {
  const program = new Program(streams);
  for (const { id, requirements, run } of [
    ...goldenChecks(),
    ...conversationChecks(server),
  ]) {
    signal.throwIfAborted();
    const start = performance.now();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const recording = new Recording();
    const verdict = await run(recordedProgram(program, recording), limit).catch(
      (cause: unknown) => {
        throw new Error(`${id}: ${describeFailure(cause)}`, { cause });
      },
    );
    const result = { id, requirements, durationMs: elapsedMs(start) };
    if (!verdict) {
      yield { ...result, status: "passed" };
    } else if ("skipped" in verdict) {
      yield { ...result, status: "skipped", reason: verdict.skipped };
    } else {
      yield {
        ...result,
        status: "failed",
        reason: verdict.failed,
        exchanges: recording.records,
      };
    }
  }
}

/**
 * A case that is ready to be played.
 */
interface Check {
  readonly id: string;
  readonly requirements: readonly string[];
  run(program: AskProgram, signal: AbortSignal): Promise<Verdict>;
}

/**
 * Why a case failed or was skipped. Undefined if it passed.
 */
type Verdict =
  | { readonly failed: string }
  | { readonly skipped: string }
  | undefined;

/**
 * For each golden document: a case that reads and writes it, and one for each
 * form that must be refused.
 */
function goldenChecks(): Check[] {
  return jsonGoldens().goldens.flatMap((golden, index) => {
    const { type, bad } = golden;
    const id = `program/json/${type.split(".").at(-1)}-${index}`;
    const requirements = ["JSON-1", "JSON-2"];
    const refusals = bad.map(
      (refused, number): Check => ({
        id: `${id}/bad-${number}`,
        requirements,
        async run(program, signal) {
          const json = JSON.stringify(valueToJson(refused.json));
          const outcome = await program.ask(
            { case: "readJson", value: { type, json } },
            signal,
          );
          if (outcome.case === "refused") return undefined;
          return {
            failed: `${json} must be refused: got ${describeOutcome(outcome)}`,
          };
        },
      }),
    );
    return [
      {
        id,
        requirements,
        run: (program, signal) => checkGolden(program, golden, signal),
      },
      ...refusals,
    ];
  });
}

async function checkGolden(
  program: AskProgram,
  { type, binary, json: golden, equivalent }: Golden,
  signal: AbortSignal,
): Promise<Verdict> {
  const expected = base64Encode(binary);
  for (const form of [golden, ...equivalent].map(valueToJson)) {
    const json = JSON.stringify(form);
    const outcome = await program.ask(
      { case: "readJson", value: { type, json } },
      signal,
    );
    if (outcome.case === "binary" && base64Encode(outcome.value) === expected) {
      continue;
    }
    // JSON in base64 could be taken for a binary.
    const got =
      outcome.case === "json"
        ? `the JSON ${outcome.value}`
        : describeOutcome(outcome);
    return { failed: `${json}: the binary must be ${expected}: got ${got}` };
  }
  const outcome = await program.ask(
    { case: "readBinary", value: { type, binary } },
    signal,
  );
  if (outcome.case !== "json") {
    return {
      failed: `the binary must become JSON: got ${describeOutcome(outcome)}`,
    };
  }
  const json = parseJsonOrUndefined(outcome.value);
  if (json === undefined) {
    return {
      failed: `the binary must become JSON: got ${JSON.stringify(outcome.value)}`,
    };
  }
  const problem = messageInequality(type, valueToJson(golden), json);
  return problem === undefined ? undefined : { failed: problem };
}

function conversationChecks(server: ProgramSuiteOptions["server"]): Check[] {
  return programCases().cases.map((one) => ({
    id: one.id,
    requirements: one.requirements,
    async run(program, signal) {
      if (!server) return { skipped: "no server to talk to was given" };
      const variables = new Variables(promptVariables(SCRIPTED_PROMPTS));
      const value = {
        ...server,
        prompt: variables.fillText(one.prompt),
        answers: one.answers,
      };
      const outcome = await program.ask({ case: "converse", value }, signal);
      if (outcome.case === "unsupported") {
        return { skipped: `the program does not converse: ${outcome.value}` };
      }
      if (outcome.case !== "conversation") {
        return {
          failed: `a conversation must be returned: got ${describeOutcome(outcome)}`,
        };
      }
      const problem = conversationProblem(one, outcome.value, variables);
      return problem === undefined ? undefined : { failed: problem };
    },
  }));
}

/**
 * Checks what a program has received: its events must fold to its task, and
 * both must be as the case expects.
 */
function conversationProblem(
  one: ProgramCase,
  { events, task }: Conversation,
  variables: Variables,
): string | undefined {
  const gap = events.findIndex(
    ({ sequence }, index) => sequence !== BigInt(index + 1),
  );
  if (gap >= 0) return `event ${gap + 1} has sequence ${events[gap]?.sequence}`;
  if (!task) return "the task is missing";
  const taskJson: JsonValue = toJson(TaskSchema, task);
  const folded = toJson(TaskSchema, events.reduce(reduceTask, emptyTask()));
  const foldProblem = inequality(taskJson, folded);
  if (foldProblem !== undefined) {
    return `the events do not fold to the task: ${foldProblem}`;
  }
  const expected = one.events.map((event) => variables.fillValue(event));
  const actual = events.map((event) => toJson(TaskEventSchema, event));
  return (
    missingInOrder(expected, actual) ??
    mismatch(variables.fillValue(one.task), taskJson, "task")
  );
}

function describeOutcome(outcome: ProgramOutcome): string {
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
