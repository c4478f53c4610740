import { create } from "@bufbuild/protobuf";
import { type CalledAgent, runDelegated } from "@devtool/coding-agent/delegate";
import {
  ArtifactUpdateSchema,
  isEnded,
  type Message,
  type StepRun,
  type Task,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type AgentEvent,
  type AgentServices,
  Code,
  DevtoolError,
  type Turn,
} from "@devtool/server/agent";
import type { AgentSlot } from "./agent-slots.ts";
import type { MeshConversation } from "./mesh-conversation.ts";
import type { RoutedMessage } from "./pick-agents.ts";
import { endedRun } from "./step-run.ts";

/** A message that an agent of a mesh gets. */
interface MeshCall {
  /** The id of the call. */
  readonly id: string;
  readonly agent: CalledAgent;
  /** The agents down to the mesh, as a `CallChain` has them. */
  readonly chain: readonly string[];
  readonly message: RoutedMessage;
  readonly begun: StepRun;
  readonly slot: AgentSlot;
  /**
   * How long the agent may take until it has the message, in milliseconds, where
   * another one gets it then. Infinite where there is no other.
   */
  readonly limitMs: number;
}

/** Where a call is made. */
interface MeshCallPlace {
  readonly services: AgentServices;
  readonly turn: Turn;
  readonly signal: AbortSignal;
  /** The message as the client sent it. */
  readonly prompt: Message;
  readonly conversation: MeshConversation;
  /** See `CallingOptions.silenceMs`. */
  readonly silenceMs: number | undefined;
}

/** Has an agent work on a message until the call has ended, over its questions. */
export async function* workOf(
  { id, agent, chain, message, begun, slot, limitMs }: MeshCall,
  { prompt, conversation, silenceMs, ...place }: MeshCallPlace,
): AsyncIterable<AgentEvent> {
  const { services, signal } = place;
  using waiting = new FirstEvent(limitMs);
  let child: Task | undefined;
  const updates = runDelegated(
    {
      toolCallId: id,
      agent,
      message: message.text,
      data: Object.keys(message.data).length > 0 ? message.data : undefined,
      files: prompt.parts.filter(
        ({ content }) =>
          content.case === "file" || content.case === "dataValue",
      ),
      conversation: conversation.with(agent),
      chain,
      isReplaceable: limitMs !== Number.POSITIVE_INFINITY,
      silenceMs,
      stepRun: (call, messageId, end) => {
        if (end !== "unknown") child = end;
        const run = { ...begun, messageId };
        return isEnded(call) ? endedRun(run, call, end, services.now()) : run;
      },
    },
    place,
    waiting.signal,
  );
  for await (const update of updates) {
    if (update.detail?.delegation?.taskId) waiting.stop();
    // What the agent made is there before its call has ended.
    for (const artifact of child?.artifacts ?? []) {
      const value = create(ArtifactUpdateSchema, { artifact, lastChunk: true });
      yield { case: "artifact", value };
    }
    child = undefined;
    // Questions of the agent are calls of their own.
    const isAsking =
      update.call.toolCallId !== id &&
      update.call.status === ToolCallStatus.PENDING;
    if (isAsking) slot.leave();
    yield { case: "toolCalls", value: [update] };
    if (!isAsking) await slot.resume(signal);
  }
}

/** Aborts when an agent has not said in time that it has a message. */
class FirstEvent implements Disposable {
  readonly #late = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;

  /** @param limitMs the limit in milliseconds; infinite for none */
  constructor(limitMs: number) {
    if (limitMs === Number.POSITIVE_INFINITY) return;
    const reason = new DevtoolError(
      `it did not take the message within ${limitMs / 1000} s`,
      Code.DeadlineExceeded,
    );
    this.#timer = setTimeout(() => this.#late.abort(reason), limitMs);
  }

  get signal(): AbortSignal {
    return this.#late.signal;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}
