import { create, fromJson } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import type { ProtocolVersion } from "../binding/binding.ts";
import { Recording } from "../binding/recording.ts";
import { promptVariables, Variables } from "../match/variables.ts";
import {
  type CaseFailure,
  type CaseResult,
  elapsedMs,
  resultOfCase,
} from "../play/case-result.ts";
import { type CaseContext, playCase } from "../play/play-case.ts";
import { isAsked, skipReason } from "../play/skip-reason.ts";
import {
  CaseSchema,
  type PushCase,
  type PushSuite,
  PushSuiteSchema,
} from "../protos.ts";
import { missingPost, postBreach, type ReceivedPosts } from "../push/posts.ts";
import { type Receiver, startReceiver } from "../push/receiver.ts";
import type { Subject } from "../subject/find-subject.ts";
import { usualPrompts } from "../suites/prompts.ts";
import suiteV1 from "../suites/push-a2a-v1.json" with { type: "json" };
import suiteV03 from "../suites/push-a2a-v03.json" with { type: "json" };
import type { ServerSuiteOptions } from "./run-server-suite.ts";

/**
 * Options of `runPushSuite`.
 */
export interface PushSuiteOptions extends ServerSuiteOptions {
  /**
   * The `host:port` to receive notifications at. The server must be allowed to
   * post there.
   */
  readonly receiver: string;
}

/**
 * Returns the cases of push notifications over a version of A2A, as data.
 */
export function pushCases(version: ProtocolVersion): PushSuite {
  return fromJson(PushSuiteSchema, version === "0.3" ? suiteV03 : suiteV1);
}

/**
 * Sets push notification configs on a server and checks what it posts. Yields
 * each result as soon as it is known.
 *
 * Listens at `receiver` until the suite ends, and rejects if the port is taken.
 * When the signal aborts, rejects with its reason before the next case.
 */
export async function* runPushSuite(
  subject: Subject,
  signal: AbortSignal,
  {
    receiver: address,
    prompts = usualPrompts(subject),
    only = "",
    select = () => true,
    timeoutMs = 30_000,
  }: PushSuiteOptions,
): AsyncIterable<CaseResult> {
  await using receiver = await startReceiver(address);
  for (const one of pushCases(subject.binding.protocolVersion).cases) {
    const { id, requirements, steps, needs } = one;
    const serverCase = create(CaseSchema, {
      id,
      requirements,
      steps,
      needs: ["pushNotifications", ...needs],
    });
    if (!isAsked(one, only, subject) || !select(serverCase)) continue;
    signal.throwIfAborted();
    const path = `/${crypto.randomUUID()}`;
    const hook = { extension: EXTENSION_URI, receiver: receiver.url + path };
    const variables = new Variables({ ...promptVariables(prompts), ...hook });
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const recording = new Recording();
    const context = { subject, variables, prompts, recording, timeoutMs };
    const start = performance.now();
    const skipped = skipReason(serverCase, context);
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
    receiver.setAnswers(path, one.answers);
    const setUp = await playCase(serverCase, context, limit);
    const played =
      setUp.failures.length > 0 || setUp.skipped !== undefined
        ? setUp
        : {
            ...setUp,
            failures: await checkPosts({ one, receiver, path, context }, limit),
          };
    const durationMs = elapsedMs(start);
    recording.startStep(0);
    for (const { headers, body, status } of receiver.posts(path)) {
      recording.addRequest(
        `POST ${receiver.url}${path}`,
        Object.entries(headers),
        JSON.stringify(body),
      );
      recording.setResponse(String(status), []);
    }
    yield resultOfCase(one, durationMs, played, recording.records);
  }
}

interface PlayedCase {
  readonly one: PushCase;
  readonly receiver: Receiver;
  /**
   * The path at which the receiver takes the posts of this case.
   */
  readonly path: string;
  readonly context: CaseContext;
}

/**
 * Checks the posts of a case each time one arrives, until all expected ones are
 * there or the time is up.
 */
async function checkPosts(
  played: PlayedCase,
  signal: AbortSignal,
): Promise<CaseFailure[]> {
  const { one, receiver, context } = played;
  const version = context.subject.binding.protocolVersion;
  for (;;) {
    const received = receivedPosts(played);
    const breach = postBreach(received, version);
    if (breach) return [breach];
    const missing = missingPost(one, received.posts, context.variables);
    if (!missing) break;
    if (signal.aborted) return [missing];
    await receiver.next(signal);
  }
  const { quietMs, requirements } = one;
  const before = receivedPosts(played).posts.length;
  if (quietMs > 0) await new Promise((resolve) => setTimeout(resolve, quietMs));
  const received = receivedPosts(played);
  const breach = postBreach(received, version);
  if (breach) return [breach];
  const more = received.posts.length - before;
  if (quietMs === 0 || more === 0) return [];
  const reason = `${more} more posts came in the ${quietMs} ms after the last that was to come`;
  return [{ requirements, step: 0, reason }];
}

function receivedPosts({ receiver, path }: PlayedCase): ReceivedPosts {
  return {
    posts: receiver.posts(path),
    followed: receiver.posts(`${path}/elsewhere`).length,
  };
}
