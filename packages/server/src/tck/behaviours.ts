import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ArtifactSchema,
  type ArtifactUpdate,
  ArtifactUpdateSchema,
  type Message,
  type Part,
  PartSchema,
  TaskState,
} from "@devtool/schema";
import type { TurnEnd } from "../agent/agent-executor.ts";

/** One thing that the test agent does. */
export type Step =
  | { readonly case: "artifact"; readonly value: ArtifactUpdate }
  /** Waits, in times of the kit's streaming timeout. */
  | { readonly case: "wait"; readonly timeouts: number }
  /** Works until it is canceled. */
  | { readonly case: "idle" }
  | { readonly case: "reply"; readonly parts: readonly Part[] }
  | { readonly case: "end"; readonly value: TurnEnd };

/** What a message makes the test agent do, by the prefix that the message begins with. */
export interface Behaviour {
  readonly prefix: string;
  readonly steps: readonly Step[];
  /** What a further message to the task does that begins with no prefix itself, by its text. Default: the task is completed. */
  readonly next?: (text: string) => readonly Step[];
}

const COMPLETED = "Hello from TCK";

/** What completes a task. */
export const COMPLETE: readonly Step[] = [end(TaskState.COMPLETED, COMPLETED)];

/** What asks for another message. */
export const ASK: readonly Step[] = [end(TaskState.INPUT_REQUIRED, "Send another message to go on.")];

const DONE = end(TaskState.COMPLETED, "");
const TEXT = artifact({ artifactId: "text", name: "Generated text" }, text("Generated text content"));
const FILE = artifact(
  { artifactId: "file", name: "Generated file" },
  file({ source: { case: "bytes", value: new TextEncoder().encode("Generated file content\n") } }),
);
const FILE_URL = artifact(
  { artifactId: "file-url", name: "Generated file" },
  file({ source: { case: "uri", value: "https://example.com/output.txt" } }),
);
const DATA = artifact({ artifactId: "data", name: "Generated data" }, data({ key: "value", count: 42 }));
const CHUNKS = [
  chunk({ append: false, lastChunk: false }, "Generated "),
  chunk({ append: true, lastChunk: true }, "in two chunks"),
];

const TABLE: readonly Behaviour[] = [
  { prefix: "tck-complete-task", steps: COMPLETE },
  {
    prefix: "tck-delayed-complete",
    steps: [{ case: "wait", timeouts: 1 }, end(TaskState.COMPLETED, "Done after delay")],
  },
  { prefix: "test-resubscribe-message-id", steps: [{ case: "wait", timeouts: 2 }, ...COMPLETE] },
  { prefix: "tck-long-running", steps: [{ case: "wait", timeouts: 2.5 }, TEXT, DONE] },
  { prefix: "tck-cancel", steps: [{ case: "idle" }] },
  { prefix: "tck-artifact-text", steps: [TEXT, DONE] },
  { prefix: "tck-artifact-file", steps: [FILE, DONE] },
  { prefix: "tck-artifact-file-url", steps: [FILE_URL, DONE] },
  { prefix: "tck-artifact-data", steps: [DATA, DONE] },
  { prefix: "tck-message-response", steps: [{ case: "reply", parts: [text("Direct message response")] }] },
  { prefix: "tck-input-required", steps: ASK },
  {
    prefix: "tck-multi-turn",
    steps: ASK,
    next: (said) => (said.trimStart().toLowerCase().startsWith("done") ? COMPLETE : ASK),
  },
  { prefix: "tck-auth-required", steps: [end(TaskState.AUTH_REQUIRED, "Sign in, then send a message to go on.")] },
  { prefix: "tck-reject-task", steps: [end(TaskState.REJECTED, "rejected")] },
  { prefix: "tck-task-failure", steps: [end(TaskState.FAILED, "The task failed, as it was asked to.")] },
  { prefix: "tck-stream-001", steps: [TEXT, DONE] },
  { prefix: "tck-stream-002", steps: COMPLETE },
  { prefix: "tck-stream-003", steps: [TEXT, DONE] },
  { prefix: "tck-stream-ordering-001", steps: [TEXT, DONE] },
  { prefix: "tck-stream-basic", steps: [TEXT, DONE] },
  { prefix: "tck-stream-artifact-text", steps: [TEXT, DONE] },
  { prefix: "tck-stream-artifact-file", steps: [FILE, DONE] },
  { prefix: "tck-stream-artifact-chunked", steps: [...CHUNKS, DONE] },
  { prefix: "tck-stream-chunked", steps: [...CHUNKS, DONE] },
];

/** The behaviours, the longest prefix first: one may begin with another. */
export const BEHAVIOURS: readonly Behaviour[] = TABLE.toSorted((a, b) => b.prefix.length - a.prefix.length);

/**
 * The behaviour that a message asks for: by the prefix of its id, as the A2A TCK has it, or else of its first text, as ACTS
 * has it. Undefined when it begins with none.
 */
export function behaviourOf(message: Message): Behaviour | undefined {
  return named(message.messageId) ?? named(firstText(message));
}

/** The first text of a message; empty when it has none. */
export function firstText({ parts }: Message): string {
  const content = parts.map((part) => part.content).find((each) => each.case === "text");
  return content?.case === "text" ? content.value : "";
}

function named(words: string): Behaviour | undefined {
  return BEHAVIOURS.find(({ prefix }) => words.startsWith(prefix));
}

function end(state: TurnEnd["state"], words: string): Step {
  return { case: "end", value: { state, text: words } };
}

function artifact(about: MessageInitShape<typeof ArtifactSchema>, part: Part): Step {
  const value = create(ArtifactUpdateSchema, { artifact: { ...about, parts: [part] }, lastChunk: true });
  return { case: "artifact", value };
}

function chunk(place: { readonly append: boolean; readonly lastChunk: boolean }, words: string): Step {
  const made = { artifactId: "chunked", name: "Generated text", parts: [text(words)] };
  return { case: "artifact", value: create(ArtifactUpdateSchema, { artifact: made, ...place }) };
}

function text(value: string): Part {
  return create(PartSchema, { content: { case: "text", value } });
}

type FileInit = Extract<NonNullable<MessageInitShape<typeof PartSchema>["content"]>, { case: "file" }>["value"];

function file(where: Pick<FileInit, "source">): Part {
  return create(PartSchema, {
    content: { case: "file", value: { name: "output.txt", mediaType: "text/plain", ...where } },
  });
}

function data(value: Record<string, string | number>): Part {
  return create(PartSchema, { content: { case: "data", value } });
}
