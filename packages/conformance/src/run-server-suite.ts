import { create, fromJson } from "@bufbuild/protobuf";
import { DEFAULT_LIMITS, EXTENSION_URI } from "@devtool/schema";
import { type Case, type Suite, SuiteSchema } from "@devtool/schema/conformance";
import type { ProtocolVersion } from "./binding/binding.ts";
import { Recording } from "./binding/recording.ts";
import type { CaseResult } from "./case-result.ts";
import type { Subject } from "./find-subject.ts";
import { type CaseContext, playCase } from "./play-case.ts";
import scriptedPrompts from "./suites/scripted-prompts.json" with { type: "json" };
import { SERVER_A2A_V1 } from "./suites/server-a2a-v1.ts";
import { SERVER_A2A_V03 } from "./suites/server-a2a-v03.ts";
import { Variables } from "./variables.ts";
import { whyNot } from "./why-not.ts";

/** How to play a suite. */
export interface ServerSuiteOptions {
  /**
   * The prompt that makes the agent behave as a case needs it, by the name of the behaviour. A case that needs one that is
   * not here is skipped. Default: our step language.
   */
  readonly prompts?: Readonly<Record<string, string>>;
  /** Plays only the cases whose ids begin so, for instance `a2a/` for what A2A itself asks. Default: all. */
  readonly only?: string;
  /** Plays only the cases for which this is true. Default: all. */
  readonly select?: (one: Case) => boolean;
  /** A case may take so many milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
}

/** The cases for servers of a version of A2A, as data. */
export function serverCases(version: ProtocolVersion): Suite {
  const suites = (version === "0.3" ? SERVER_A2A_V03 : SERVER_A2A_V1).map((suite) => fromJson(SuiteSchema, suite));
  const { name = "" } = suites[0] ?? {};
  return create(SuiteSchema, { name, protocolVersion: version, cases: suites.flatMap(({ cases }) => cases) });
}

/** Plays all cases against a server, one after the other, over the wire. Results come as they are known. */
export async function* runServerSuite(
  subject: Subject,
  signal: AbortSignal,
  { prompts = scriptedPrompts, only = "", select = () => true, timeoutMs = 30_000 }: ServerSuiteOptions = {},
): AsyncIterable<CaseResult> {
  const shared = sharedVariables(prompts, subject.binding.endpoint);
  for (const one of serverCases(subject.binding.protocolVersion).cases) {
    if (!one.id.startsWith(only) || !select(one)) continue;
    signal.throwIfAborted();
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const variables = new Variables({ ...shared, retried: crypto.randomUUID() });
    yield runCase(one, { subject, variables, recording: new Recording() }, limited);
  }
}

/** What names stand for in every case. Made once: a text that is too large takes a while. */
function sharedVariables(prompts: Readonly<Record<string, string>>, endpoint: string): Record<string, string> {
  const known = Object.entries(prompts).map(([name, text]) => [`prompt:${name}`, text]);
  return {
    ...Object.fromEntries(known),
    endpoint,
    extension: EXTENSION_URI,
    deep: "[".repeat(100_000),
    huge: JSON.stringify("x".repeat(DEFAULT_LIMITS.maxBytes + 1)),
  };
}

async function runCase(one: Case, context: CaseContext, signal: AbortSignal): Promise<CaseResult> {
  const start = performance.now();
  const { id, requirements } = one;
  const skipped = whyNot(one, context);
  if (skipped !== undefined) return { id, requirements, status: "skipped", reason: skipped, durationMs: 0 };
  const failures = await playCase(one, context, signal);
  const durationMs = Math.round(performance.now() - start);
  if (failures.length === 0) return { id, requirements, status: "passed", durationMs };
  const reason = failures.map((failure) => failure.reason).join("\n");
  return { id, requirements, status: "failed", reason, durationMs, failures, exchanges: context.recording.records };
}
