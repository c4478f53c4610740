import { create, fromJson } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import { CaseSchema, type PushCase, type PushSuite, PushSuiteSchema } from "@devtool/schema/conformance";
import type { ProtocolVersion } from "./binding/binding.ts";
import { Recording } from "./binding/recording.ts";
import type { CaseFailure, CaseResult } from "./case-result.ts";
import type { Subject } from "./find-subject.ts";
import { type CaseContext, playCase } from "./play-case.ts";
import { type Came, missingPost, postBreach } from "./push/posts.ts";
import { type Receiver, startReceiver } from "./push/receiver.ts";
import type { ServerSuiteOptions } from "./run-server-suite.ts";
import suiteV1 from "./suites/push-a2a-v1.json" with { type: "json" };
import suiteV03 from "./suites/push-a2a-v03.json" with { type: "json" };
import scriptedPrompts from "./suites/scripted-prompts.json" with { type: "json" };
import { Variables } from "./variables.ts";
import { whyNot } from "./why-not.ts";

/** How to play the suite. */
export interface PushSuiteOptions extends ServerSuiteOptions {
  /** Where notifications are received: `host:port`, which the server must be allowed to post to. */
  readonly receiver: string;
}

/** The cases of notifications over a version of A2A, as data. */
export function pushCases(version: ProtocolVersion): PushSuite {
  return fromJson(PushSuiteSchema, version === "0.3" ? suiteV03 : suiteV1);
}

/** Has a server post notifications, asked for in its binding, and looks at what comes. Results come as they are known. */
export async function* runPushSuite(
  subject: Subject,
  signal: AbortSignal,
  { receiver: address, prompts = scriptedPrompts, only = "", timeoutMs = 30_000 }: PushSuiteOptions,
): AsyncIterable<CaseResult> {
  await using receiver = await startReceiver(address);
  const known = Object.entries(prompts).map(([name, text]) => [`prompt:${name}`, text]);
  for (const one of pushCases(subject.binding.protocolVersion).cases) {
    if (!one.id.startsWith(only)) continue;
    signal.throwIfAborted();
    const path = `/${crypto.randomUUID()}`;
    const hook = { extension: EXTENSION_URI, receiver: receiver.url + path };
    const variables = new Variables({ ...Object.fromEntries(known), ...hook });
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    yield runCase({ one, receiver, path, context: { subject, variables, recording: new Recording() } }, limited);
  }
}

interface Playing {
  readonly one: PushCase;
  readonly receiver: Receiver;
  /** Where the receiver takes the posts of this case. */
  readonly path: string;
  readonly context: CaseContext;
}

async function runCase(playing: Playing, signal: AbortSignal): Promise<CaseResult> {
  const start = performance.now();
  const { one, context } = playing;
  const { id, requirements, steps, needs } = one;
  const asked = create(CaseSchema, { id, requirements, steps, needs: ["pushNotifications", ...needs] });
  const skipped = whyNot(asked, context);
  if (skipped !== undefined) return { id, requirements, status: "skipped", reason: skipped, durationMs: 0 };
  playing.receiver.answer(playing.path, one.answers);
  const refused = await playCase(asked, context, signal);
  const failures = refused.length > 0 ? refused : await failuresIn(playing, signal);
  const durationMs = Math.round(performance.now() - start);
  if (failures.length === 0) return { id, requirements, status: "passed", durationMs };
  const reason = failures.map((failure) => failure.reason).join("\n");
  return { id, requirements, status: "failed", reason, durationMs, failures, exchanges: evidence(playing) };
}

/** What is not as it must be in what is posted, looked at whenever something came. */
async function failuresIn(playing: Playing, signal: AbortSignal): Promise<CaseFailure[]> {
  const { one, receiver, context } = playing;
  for (;;) {
    const came = cameIn(playing);
    const breach = postBreach(came, context.subject.binding.protocolVersion);
    if (breach) return [breach];
    const missing = missingPost(one, came.posts, context.variables);
    if (!missing) return quietFailures(playing);
    if (signal.aborted) return [missing];
    await receiver.next(signal);
  }
}

/** Nothing may come after what had to come, where a case demands that. */
async function quietFailures(playing: Playing): Promise<CaseFailure[]> {
  const { quietMs, requirements } = playing.one;
  const before = cameIn(playing).posts.length;
  if (quietMs > 0) await new Promise((resolve) => setTimeout(resolve, quietMs));
  const came = cameIn(playing);
  const breach = postBreach(came, playing.context.subject.binding.protocolVersion);
  if (breach) return [breach];
  const more = came.posts.length - before;
  if (quietMs === 0 || more === 0) return [];
  const reason = `${more} more posts came in the ${quietMs} ms after the last that was to come`;
  return [{ requirements, step: 0, reason }];
}

function cameIn({ receiver, path }: Playing): Came {
  return { posts: receiver.posted(path), followed: receiver.posted(`${path}/elsewhere`).length };
}

/** What was asked, and what was posted for it. */
function evidence({ receiver, path, context: { recording } }: Playing): Recording["records"] {
  recording.begin(0);
  for (const { headers, body, status } of receiver.posted(path)) {
    recording.sent(`POST ${receiver.url}${path}`, Object.entries(headers), JSON.stringify(body));
    recording.answered(String(status), []);
  }
  return recording.records;
}
