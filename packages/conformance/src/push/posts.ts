import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import { StreamResponseSchema } from "@devtool/schema/a2a-v1";
import type { Post, PushCase } from "@devtool/schema/conformance";
import { jsonProblem } from "../binding/a2a-json.ts";
import type { ProtocolVersion } from "../binding/binding.ts";
import type { CaseFailure } from "../case-result.ts";
import { fieldsOf } from "../json-fields.ts";
import { mismatch } from "../match.ts";
import { jsonOf } from "../run-json-suite.ts";
import type { Variables } from "../variables.ts";
import type { Posted } from "./receiver.ts";

/** What came to a receiver in a case. */
export interface Came {
  /** The posts to the receiver itself, in order. */
  readonly posts: readonly Posted[];
  /** How many posts followed a redirect. */
  readonly followed: number;
}

/** What holds for every post, so that no case asks for it; says what is not so. */
export function postBreach({ posts, followed }: Came, version: ProtocolVersion): CaseFailure | undefined {
  if (followed > 0) return { requirements: ["PUSH-2"], step: 0, reason: "a redirect was followed" };
  if (version === "0.3") return undefined;
  for (const [index, post] of posts.entries()) {
    const problem = formProblem(post);
    if (problem === undefined) continue;
    return { requirements: ["A2A1-PUSH-DELIVERY"], step: 0, reason: `post ${index + 1}: ${problem}` };
  }
  return undefined;
}

/** A post of A2A 1.0 is an element of a stream (section 4.3.3); 1.0.0 has plain JSON, 1.0.1 a media type of A2A. */
function formProblem({ headers, body }: Posted): string | undefined {
  const type = headers["content-type"] ?? "";
  if (!/^application\/(a2a\+)?json\s*(;|$)/i.test(type))
    return `the content type must be application/a2a+json or application/json: got ${JSON.stringify(type)}`;
  const schema: DescMessage = StreamResponseSchema;
  const names = schema.fields.map(({ jsonName }) => jsonName);
  const present = names.filter((name) => name in fieldsOf(body));
  if (present.length !== 1)
    return `the body must have one of ${names.join(", ")}: got ${JSON.stringify(body).slice(0, 200)}`;
  return jsonProblem(schema, body);
}

/** Finds the posts that must come, in order; says which did not. */
export function missingPost(
  { posts, requirements }: PushCase,
  came: readonly Posted[],
  variables: Variables,
): CaseFailure | undefined {
  let position = 0;
  for (const [index, post] of posts.entries()) {
    const found = came.findIndex(
      (posted, at) => at >= position && fits(post, { posted, before: came[at - 1] }, variables),
    );
    if (found < 0) {
      const bodies = came.slice(position).map(({ body }) => JSON.stringify(body).slice(0, 200));
      const reason = `post ${index + 1} of ${posts.length} did not come; these did after the one before: ${bodies.join(" ") || "none"}`;
      return { requirements: post.requirements.length > 0 ? post.requirements : requirements, step: 0, reason };
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
