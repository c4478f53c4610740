import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ArtifactSchema,
  type ArtifactUpdate,
  ArtifactUpdateSchema,
  type File,
  FileSchema,
  type Message,
  type Part,
  PartSchema,
  TaskState,
} from "@devtool/schema";
import type { TurnEnd } from "@devtool/server/agent";

/** One step of the test agent. */
export type BehaviourStep =
  | { readonly case: "artifact"; readonly value: ArtifactUpdate }
  /** Waits for a multiple of the kit's streaming timeout. */
  | { readonly case: "wait"; readonly timeouts: number }
  /** Keeps the task working until it is canceled. */
  | { readonly case: "idle" }
  | { readonly case: "reply"; readonly parts: readonly Part[] }
  | { readonly case: "end"; readonly value: TurnEnd };

/** The reaction of the test agent to messages with a prefix. */
interface Behaviour {
  /** The beginning of the id or of the text of the messages. */
  readonly prefix: string;
  readonly steps: readonly BehaviourStep[];
  /**
   * Returns the steps for a further message to the task, by its text. Default:
   * the task is completed.
   */
  readonly next?: (text: string) => readonly BehaviourStep[];
}

const COMPLETED = "Hello from TCK";

/** Completes a task. */
export const COMPLETE: readonly BehaviourStep[] = [
  end(TaskState.COMPLETED, COMPLETED),
];

/** Asks for another message. */
export const ASK: readonly BehaviourStep[] = [
  end(TaskState.INPUT_REQUIRED, "Send another message to go on."),
];

const DONE = end(TaskState.COMPLETED, "");
const TEXT = artifact(
  { artifactId: "text", name: "Generated text" },
  text("Generated text content"),
);
const FILE = artifact(
  { artifactId: "file", name: "Generated file" },
  file({
    case: "bytes",
    value: new TextEncoder().encode("Generated file content\n"),
  }),
);
const FILE_URL = artifact(
  { artifactId: "file-url", name: "Generated file" },
  file({ case: "uri", value: "https://example.com/output.txt" }),
);
const DATA = artifact(
  { artifactId: "data", name: "Generated data" },
  create(PartSchema, {
    content: { case: "data", value: { key: "value", count: 42 } },
  }),
);
const CHUNKS = [
  chunk({ append: false, lastChunk: false }, "Generated "),
  chunk({ append: true, lastChunk: true }, "in two chunks"),
];

const TABLE: readonly Behaviour[] = [
  { prefix: "tck-complete-task", steps: COMPLETE },
  {
    prefix: "tck-delayed-complete",
    steps: [
      { case: "wait", timeouts: 1 },
      end(TaskState.COMPLETED, "Done after delay"),
    ],
  },
  {
    prefix: "test-resubscribe-message-id",
    steps: [{ case: "wait", timeouts: 2 }, ...COMPLETE],
  },
  {
    prefix: "tck-long-running",
    steps: [{ case: "wait", timeouts: 2.5 }, TEXT, DONE],
  },
  { prefix: "tck-cancel", steps: [{ case: "idle" }] },
  { prefix: "tck-artifact-text", steps: [TEXT, DONE] },
  { prefix: "tck-artifact-file", steps: [FILE, DONE] },
  { prefix: "tck-artifact-file-url", steps: [FILE_URL, DONE] },
  { prefix: "tck-artifact-data", steps: [DATA, DONE] },
  {
    prefix: "tck-message-response",
    steps: [{ case: "reply", parts: [text("Direct message response")] }],
  },
  { prefix: "tck-input-required", steps: ASK },
  {
    prefix: "tck-multi-turn",
    steps: ASK,
    next: (text) =>
      text.trimStart().toLowerCase().startsWith("done") ? COMPLETE : ASK,
  },
  {
    prefix: "tck-auth-required",
    steps: [
      end(TaskState.AUTH_REQUIRED, "Sign in, then send a message to go on."),
    ],
  },
  { prefix: "tck-reject-task", steps: [end(TaskState.REJECTED, "rejected")] },
  {
    prefix: "tck-task-failure",
    steps: [end(TaskState.FAILED, "The task failed, as it was asked to.")],
  },
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

/**
 * All behaviours, sorted by descending length of the prefix, because one prefix
 * may begin with another.
 */
export const BEHAVIOURS: readonly Behaviour[] = TABLE.toSorted(
  (a, b) => b.prefix.length - a.prefix.length,
);

/**
 * Finds the behaviour that a message requests: by the prefix of its id, as the
 * A2A TCK does, or by that of its first text, as ACTS does. Undefined for
 * neither.
 */
export function findBehaviour(message: Message): Behaviour | undefined {
  const text = firstText(message);
  return (
    BEHAVIOURS.find(({ prefix }) => message.messageId.startsWith(prefix)) ??
    BEHAVIOURS.find(({ prefix }) => text.startsWith(prefix))
  );
}

/** Returns the first text of a message; empty when it has none. */
export function firstText({ parts }: Message): string {
  const content = parts
    .map((part) => part.content)
    .find((each) => each.case === "text");
  return content?.case === "text" ? content.value : "";
}

function end(state: TurnEnd["state"], text: string): BehaviourStep {
  return { case: "end", value: { state, text } };
}

/** An artifact with one part, complete in one event. */
function artifact(
  about: MessageInitShape<typeof ArtifactSchema>,
  part: Part,
): BehaviourStep {
  const value = create(ArtifactUpdateSchema, {
    artifact: { ...about, parts: [part] },
    lastChunk: true,
  });
  return { case: "artifact", value };
}

/** A chunk of an artifact that is sent in several events. */
function chunk(
  place: { readonly append: boolean; readonly lastChunk: boolean },
  value: string,
): BehaviourStep {
  const piece = {
    artifactId: "chunked",
    name: "Generated text",
    parts: [text(value)],
  };
  return {
    case: "artifact",
    value: create(ArtifactUpdateSchema, { artifact: piece, ...place }),
  };
}

function text(value: string): Part {
  return create(PartSchema, { content: { case: "text", value } });
}

function file(source: File["source"]): Part {
  const value = create(FileSchema, {
    name: "output.txt",
    mediaType: "text/plain",
    source,
  });
  return create(PartSchema, { content: { case: "file", value } });
}
