import {
  type BaseEvent,
  type EventType,
  HttpAgent,
  type Interrupt,
  type Message,
  type RunAgentParameters,
} from "@ag-ui/client";
import type { DevtoolServer } from "@devtool/server";

/**
 * A front end with the official client of AG-UI, which checks each event and
 * the order of all.
 */
export class FrontEnd {
  readonly agent: HttpAgent;
  /** The events of all runs. */
  readonly events: BaseEvent[] = [];
  #watch: (event: BaseEvent) => void = () => undefined;

  constructor(
    { url, token }: Pick<DevtoolServer, "url" | "token">,
    options: { threadId?: string; path?: string } = {},
  ) {
    const { threadId = crypto.randomUUID(), path = "/ag-ui" } = options;
    this.agent = new HttpAgent({
      url: `${url}${path}`,
      threadId,
      headers: { authorization: `Bearer ${token}` },
    });
  }

  get threadId(): string {
    return this.agent.threadId;
  }

  get messages(): Message[] {
    return this.agent.messages;
  }

  /** The texts of the agent. */
  get texts(): string[] {
    return this.messages.flatMap((message) =>
      message.role === "assistant" &&
      message.content !== undefined &&
      message.content !== ""
        ? [message.content]
        : [],
    );
  }

  get interrupts(): Interrupt[] {
    return this.agent.pendingInterrupts;
  }

  /** The only open interrupt. */
  get interrupt(): Interrupt {
    const [only, ...others] = this.interrupts;
    if (!only || others.length > 0) {
      throw new Error(`${this.interrupts.length} interrupts are open`);
    }
    return only;
  }

  /**
   * Calls a function with each event from now on, before the client applies the
   * next one.
   */
  watch(watch: (event: BaseEvent) => void): void {
    this.#watch = watch;
  }

  async say(
    content: Extract<Message, { role: "user" }>["content"],
    parameters: RunAgentParameters = {},
  ): Promise<BaseEvent[]> {
    this.agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
    return this.run(parameters);
  }

  /** Answers the only open interrupt. */
  async answer(
    payload: unknown,
    parameters: RunAgentParameters = {},
  ): Promise<BaseEvent[]> {
    return this.run({
      ...parameters,
      resume: [{ interruptId: this.interrupt.id, status: "resolved", payload }],
    });
  }

  /**
   * Runs once, and returns the events of the run. Rejects for a stream that
   * breaks a rule of AG-UI.
   */
  async run(parameters: RunAgentParameters = {}): Promise<BaseEvent[]> {
    const events: BaseEvent[] = [];
    await this.agent.runAgent(parameters, {
      onEvent: ({ event }) => {
        events.push(event);
        this.events.push(event);
        this.#watch(event);
      },
    });
    return events;
  }
}

/** Returns the types of events, without repetitions that follow each other. */
export function typesOf(events: readonly BaseEvent[]): EventType[] {
  return events
    .map(({ type }) => type)
    .filter((type, at, all) => type !== all[at - 1]);
}
