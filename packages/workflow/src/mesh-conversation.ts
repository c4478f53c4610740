import type { CalledAgent } from "@devtool/coding-agent/delegate";
import type { Turn } from "@devtool/server/agent";

/** A call of an agent before a message, in its conversation. */
interface CallBefore {
  readonly agent: string;
  readonly taskId: string;
  readonly hasAnswered: boolean;
}

/** What the calls of one message have in common. */
export function callPrefix(messageId: string): string {
  return `mesh:${messageId}:`;
}

/** What was said with the agents of a mesh before a message. */
export class MeshConversation {
  readonly #mesh: string;
  readonly #turn: Turn;
  readonly #before: readonly CallBefore[];
  /**
   * Whether the message refers to tasks, and none of them is an ended one of its
   * conversation.
   */
  readonly refersElsewhere: boolean;

  constructor(mesh: string, turn: Turn, messageId: string) {
    this.#mesh = mesh;
    this.#turn = turn;
    const own = callPrefix(messageId);
    const references = turn.prompt?.referenceTaskIds ?? [];
    this.refersElsewhere = references.length > 0 && turn.earlier.length === 0;
    this.#before = [...turn.earlier, ...turn.task.history].flatMap(
      ({ parts }) =>
        parts.flatMap(({ content, toolCallDetail }) => {
          const { stepRun, delegation } = toolCallDetail ?? {};
          const isOther =
            content.case === "toolCall" &&
            !content.value.toolCallId.startsWith(own);
          if (!stepRun || !delegation?.taskId || !isOther) return [];
          const { agent, taskId } = delegation;
          return [{ agent, taskId, hasAnswered: stepRun.result !== undefined }];
        }),
    );
  }

  /** The agent that answered last; empty for none. */
  get agent(): string {
    return this.#before.findLast((one) => one.hasAnswered)?.agent ?? "";
  }

  /** What an agent knows of the conversation. */
  with({ name, place }: CalledAgent): {
    readonly key: string;
    readonly taskIds: readonly string[];
  } {
    const { principal, contextId } = this.#turn.task;
    return {
      // The id in a chain has the port of this server, which may change.
      key: JSON.stringify([principal, contextId, this.#mesh, name, place]),
      taskIds: this.#before.flatMap(({ agent, taskId }) =>
        agent === name ? [taskId] : [],
      ),
    };
  }
}
