import { create, fromJson, toJson } from "@bufbuild/protobuf";
import { TaskEventSchema, TaskSchema } from "@devtool/schema";
import { Recording } from "../binding/recording.ts";
import { inequality, mismatch } from "../match/match.ts";
import type { CaseResult } from "../play/case-result.ts";
import {
  Program,
  type ProgramOutcome,
  type ProgramStreams,
  type ProgramWork,
} from "../program/program.ts";
import { recordedProgram } from "../program/recorded-program.ts";
import {
  type ClientCase,
  type ClientSuite,
  ClientSuiteSchema,
} from "../protos.ts";
import { startCuttingProxy } from "../replay/cutting-proxy.ts";
import { Replay } from "../replay/replay.ts";
import type { A2aInterface } from "../replay/replay-a2a-v1.ts";
import { startReplayServer } from "../replay/replay-server.ts";
import clientSuite from "../suites/client.json" with { type: "json" };
import { PASSED, runCase, skipUnsupported, type Verdict } from "./verdict.ts";

/**
 * Options of `runClientSuite`.
 */
export interface ClientSuiteOptions {
  /**
   * Time limit of a conversation in milliseconds.
   *
   * Default: 10,000.
   */
  readonly timeoutMs?: number;
  /**
   * Connections are cut after the first byte from the server, then after every
   * `cutEvery` bytes more. 1 cuts at each byte.
   *
   * Default: 16.
   */
  readonly cutEvery?: number;
  /**
   * The interface of A2A 1.0 that the client must use.
   *
   * Default: the client chooses among Connect, gRPC, gRPC-Web and A2A 0.3.
   */
  readonly over?: A2aInterface;
}

/**
 * Returns the conversations that are played to clients, as data.
 */
export function clientCases(): ClientSuite {
  return fromJson(ClientSuiteSchema, clientSuite);
}

/**
 * Tests a client by playing the server: each recorded conversation is played
 * over stable connections, then over connections that are cut. The client is a
 * program that converses (docs/test-kits.md). Yields each result as
 * soon as it is known.
 *
 * Rejects with the signal's reason, before the next conversation, when it
 * aborts.
 */
export async function* runClientSuite(
  streams: ProgramStreams,
  signal: AbortSignal,
  { timeoutMs = 10_000, cutEvery = 16, over }: ClientSuiteOptions = {},
): AsyncIterable<CaseResult> {
  const limit = (): AbortSignal =>
    AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const player = new ConversationPlayer(new Program(streams), over, limit);
  // The interface stands in the ids, for instance
  // `client/a2a-1.0-http-json/failure`.
  const way = over
    ? `a2a-${over.protocolVersion}-${over.binding.toLowerCase().replace("+", "-")}/`
    : "";
  for (const one of clientCases().cases) {
    signal.throwIfAborted();
    const id = one.id.replace("client/", `client/${way}`);
    yield runCase(id, one.requirements, async () => {
      return (await player.play(one, "converse", Number.POSITIVE_INFINITY))
        .verdict;
    });
    yield runCase(`${id}/cut`, ["STREAM-3", "STREAM-7"], async () => {
      // A conversation without a cut has fewer bytes than the position of the
      // cut.
      for (let bytes = 1; ; bytes += cutEvery) {
        const { verdict, cuts } = await player.play(one, "resume", bytes);
        if (verdict.status === "failed") {
          return {
            ...verdict,
            reason: `cut after ${bytes} bytes of the server: ${verdict.reason}`,
          };
        }
        if (verdict.status === "skipped" || cuts === 0) return verdict;
      }
    });
  }
}

interface PlayResult {
  readonly verdict: Verdict;
  /**
   * The number of connections that were cut.
   */
  readonly cuts: number;
}

/**
 * Plays conversations to one program.
 */
class ConversationPlayer {
  readonly #program: Program;
  readonly #over: A2aInterface | undefined;
  readonly #limit: () => AbortSignal;

  /**
   * `limit` creates the time limit of one conversation.
   */
  constructor(
    program: Program,
    over: A2aInterface | undefined,
    limit: () => AbortSignal,
  ) {
    this.#program = program;
    this.#over = over;
    this.#limit = limit;
  }

  /**
   * Plays a conversation and cuts the first connection that has carried
   * `cutAfter` bytes.
   */
  async play(
    one: ClientCase,
    work: "converse" | "resume",
    cutAfter: number,
  ): Promise<PlayResult> {
    const replay = new Replay(one.events);
    const token = crypto.randomUUID();
    await using server = await startReplayServer({
      replay,
      token,
      over: this.#over,
    });
    const cuts = [cutAfter];
    await using proxy = await startCuttingProxy(
      () => server.url,
      () => cuts.shift() ?? Number.POSITIVE_INFINITY,
    );
    const recording = new Recording();
    const conversation = {
      url: proxy.url,
      token,
      prompt: one.prompt,
      answers: one.answers,
    };
    let request: ProgramWork = { case: work, value: conversation };
    if (this.#over) {
      const { protocolVersion, binding: protocolBinding } = this.#over;
      request = {
        case: `${work}OverA2a`,
        value: { conversation, protocolVersion, protocolBinding },
      };
    }
    const outcome = await recordedProgram(this.#program, recording).ask(
      request,
      this.#limit(),
    );
    const verdict = judgeOutcome(outcome, replay);
    const isFailed = verdict.status === "failed";
    return {
      verdict: isFailed
        ? { ...verdict, exchanges: recording.records }
        : verdict,
      cuts: proxy.cuts(),
    };
  }
}

/**
 * Returns the verdict on a conversation: the client must have received what it
 * was sent.
 */
function judgeOutcome(outcome: ProgramOutcome, replay: Replay): Verdict {
  if (outcome.case === "unsupported") return skipUnsupported(outcome.value);
  const [problem] = replay.problems;
  if (problem !== undefined) return { status: "failed", reason: problem };
  if (outcome.case !== "conversation") {
    const reason = `a conversation must be returned: got ${outcome.case}: ${String(outcome.value)}`;
    return { status: "failed", reason };
  }
  if (!replay.isOver) {
    return {
      status: "failed",
      reason: "the client left before the conversation was over",
    };
  }
  const { events, task } = outcome.value;
  const sent = replay.shown.map((event) => toJson(TaskEventSchema, event));
  const received = events.map((event) => toJson(TaskEventSchema, event));
  // Of the task, only what every protocol carries is compared.
  const { id, contextId, state } = replay.task(replay.log[0]?.taskId ?? "");
  const expectedTask = toJson(
    TaskSchema,
    create(TaskSchema, { id, contextId, state }),
  );
  const reason =
    inequality(sent, received, "events") ??
    mismatch(expectedTask, task && toJson(TaskSchema, task), "task");
  return reason === undefined ? PASSED : { status: "failed", reason };
}
