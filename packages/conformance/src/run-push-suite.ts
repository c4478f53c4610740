import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import { CaseSchema, type Post, type PushCase, type PushSuite, PushSuiteSchema } from "@devtool/schema/conformance";
import { Recording } from "./binding/recording.ts";
import type { CaseResult } from "./case-result.ts";
import { findSubject, type Subject } from "./find-subject.ts";
import { mismatch } from "./match.ts";
import { playCase } from "./play-case.ts";
import { type Posted, type Receiver, startReceiver } from "./push/receiver.ts";
import { jsonOf } from "./run-json-suite.ts";
import pushSuite from "./suites/push.json" with { type: "json" };
import scriptedPrompts from "./suites/scripted-prompts.json" with { type: "json" };
import { Variables } from "./variables.ts";

/** How to play the suite. */
export interface PushSuiteOptions {
  /** Where notifications are received: `host:port`, which the server must be allowed to post to. */
  readonly receiver: string;
  /** The prompt that makes the agent behave as a case needs it, by the name of the behaviour. Default: our step language. */
  readonly prompts?: Readonly<Record<string, string>>;
  /** A case may take so many milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
}

/** The cases of notifications, as data. */
export function pushCases(): PushSuite {
  return fromJson(PushSuiteSchema, pushSuite);
}

/** Has a server post notifications over A2A 0.3, and looks at what comes. Results come as they are known. */
export async function* runPushSuite(
  { url, token }: Pick<Subject, "url" | "token">,
  signal: AbortSignal,
  { receiver: address, prompts = {}, timeoutMs = 30_000 }: PushSuiteOptions,
): AsyncIterable<CaseResult> {
  const target = { url, protocolVersion: "0.3", binding: "JSONRPC", ...(token !== undefined && { token }) } as const;
  const subject = await findSubject(target, signal);
  await using receiver = await startReceiver(address);
  const known = Object.entries({ ...scriptedPrompts, ...prompts }).map(([name, text]) => [`prompt:${name}`, text]);
  for (const one of pushCases().cases) {
    const start = performance.now();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const played = { one, subject, receiver, prompts: Object.fromEntries(known) };
    const reason = await problemOf(played, limit).catch((cause: unknown) => String(cause));
    const durationMs = Math.round(performance.now() - start);
    const status = reason === undefined ? "passed" : "failed";
    yield { id: one.id, requirements: one.requirements, status, durationMs, ...(reason !== undefined && { reason }) };
  }
}

interface Played {
  readonly one: PushCase;
  readonly subject: Subject;
  readonly receiver: Receiver;
  readonly prompts: Readonly<Record<string, string>>;
}

async function problemOf(
  { one, subject, receiver, prompts }: Played,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = `/${crypto.randomUUID()}`;
  receiver.answer(path, one.answers);
  const variables = new Variables({ ...prompts, extension: EXTENSION_URI, receiver: receiver.url + path });
  const { id, requirements, steps } = one;
  const asked = create(CaseSchema, { id, requirements, steps });
  const [failure] = await playCase(asked, { subject, variables, recording: new Recording() }, signal);
  if (failure) return failure.reason;
  let missing = missingPost(one.posts, receiver.posted(path), variables);
  while (missing !== undefined && !signal.aborted) {
    await receiver.next(signal);
    missing = missingPost(one.posts, receiver.posted(path), variables);
  }
  if (missing !== undefined) return missing;
  const followed = receiver.posted(`${path}/elsewhere`).length;
  if (followed > 0) return "a redirect was followed";
  return quietProblem(one, () => receiver.posted(path).length);
}

/** Nothing may come after what had to come, where a case demands that. */
async function quietProblem({ quietMs }: PushCase, count: () => number): Promise<string | undefined> {
  if (quietMs === 0) return undefined;
  const before = count();
  await new Promise((resolve) => setTimeout(resolve, quietMs));
  const more = count() - before;
  return more === 0 ? undefined : `${more} more posts came in the ${quietMs} ms after the last that was to come`;
}

/** Finds the posts that must come, in order; says which did not. */
function missingPost(wanted: readonly Post[], came: readonly Posted[], variables: Variables): string | undefined {
  let position = 0;
  for (const [index, post] of wanted.entries()) {
    const found = came.findIndex(
      (posted, at) => at >= position && fits(post, { posted, before: came[at - 1] }, variables),
    );
    if (found < 0) {
      const bodies = came.slice(position).map(({ body }) => JSON.stringify(body).slice(0, 200));
      return `post ${index + 1} of ${wanted.length} did not come; these did after the one before: ${bodies.join(" ") || "none"}`;
    }
    position = found + 1;
  }
  return undefined;
}

interface Candidate {
  readonly posted: Posted;
  readonly before: Posted | undefined;
}

function fits(post: Post, { posted, before }: Candidate, variables: Variables): boolean {
  const headers: JsonValue = { ...posted.headers };
  const repeats = !post.repeats || posted.headers[EVENT_ID] === before?.headers[EVENT_ID];
  return (
    repeats &&
    mismatch(variables.fill(jsonOf(post.body)), posted.body) === undefined &&
    mismatch(variables.fill(post.headers), headers) === undefined
  );
}

const EVENT_ID = "devtool-event-id";
