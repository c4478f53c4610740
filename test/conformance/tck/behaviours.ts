import type { Json } from "./bindings.ts";

/** The task or message that a kit expects from a behaviour. */
export interface Expected {
  readonly prefix: string;
  /**
   * The state that a message which waits finds the task in; undefined where the
   * answer is a message.
   */
  readonly state?: string;
  /** The expected text of the status; undefined when any text will do. */
  readonly says?: string | RegExp;
  /** The parts of the one artifact. */
  readonly parts?: Json;
  /** The text of the message that is the whole answer. */
  readonly message?: string;
}

const COMPLETED = "TASK_STATE_COMPLETED";
const GENERATED = [{ text: "Generated text content" }];

/**
 * The behaviours of the A2A TCK, which go by the id of a message, and of ACTS,
 * which go by its text: each must work both ways.
 */
export const EXPECTED: readonly Expected[] = [
  { prefix: "tck-complete-task", state: COMPLETED, says: "Hello from TCK" },
  {
    prefix: "tck-delayed-complete",
    state: COMPLETED,
    says: "Done after delay",
  },
  { prefix: "test-resubscribe-message-id", state: COMPLETED },
  { prefix: "tck-long-running", state: COMPLETED, parts: GENERATED },
  { prefix: "tck-artifact-text", state: COMPLETED, parts: GENERATED },
  {
    prefix: "tck-artifact-file",
    state: COMPLETED,
    parts: [
      {
        raw: Buffer.from("Generated file content\n").toString("base64"),
        filename: "output.txt",
        mediaType: "text/plain",
      },
    ],
  },
  {
    prefix: "tck-artifact-file-url",
    state: COMPLETED,
    parts: [
      {
        url: "https://example.com/output.txt",
        filename: "output.txt",
        mediaType: "text/plain",
      },
    ],
  },
  {
    prefix: "tck-artifact-data",
    state: COMPLETED,
    parts: [{ data: { key: "value", count: 42 } }],
  },
  { prefix: "tck-message-response", message: "Direct message response" },
  { prefix: "tck-input-required", state: "TASK_STATE_INPUT_REQUIRED" },
  { prefix: "tck-multi-turn", state: "TASK_STATE_INPUT_REQUIRED" },
  {
    prefix: "tck-auth-required",
    state: "TASK_STATE_AUTH_REQUIRED",
    says: /sign in/i,
  },
  { prefix: "tck-reject-task", state: "TASK_STATE_REJECTED", says: "rejected" },
  { prefix: "tck-task-failure", state: "TASK_STATE_FAILED", says: /failed/ },
  { prefix: "tck-stream-001", state: COMPLETED, parts: GENERATED },
  { prefix: "tck-stream-002", state: COMPLETED },
  { prefix: "tck-stream-003", state: COMPLETED, parts: GENERATED },
  { prefix: "tck-stream-ordering-001", state: COMPLETED, parts: GENERATED },
  { prefix: "tck-stream-basic", state: COMPLETED, parts: GENERATED },
  { prefix: "tck-stream-artifact-text", state: COMPLETED, parts: GENERATED },
  {
    prefix: "tck-stream-artifact-file",
    state: COMPLETED,
    parts: [
      {
        raw: Buffer.from("Generated file content\n").toString("base64"),
        filename: "output.txt",
        mediaType: "text/plain",
      },
    ],
  },
  {
    prefix: "tck-stream-artifact-chunked",
    state: COMPLETED,
    parts: [{ text: "Generated " }, { text: "in two chunks" }],
  },
  {
    prefix: "tck-stream-chunked",
    state: COMPLETED,
    parts: [{ text: "Generated " }, { text: "in two chunks" }],
  },
];

/**
 * Says what in the answer to a message is not as a kit expects it; empty when
 * all is.
 */
export function mismatches(
  answer: Json,
  { state, says, parts, message }: Expected,
): string[] {
  const found = {
    state: answer?.task?.status?.state,
    says: answer?.task?.status?.message?.parts?.[0]?.text,
    parts: answer?.task?.artifacts?.flatMap((artifact: Json) => artifact.parts),
    message: answer?.message?.parts?.[0]?.text,
  };
  const isSaid =
    says instanceof RegExp
      ? says.test(found.says ?? "")
      : says === undefined || says === found.says;
  return [
    ...(found.state === state ? [] : [`state is ${found.state}`]),
    ...(isSaid ? [] : [`status says ${found.says}`]),
    ...(JSON.stringify(found.parts) === JSON.stringify(parts)
      ? []
      : [`parts are ${JSON.stringify(found.parts)}`]),
    ...(found.message === message ? [] : [`message is ${found.message}`]),
  ];
}
