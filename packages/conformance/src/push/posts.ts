import type { DescMessage } from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import { StreamResponseSchema } from "@devtool/schema/a2a-v1";
import { a2aJsonProblem } from "../binding/a2a-json.ts";
import type { ProtocolVersion } from "../binding/binding.ts";
import { mismatch } from "../match/match.ts";
import type { Variables } from "../match/variables.ts";
import type { CaseFailure } from "../play/case-result.ts";
import type { PushCase } from "../protos.ts";
import type { ReceivedPost } from "./receiver.ts";

/**
 * The posts that a receiver got in a case.
 */
export interface ReceivedPosts {
  /**
   * The posts to the receiver itself, in order.
   */
  readonly posts: readonly ReceivedPost[];
  /**
   * The number of posts that followed a redirect.
   */
  readonly followed: number;
}

/**
 * Checks what every post must hold to, so that no case needs to ask for it.
 * Returns the first failure.
 */
export function postBreach(
  { posts, followed }: ReceivedPosts,
  version: ProtocolVersion,
): CaseFailure | undefined {
  if (followed > 0) {
    return {
      requirements: ["PUSH-2"],
      step: 0,
      reason: "a redirect was followed",
    };
  }
  if (version === "0.3") return undefined;
  for (const [index, post] of posts.entries()) {
    const problem = streamResponseProblem(post);
    if (problem === undefined) continue;
    return {
      requirements: ["A2A1-PUSH-DELIVERY"],
      step: 0,
      reason: `post ${index + 1}: ${problem}`,
    };
  }
  return undefined;
}

/**
 * A post of A2A 1.0 is a `StreamResponse` (section 4.3.3). Revision 1.0.0 sends
 * it as plain JSON, 1.0.1 with a media type of A2A.
 */
function streamResponseProblem({
  headers,
  body,
}: ReceivedPost): string | undefined {
  const type = headers["content-type"] ?? "";
  if (!/^application\/(a2a\+)?json\s*(;|$)/i.test(type)) {
    return `the content type must be application/a2a+json or application/json: got ${JSON.stringify(type)}`;
  }
  const schema: DescMessage = StreamResponseSchema;
  const names = schema.fields.map(({ jsonName }) => jsonName);
  const present = names.filter((name) => name in objectOrEmpty(body));
  if (present.length !== 1) {
    return `the body must have one of ${names.join(", ")}: got ${JSON.stringify(body).slice(0, 200)}`;
  }
  return a2aJsonProblem(schema, body);
}

const EVENT_ID = "devtool-event-id";

/**
 * Looks for the expected posts in order, with others allowed in between.
 * Returns a failure for the first one that is missing.
 */
export function missingPost(
  { posts, requirements }: PushCase,
  received: readonly ReceivedPost[],
  variables: Variables,
): CaseFailure | undefined {
  let position = 0;
  for (const [index, expected] of posts.entries()) {
    const found = received.findIndex(({ headers, body }, at) => {
      if (at < position) return false;
      if (
        expected.repeats &&
        headers[EVENT_ID] !== received[at - 1]?.headers[EVENT_ID]
      ) {
        return false;
      }
      const bodyProblem = mismatch(variables.fillValue(expected.body), body);
      const headerProblem = mismatch(variables.fill(expected.headers), {
        ...headers,
      });
      return bodyProblem === undefined && headerProblem === undefined;
    });
    if (found < 0) {
      const bodies = received
        .slice(position)
        .map(({ body }) => JSON.stringify(body).slice(0, 200));
      const rest = bodies.join(" ") || "none";
      const reason = `post ${index + 1} of ${posts.length} did not come: got after the one before: ${rest}`;
      return {
        requirements:
          expected.requirements.length > 0
            ? expected.requirements
            : requirements,
        step: 0,
        reason,
      };
    }
    position = found + 1;
  }
  return undefined;
}
