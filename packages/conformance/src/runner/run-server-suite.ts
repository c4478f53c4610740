import { create, fromJson } from "@bufbuild/protobuf";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { DEFAULT_LIMITS, EXTENSION_URI } from "@devtool/schema";
import type { ProtocolVersion } from "../binding/binding.ts";
import { Recording } from "../binding/recording.ts";
import { promptVariables, Variables } from "../match/variables.ts";
import {
  type CaseResult,
  elapsedMs,
  resultOfCase,
} from "../play/case-result.ts";
import { playCase } from "../play/play-case.ts";
import { isAsked, skipReason } from "../play/skip-reason.ts";
import { type Case, CaseSchema, type Suite, SuiteSchema } from "../protos.ts";
import type { Subject } from "../subject/find-subject.ts";
import { caseV03 } from "../suites/case-v03.ts";
import { usualPrompts } from "../suites/prompts.ts";
import { SERVER_SUITES } from "../suites/server.ts";

/**
 * Options of `runServerSuite`.
 */
export interface ServerSuiteOptions {
  /**
   * The prompts that make the agent behave as cases need, by the name of the
   * behaviour. A case whose prompt is missing is skipped.
   *
   * Default: prompts in the step language of devtool's scripted agent if the
   * card claims the extension, otherwise a greeting as "says" and "ends".
   */
  readonly prompts?: Readonly<Record<string, string>>;
  /**
   * Plays only the cases whose ids start with this prefix, for instance `a2a/`
   * for what A2A itself requires.
   *
   * Default: all, but without the extension's if the card does not claim it.
   */
  readonly only?: string;
  /**
   * Plays only the cases for which this returns true.
   *
   * Default: all.
   */
  readonly select?: (one: Case) => boolean;
  /**
   * Time limit of a case in milliseconds.
   *
   * Default: 30,000.
   */
  readonly timeoutMs?: number;
}

/**
 * Returns the cases for servers of a version of A2A, as data, in the names of
 * that version.
 */
export function serverCases(version: ProtocolVersion): Suite {
  const cases = SERVER_SUITES.flatMap(({ cases }) => listOrEmpty(cases))
    .map(objectOrEmpty)
    .filter(({ protocolVersion = version }) => protocolVersion === version)
    .map((one) =>
      version === "0.3" && one.protocolVersion === undefined
        ? caseV03(one)
        : one,
    );
  return create(SuiteSchema, {
    name: `A2A ${version} server`,
    protocolVersion: version,
    cases: cases.map((one) => fromJson(CaseSchema, one)),
  });
}

/**
 * Number of cases in a row without an answer after which the others are not
 * played: a server that hangs ends a run in three time limits.
 */
const MAX_SILENT_CASES = 3;

/**
 * Plays the cases against a server, one after the other, and yields each result
 * as soon as it is known. A case that the server cannot be asked, such as one
 * about what its card does not claim, is skipped with the reason.
 *
 * Rejects with the signal's reason, before the next case, when it aborts.
 *
 * ```ts
 * const subject = await findSubject({ url, token }, signal);
 * for await (const { id, status, reason } of runServerSuite(subject, signal, { only: "a2a/" })) {
 *   if (status === "failed") console.log(id, reason);
 * }
 * ```
 */
export async function* runServerSuite(
  subject: Subject,
  signal: AbortSignal,
  {
    prompts = usualPrompts(subject),
    only = "",
    select = () => true,
    timeoutMs = 30_000,
  }: ServerSuiteOptions = {},
): AsyncIterable<CaseResult> {
  // Built once, because the text that is too large takes a while.
  const shared = {
    ...promptVariables(prompts),
    endpoint: subject.binding.endpoint,
    extension: EXTENSION_URI,
    deep: "[".repeat(100_000),
    huge: JSON.stringify("x".repeat(DEFAULT_LIMITS.maxBytes + 1)),
  };
  let silentCases = 0;
  for (const one of serverCases(subject.binding.protocolVersion).cases) {
    if (!isAsked(one, only, subject) || !select(one)) continue;
    signal.throwIfAborted();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const variables = new Variables({
      ...shared,
      retried: crypto.randomUUID(),
    });
    const recording = new Recording();
    const context = { subject, variables, prompts, recording, timeoutMs };
    const start = performance.now();
    const { id, requirements } = one;
    const skipped =
      silentCases < MAX_SILENT_CASES
        ? skipReason(one, context)
        : `not asked: the server answered nothing in ${MAX_SILENT_CASES} cases, one after the other`;
    if (skipped !== undefined) {
      yield {
        id,
        requirements,
        status: "skipped",
        reason: skipped,
        durationMs: 0,
      };
      continue;
    }
    const played = await playCase(one, context, limit);
    silentCases = limit.aborted && !recording.isAnswered ? silentCases + 1 : 0;
    yield resultOfCase(one, elapsedMs(start), played, recording.records);
  }
}
