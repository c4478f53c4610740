import { type Json, notify, objectOf, pending, write } from "./fake-wire.ts";

/** How the client reaches the turn that runs. */
export const running: {
  interrupt: (() => void) | undefined;
  steer: ((text: string) => void) | undefined;
} = {
  interrupt: undefined,
  steer: undefined,
};

let lastRequest = 0;

/** A turn as messages describe it. */
export function turn(id: string, status: string, error: unknown = null): Json {
  return { id, items: [], status, error };
}

const breakdown = {
  totalTokens: 15,
  inputTokens: 10,
  cachedInputTokens: 1,
  outputTokens: 5,
  reasoningOutputTokens: 2,
};

/** The usage of tokens that threads report. */
export const usage: Json = {
  total: breakdown,
  last: breakdown,
  modelContextWindow: 258400,
};

/** A turn of Codex, and what it says to the client. */
export class Turn {
  readonly threadId: string;
  readonly turnId: string;
  readonly #base: Json;
  isOver = false;

  constructor(threadId: string, turnId: string) {
    this.threadId = threadId;
    this.turnId = turnId;
    this.#base = { threadId, turnId };
  }

  note(method: string, params: Json): void {
    if (!this.isOver) notify(method, { ...this.#base, ...params });
  }

  start(item: Json): void {
    this.note("item/started", { item, startedAtMs: 1 });
  }

  complete(item: Json): void {
    this.note("item/completed", { item, completedAtMs: 1 });
  }

  async request(method: string, params: Json): Promise<Json> {
    const id = lastRequest++;
    const answer = Promise.withResolvers<Json>();
    pending.set(id, answer.resolve);
    write({ method, id, params: { ...this.#base, startedAtMs: 1, ...params } });
    const { result, error } = await answer.promise;
    notify("serverRequest/resolved", {
      threadId: this.threadId,
      requestId: id,
    });
    return error === undefined ? objectOf(result) : { refused: error };
  }

  end(status: string, error?: Json): void {
    if (this.isOver) return;
    this.isOver = true;
    notify("thread/status/changed", {
      threadId: this.threadId,
      status: { type: "idle" },
    });
    notify("turn/completed", {
      threadId: this.threadId,
      turn: turn(this.turnId, status, error),
    });
  }
}

/** Responds to the last request in place of the client. */
export function withdrawLastRequest(): void {
  pending.get(lastRequest - 1)?.({ result: {} });
}

/** Waits for the next input that steers the turn. */
export function waitForSteer(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  running.steer = (text) => {
    running.steer = undefined;
    resolve(text);
  };
  return promise;
}
