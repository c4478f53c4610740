import type { InferUIMessageChunk, UIMessage } from "ai";
import type { AskedToolCall } from "../confirmation.ts";

/**
 * The metadata of the messages that a chat receives.
 */
export interface AgentMetadata {
  /**
   * The id of the task that the chat continues. Keep it to open the chat again;
   * see `ChatTransportOptions.taskIdOf`.
   */
  readonly taskId: string;
  /**
   * Tokens that the models of the task have used so far. Missing until a model
   * reports them.
   */
  readonly usage?: {
    readonly inputTokens: number;
    readonly outputTokens: number;
  };
}

/**
 * A message of a chat with an agent. Notices, artifacts, summaries and sources
 * without an address are data parts.
 *
 * The data of `artifact`, `citation` and `part` is the ProtoJSON of `Artifact`,
 * `Citation` and `Part` of `@devtool/schema`. A `notice` is transient: the chat
 * reports it to `onData` and does not keep it.
 */
export type AgentUIMessage = UIMessage<
  AgentMetadata,
  {
    notice: { text: string };
    artifact: unknown;
    summary: { text: string };
    citation: unknown;
    part: unknown;
  }
>;

/**
 * A chunk of a message of a chat.
 */
export type Chunk = InferUIMessageChunk<AgentUIMessage>;

/**
 * Returns the id of the approval of a question. A later question of the same
 * call has another digest and therefore another id, so that an answer to the
 * earlier one is recognized.
 */
export function approvalIdOf({
  toolCallId,
  shownDigest = new Uint8Array(),
}: AskedToolCall): string {
  return `${toolCallId}:${Array.from(shownDigest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
