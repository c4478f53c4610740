import { defined } from "@devtool/internal/json";
import type { BindingName, ProtocolVersion } from "../binding/binding.ts";
import type { CaseResult } from "../play/case-result.ts";
import { assertOnly } from "../play/skip-reason.ts";
import { pushCases, runPushSuite } from "../runner/run-push-suite.ts";
import { runServerSuite, serverCases } from "../runner/run-server-suite.ts";
import { findSubject, type Subject } from "../subject/find-subject.ts";
import { readPrompts } from "../suites/prompts.ts";
import { readInput } from "./files.ts";
import type { Host } from "./host.ts";
import type { Play } from "./play.ts";

/** Options for testing a server. */
export interface ServerOptions {
  /**
   * The `host:port` that receives notifications. Without it they are not
   * tested.
   */
  readonly push?: string;
  /** The version of A2A to speak. */
  readonly a2a?: ProtocolVersion;
  /** The binding to speak. */
  readonly binding?: BindingName;
  /** A JSON file with the prompt for each behavior. */
  readonly prompts?: string;
  /** The prefix of the ids of the cases to run. */
  readonly only?: string;
  /** The time limit of the card and of each case, in seconds. */
  readonly timeout?: number;
}

/**
 * Connects to a server and prepares the server suite and, with a receiver, the
 * push suite.
 */
export async function playServer(
  url: string,
  options: ServerOptions,
  host: Host,
  signal: AbortSignal,
): Promise<Play> {
  const { only, push } = options;
  const prompts =
    options.prompts === undefined
      ? undefined
      : await readInput(options.prompts, readPrompts);
  const timeoutMs = limitMs(options);
  const subject = await findServer(url, options, host, signal);
  const { protocolVersion } = subject.binding;
  const cases = [
    ...serverCases(protocolVersion).cases,
    ...(push === undefined ? [] : pushCases(protocolVersion).cases),
  ];
  assertOnly(
    only ?? "",
    cases.map(({ id }) => id),
  );
  const choice = defined({ prompts, only, timeoutMs });
  async function* results(): AsyncIterable<CaseResult> {
    yield* runServerSuite(subject, signal, choice);
    if (push !== undefined) {
      yield* runPushSuite(subject, signal, { receiver: push, ...choice });
    }
  }
  return {
    suite: `A2A ${protocolVersion} server`,
    subject: { ...subject, name: url },
    notes: notesOn(subject, options),
    results: results(),
  };
}

/** The time limit in milliseconds. Undefined for the default of a suite. */
export function limitMs({
  timeout,
}: Pick<ServerOptions, "timeout">): number | undefined {
  return timeout === undefined ? undefined : timeout * 1_000;
}

/** Reads the card of the server to test and chooses the interface. */
export async function findServer(
  url: string,
  options: ServerOptions,
  host: Host,
  signal: AbortSignal,
): Promise<Subject> {
  const { a2a: protocolVersion, binding } = options;
  const timeoutMs = limitMs(options);
  const access = await host.findAccess(url, signal);
  return findSubject(
    { url, ...access, ...defined({ protocolVersion, binding, timeoutMs }) },
    signal,
  );
}

/** What an agent without the extension is not asked, and how to ask it more. */
function notesOn(
  { claims }: Subject,
  { only, prompts }: ServerOptions,
): string[] {
  if (claims.has("extension")) return [];
  const left =
    "the card does not claim the development-tool extension: only A2A itself is tested";
  const asked =
    'the agent is asked no more than "Hello": --init writes a file of prompts to fill in, for --prompts';
  return [
    ...(only === undefined ? [left] : []),
    ...(prompts === undefined ? [asked] : []),
  ];
}
