import { create, fromJson, type JsonValue, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { type TaskEvent, TaskEventSchema, TaskSchema } from "@devtool/schema";
import {
  type ClientCase,
  type ClientSuite,
  ClientSuiteSchema,
  type Conversation,
  type ConverseSchema,
  type ProgramResponse,
} from "@devtool/schema/conformance";
import { Recording } from "./binding/recording.ts";
import type { CaseResult } from "./case-result.ts";
import { mismatch } from "./match.ts";
import { Program, type ProgramStreams, type ProgramWork } from "./program.ts";
import { recordedProgram } from "./recorded-program.ts";
import { startCuttingProxy } from "./replay/cutting-proxy.ts";
import { Replay } from "./replay/replay.ts";
import type { A2aInterface } from "./replay/replay-a2a-v1.ts";
import { startReplayServer } from "./replay/replay-server.ts";
import { equalProblem } from "./run-json-suite.ts";
import clientSuite from "./suites/client.json" with { type: "json" };

/** How to test a client. */
export interface ClientSuiteOptions {
  /** A conversation may take so many milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /** Connections are cut at every so-manieth byte. Default 16; 1 cuts at each. */
  readonly cutEvery?: number;
  /** The interface of A2A that the client must speak. Default: what the program takes of all but A2A 1.0. */
  readonly over?: A2aInterface;
}

/** The conversations that are played to clients, as data. */
export function clientCases(): ClientSuite {
  return fromJson(ClientSuiteSchema, clientSuite);
}

/**
 * Plays the server to a client: a conversation that was recorded, first over connections that hold, then over ones that
 * are cut. The client is a program that converses (docs/conformance-program.md). Results come as they are known.
 */
export async function* runClientSuite(
  streams: ProgramStreams,
  signal: AbortSignal,
  { timeoutMs = 10_000, cutEvery = 16, over }: ClientSuiteOptions = {},
): AsyncIterable<CaseResult> {
  const program = new Program(streams);
  for (const one of clientCases().cases) {
    const played = { program, one, over, limit: () => AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) };
    const id = idOver(one.id, over);
    yield await timed(id, one.requirements, () => wholeProblem(played));
    yield await timed(`${id}/cut`, ["STREAM-3", "STREAM-7"], () => cutProblem(played, cutEvery));
  }
}

/** The id of a case that is played over an interface, for instance `client/a2a-1.0-http-json/failure`. */
function idOver(id: string, over: A2aInterface | undefined): string {
  if (!over) return id;
  const way = `a2a-${over.protocolVersion}-${over.binding.toLowerCase().replace("+", "-")}`;
  return id.replace("client/", `client/${way}/`);
}

/** A conversation, and the client that it is played to. */
interface Played {
  readonly program: Program;
  readonly one: ClientCase;
  readonly over: A2aInterface | undefined;
  /** Makes the limit of one conversation. */
  readonly limit: () => AbortSignal;
}

type Reason = Pick<CaseResult, "status" | "reason" | "exchanges">;

const PASSED: Reason = { status: "passed" };

async function timed(id: string, requirements: readonly string[], play: () => Promise<Reason>): Promise<CaseResult> {
  const start = performance.now();
  const reason = await play().catch((cause: unknown): Reason => ({ status: "failed", reason: String(cause) }));
  return { id, requirements, ...reason, durationMs: Math.round(performance.now() - start) };
}

async function wholeProblem(played: Played): Promise<Reason> {
  return (await play(played, "converse", Number.POSITIVE_INFINITY)).reason;
}

/** Cuts a connection at one byte of the conversation after another, until it has fewer. */
async function cutProblem(played: Played, cutEvery: number): Promise<Reason> {
  for (let bytes = 1; ; bytes += cutEvery) {
    const { reason, cuts } = await play(played, "resume", bytes);
    if (reason.status === "skipped") return reason;
    if (reason.status === "failed")
      return { ...reason, reason: `cut after ${bytes} bytes of the server: ${reason.reason}` };
    if (cuts === 0) return PASSED;
  }
}

async function play(
  { program, one, over, limit }: Played,
  work: "converse" | "resume",
  bytes: number,
): Promise<{ readonly reason: Reason; readonly cuts: number }> {
  const replay = new Replay(one.events);
  const token = crypto.randomUUID();
  await using server = await startReplayServer({ replay, token, over });
  const limits = [bytes];
  await using proxy = await startCuttingProxy(
    () => server.url,
    () => limits.shift() ?? Number.POSITIVE_INFINITY,
  );
  const value = { url: proxy.url, token, prompt: one.prompt, answers: one.answers };
  const asked: ProgramWork = over ? workOver(work, value, over) : { case: work, value };
  const recording = new Recording();
  const outcome = await recordedProgram(program, recording).ask(asked, limit());
  const reason = reasonOf(outcome, replay);
  const told = reason.status === "failed" ? { ...reason, exchanges: recording.records } : reason;
  return { reason: told, cuts: proxy.cuts() };
}

function workOver(
  work: "converse" | "resume",
  conversation: MessageInitShape<typeof ConverseSchema>,
  { protocolVersion, binding: protocolBinding }: A2aInterface,
): ProgramWork {
  return { case: `${work}OverA2a`, value: { conversation, protocolVersion, protocolBinding } };
}

function reasonOf(outcome: ProgramResponse["outcome"], replay: Replay): Reason {
  if (outcome.case === "unsupported") {
    return { status: "skipped", reason: `the program does not do it: ${outcome.value}` };
  }
  const [problem] = replay.problems;
  if (problem !== undefined) return { status: "failed", reason: problem };
  if (outcome.case !== "conversation") {
    return { status: "failed", reason: `the conversation must be told: got ${outcome.case}: ${String(outcome.value)}` };
  }
  if (!replay.isOver) return { status: "failed", reason: "the client left before the conversation was over" };
  const difference = differenceOf(outcome.value, replay);
  return difference === undefined ? PASSED : { status: "failed", reason: difference };
}

/**
 * What a client saw otherwise than it was sent; undefined when it saw the same. Not every protocol says all of a task, so
 * of the task itself only what all of them say is compared.
 */
function differenceOf({ events, task }: Conversation, replay: Replay): string | undefined {
  const json = (list: readonly TaskEvent[]): JsonValue => list.map((event) => toJson(TaskEventSchema, event));
  const { id, contextId, state } = replay.task(replay.log[0]?.taskId ?? "");
  const sent = toJson(TaskSchema, create(TaskSchema, { id, contextId, state }));
  return (
    equalProblem(json(replay.shown), json(events), "events") ?? mismatch(sent, task && toJson(TaskSchema, task), "task")
  );
}
