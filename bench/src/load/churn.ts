import { Agent, request as request1 } from "node:http";
import { connect } from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { EXTENSION, prompt, stream, type Target, taskIdOf } from "../client.ts";

/** A task gets this many turns before the next one begins. */
const TURNS_OF_TASK = 50;
const PROMPT = "think\nsay 5 80";
/**
 * This many turns are played at once at most, so that a machine that is too
 * busy for the rate has a lower one, not ever more of them.
 */
const MAX_AT_ONCE = 100;

/**
 * Turns of clients that come and go; each kind in its turn. Some leave in the
 * middle of an answer.
 */
export class Churn {
  readonly #target: Target;
  readonly #prompt: string;
  readonly #kinds = [
    () => this.#newTask(),
    () => this.#followUp(),
    () => this.#ownConnection(() => undefined),
    () => this.#ownConnection((answer) => answer.destroy()),
    () => this.#ownSession(),
  ];
  #task = { id: "", turns: 0 };
  #count = 0;
  #failed = 0;

  constructor(target: Target, says: string = PROMPT) {
    this.#target = target;
    this.#prompt = says;
  }

  /** The number of turns begun so far. */
  get count(): number {
    return this.#count;
  }

  /** The number of turns whose client met an error. */
  get failed(): number {
    return this.#failed;
  }

  /**
   * Plays one turn to its end, or to the moment at which its client leaves.
   * Says what failed, and goes on.
   */
  async turn(): Promise<void> {
    const turn = this.#count++;
    const kind = this.#kinds[turn % this.#kinds.length];
    await kind?.().catch((reason: unknown) => {
      this.#failed++;
      console.log(`# turn ${turn} failed, ${kind}: ${reason}`);
    });
  }

  /**
   * Begins turns at even intervals, whether earlier ones have ended or not,
   * while they are not too many.
   */
  async play(seconds: number, perSecond: number): Promise<void> {
    const end = performance.now() + seconds * 1000;
    const playing = new Set<Promise<void>>();
    for (
      let next = performance.now();
      next < end;
      next = Math.max(next + 1000 / perSecond, performance.now())
    ) {
      await delay(Math.max(0, next - performance.now()));
      const turn = this.turn().finally(() => playing.delete(turn));
      if (playing.add(turn).size >= MAX_AT_ONCE) await Promise.race(playing);
    }
    await Promise.all(playing);
  }

  async #newTask(): Promise<void> {
    await stream(this.#target, prompt(this.#prompt));
  }

  async #followUp(): Promise<void> {
    const { id } = this.#task;
    if (id !== "" && this.#task.turns++ < TURNS_OF_TASK) {
      await stream(this.#target, { ...prompt(this.#prompt), taskId: id });
      return;
    }
    this.#task = {
      id: taskIdOf(await stream(this.#target, prompt(this.#prompt))),
      turns: 0,
    };
  }

  /**
   * Streams over a connection of its own, and passes its first piece to a
   * function that may end it there.
   */
  #ownConnection(
    onFirst: (answer: { destroy(): void }) => void,
  ): Promise<void> {
    const { url, token } = this.#target;
    const headers = {
      "content-type": "application/json",
      accept: "text/event-stream",
      authorization: `Bearer ${token}`,
      "x-a2a-extensions": EXTENSION,
    };
    const agent = new Agent({ keepAlive: false });
    const message = {
      kind: "message",
      role: "user",
      messageId: crypto.randomUUID(),
      ...prompt(this.#prompt),
    };
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "message/stream",
      params: { message },
    });
    return new Promise((resolve, reject) => {
      const sent = request1(
        url,
        { method: "POST", agent, headers },
        (answer) => {
          answer.once("data", () => onFirst(answer));
          answer.on("error", () => undefined).once("close", resolve);
        },
      );
      sent.once("error", reject).end(body);
    });
  }

  /** Sends a message over HTTP/2, in a session of its own. */
  #ownSession(): Promise<void> {
    const { url, token } = this.#target;
    const session = connect(url);
    const sent = session.request({
      ":method": "POST",
      ":path": "/devtool.v1alpha.TaskService/SendMessage",
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
    });
    const message = {
      messageId: crypto.randomUUID(),
      parts: [{ text: this.#prompt }],
    };
    return new Promise((resolve, reject) => {
      // An answer that is whole stays so when both sides close the connection
      // at once, and the other side's end arrives as a reset.
      sent.once("end", () =>
        session.off("error", reject).once("error", resolve).close(),
      );
      session.once("error", reject).once("close", resolve);
      sent.once("error", reject).resume().end(JSON.stringify({ message }));
    });
  }
}
