import type { MessageDelivery } from "@devtool/schema";
import { isSlashLine } from "../slash-line.ts";
import {
  type ChatTasks,
  DELIVERY,
  queuedText,
  textPart,
} from "./chat-tasks.ts";
import type { Composer } from "./composer.ts";
import { imageProblem, readMentions } from "./mention.ts";
import type { Printout } from "./printout.ts";

/** Dependencies of `Outbox`. */
export interface OutboxOptions {
  readonly tasks: ChatTasks;
  /** Receives messages that the user takes back, or that could not be sent. */
  readonly composer: Composer;
  readonly printout: Printout;
  /**
   * The workspace on this machine, whose files a message may attach; undefined
   * if it is on another one.
   */
  readonly workspace: string | undefined;
  /** Returns whether something comes before any message, such as a question. */
  readonly isHeld: () => boolean;
  readonly onChange: () => void;
}

/** A message or a command that waits in the chat. */
interface Waiting {
  readonly text: string;
  readonly delivery: MessageDelivery;
}

/**
 * The user's messages and commands on their way to the server, in the order in
 * which they were written.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  #waiting: readonly Waiting[] = [];

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** The texts that wait: first those at the server, then those in the chat. */
  get texts(): readonly string[] {
    return [...this.#options.tasks.queued.map(queuedText), ...this.unsent];
  }

  /** The texts that wait in the chat, which no server has. */
  get unsent(): readonly string[] {
    return this.#waiting.map(({ text }) => text);
  }

  /** Adds a message, or a command. `advance` sends it. */
  add(text: string, delivery: MessageDelivery = DELIVERY.queue): void {
    this.#waiting = [...this.#waiting, { text, delivery }];
  }

  /** Discards the messages that wait in the chat. */
  clear(): void {
    this.#waiting = [];
  }

  /**
   * Sends the next message or command, if it is its turn. A command runs alone.
   */
  advance(): void {
    const [next, ...rest] = this.#waiting;
    const { tasks, isHeld } = this.#options;
    if (
      !next ||
      isHeld() ||
      tasks.command !== undefined ||
      (isCommand(next.text) && tasks.isWorking)
    ) {
      return;
    }
    this.#waiting = rest;
    void this.#send(next);
  }

  /**
   * Takes the last waiting message back into the input. Returns whether there
   * was one.
   */
  takeBack(): boolean {
    const { tasks, composer, printout, onChange } = this.#options;
    const waiting = this.#waiting.at(-1);
    const queued = tasks.queued.at(-1);
    if (waiting) {
      this.#waiting = this.#waiting.slice(0, -1);
      composer.restore(waiting.text);
    } else if (queued?.message) {
      void tasks
        .withdraw(queued.message.messageId)
        .then(() => composer.restore(queuedText(queued)))
        .catch((reason: unknown) => printout.tellProblem(reason))
        .finally(onChange);
    }
    return waiting !== undefined || queued !== undefined;
  }

  async #send({ text, delivery }: Waiting): Promise<void> {
    const { tasks, composer, printout, workspace, onChange } = this.#options;
    try {
      if (isCommand(text)) {
        printout.echo(text);
        const problem = imageProblem(text);
        if (problem !== "") throw new UnsendableImages(problem);
        await tasks.run(
          text.startsWith("!") ? `/shell ${text.slice(1).trim()}` : text,
        );
        return;
      }
      const read = await readMentions(text, workspace);
      for (const problem of read.problems) printout.tell(problem);
      await tasks.say(
        [textPart(text.replace(/^\/\//, "/")), ...read.parts],
        delivery,
      );
    } catch (reason) {
      printout.tellProblem(reason);
      if (!isCommand(text) || reason instanceof UnsendableImages) {
        composer.restore(text);
      }
    }
    onChange();
  }
}

function isCommand(text: string): boolean {
  return isSlashLine(text) || text.startsWith("!");
}

/** A slash command mentions images, which it would lose. */
class UnsendableImages extends Error {}
