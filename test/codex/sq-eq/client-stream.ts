import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { SessionEvent, Submission } from "@devtool/schema/codex";
import {
  type OpenSessionResponse,
  SubmissionSchema,
} from "@devtool/schema/testing";

/** An operation that a client submits. */
export type Op = NonNullable<MessageInitShape<typeof SubmissionSchema>["op"]>;

/** The client's side of a stream of `SessionService`. */
export class ClientStream {
  readonly #waiting: Submission[] = [];
  readonly #events: AsyncIterator<OpenSessionResponse>;
  #hasEnded = false;
  #wake = Promise.withResolvers<void>();

  constructor(
    call: (
      requests: AsyncIterable<{ submission: Submission }>,
    ) => AsyncIterable<OpenSessionResponse>,
  ) {
    this.#events = call(this.#requests())[Symbol.asyncIterator]();
  }

  submit(id: string, op: Op): void {
    this.#waiting.push(create(SubmissionSchema, { id, op }));
    this.#wake.resolve();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake.resolve();
  }

  async next(): Promise<SessionEvent | undefined> {
    const { done, value } = await this.#events.next();
    return done ? undefined : value.event;
  }

  async until(wanted: SessionEvent["msg"]["case"]): Promise<SessionEvent> {
    for (;;) {
      const event = await this.next();
      if (!event) throw new Error(`the stream ended without ${wanted}`);
      if (event.msg.case === wanted) return event;
    }
  }

  async take(count: number): Promise<SessionEvent[]> {
    const taken: SessionEvent[] = [];
    while (taken.length < count) taken.push(await this.until("error"));
    return taken;
  }

  async rest(): Promise<SessionEvent[]> {
    const events: SessionEvent[] = [];
    for (let event = await this.next(); event; event = await this.next()) {
      events.push(event);
    }
    return events;
  }

  async *#requests(): AsyncIterable<{ submission: Submission }> {
    for (;;) {
      for (
        let next = this.#waiting.shift();
        next;
        next = this.#waiting.shift()
      ) {
        yield { submission: next };
      }
      if (this.#hasEnded) return;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }
}
