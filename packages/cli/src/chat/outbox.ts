import type { MessageDelivery } from "@devtool/schema";
import { isSlashLine } from "../slash-line.ts";
import {
  AbandonedTurn,
  type ChatTasks,
  DELIVERY,
  queuedText,
  type ShownTask,
  textPart,
} from "./chat-tasks.ts";
import type { Composer } from "./composer.ts";
import { imageProblem, readMentions } from "./mention.ts";
import type { Printout } from "./printout.ts";

/** Dependencies of `Outbox`. */
interface OutboxOptions {
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

/** A message that was sent, and that the agent has not taken yet. */
interface Sent {
  readonly text: string;
  readonly to: ShownTask;
  /** Its place among all messages of the chat. */
  readonly number: number;
}

/**
 * The user's messages and commands on their way to the agent, in the order in
 * which they were written. What does not arrive comes back into the input.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  #waiting: readonly Waiting[] = [];
  /** The message whose files are being read. */
  #reading: Waiting | undefined;
  /** The messages that wait at the server, by their ids. */
  readonly #queued = new Map<string, Sent>();
  /** The messages that come back into the input together. */
  #returned: readonly Sent[] = [];
  /** All messages that have come back, each once. */
  readonly #wasReturned = new WeakSet<Sent>();
  #count = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** The texts that wait: first those at the server, then those in the chat. */
  get texts(): readonly string[] {
    return [...this.#options.tasks.queued.map(queuedText), ...this.unsent];
  }

  /** The texts that wait in the chat, which no server has. */
  get unsent(): readonly string[] {
    return [...this.#returned, ...this.#waiting].map(({ text }) => text);
  }

  /** Adds a message, or a command. `advance` sends it. */
  add(text: string, delivery: MessageDelivery = DELIVERY.queue): void {
    this.#waiting = [...this.#waiting, { text, delivery }];
  }

  /** Puts the messages that wait in the chat back into the input. */
  returnWaiting(): void {
    if (this.#waiting.length === 0) return;
    const texts = this.#waiting.map(({ text }) => text);
    this.#options.composer.restore(texts.join("\n"));
    this.#waiting = [];
  }

  /**
   * Sends the next message or command, if it is its turn. A command runs alone.
   */
  advance(): void {
    this.#returnUntaken();
    const [next] = this.#waiting;
    if (!next || this.#reading || !this.#maySend(next)) return;
    if (isCommand(next.text)) {
      this.#waiting = this.#waiting.slice(1);
      void this.#run(next.text);
      return;
    }
    this.#reading = next;
    void this.#send(next);
  }

  /**
   * Takes the last waiting message back into the input. Returns whether there
   * was one.
   */
  takeBack(): boolean {
    const { tasks, composer } = this.#options;
    const waiting = this.#waiting.at(-1);
    const queued = tasks.queued.at(-1);
    if (waiting) {
      this.#waiting = this.#waiting.slice(0, -1);
      composer.restore(waiting.text);
    } else if (queued?.message) {
      void this.#withdraw(queued.message.messageId, queuedText(queued));
    }
    return waiting !== undefined || queued !== undefined;
  }

  /** Returns whether nothing comes before the next message or command. */
  #maySend({ text }: Waiting): boolean {
    const { tasks, isHeld } = this.#options;
    return (
      !isHeld() &&
      tasks.command === undefined &&
      !tasks.isForking &&
      !(isCommand(text) && tasks.isWorking)
    );
  }

  /**
   * Puts messages back into the input that have left the queue without being
   * taken: the turn was canceled or has failed, or another client withdrew
   * them.
   */
  #returnUntaken(): void {
    for (const [messageId, sent] of this.#queued) {
      if (sent.to.isQueued(messageId)) continue;
      this.#queued.delete(messageId);
      if (!sent.to.hasTaken(messageId)) this.#return(sent);
    }
  }

  /**
   * Puts a message back into the input, with the others that come back at the
   * same time, in the order in which they were written.
   */
  #return(sent: Sent): void {
    if (this.#wasReturned.has(sent)) return;
    this.#wasReturned.add(sent);
    this.#returned = [...this.#returned, sent].toSorted(
      (one, other) => one.number - other.number,
    );
    if (this.#returned.length > 1) return;
    setTimeout(() => {
      const texts = this.#returned.map(({ text }) => text);
      this.#returned = [];
      this.#options.composer.restore(texts.join("\n"));
      this.#options.onChange();
    }, 0);
  }

  async #withdraw(messageId: string, text: string): Promise<void> {
    const { tasks, printout, onChange } = this.#options;
    // A message of another client is not in the list.
    const sent = this.#queued.get(messageId) ?? {
      text,
      to: tasks.conversation,
      number: this.#count++,
    };
    this.#queued.set(messageId, sent);
    try {
      await tasks.withdraw(messageId);
      // The log may have returned it before.
      if (this.#queued.delete(messageId)) this.#return(sent);
    } catch (reason) {
      if (!(reason instanceof AbandonedTurn)) printout.tellProblem(reason);
    }
    onChange();
  }

  async #run(line: string): Promise<void> {
    const { tasks, composer, printout, onChange } = this.#options;
    printout.echo(line);
    const problem = imageProblem(line);
    if (problem !== "") {
      printout.tell(problem);
      composer.restore(line);
      return;
    }
    try {
      await tasks.run(
        line.startsWith("!") ? `/shell ${line.slice(1).trim()}` : line,
      );
    } catch (reason) {
      if (!(reason instanceof AbandonedTurn)) {
        printout.tellProblem(reason);
      } else if (tasks.command === undefined) {
        printout.tell(`it is not known whether it ran: ${line}`);
      }
    }
    onChange();
  }

  async #send(next: Waiting): Promise<void> {
    const { tasks, printout, workspace, onChange } = this.#options;
    const read = await readMentions(next.text, workspace);
    this.#reading = undefined;
    // The user may have taken it back meanwhile, or a question come up.
    if (this.#waiting[0] !== next || !this.#maySend(next)) return onChange();
    this.#waiting = this.#waiting.slice(1);
    for (const problem of read.problems) printout.tell(problem);
    const { text, delivery } = next;
    const to = tasks.conversation;
    const sent = { text, to, number: this.#count++ };
    const messageId = crypto.randomUUID();
    const parts = [textPart(text.replace(/^\/\//, "/")), ...read.parts];
    const stop = to.view.subscribe(() => {
      if (to.isQueued(messageId)) this.#queued.set(messageId, sent);
    });
    const said = tasks.say(parts, delivery, messageId);
    onChange();
    try {
      await said;
    } catch (reason) {
      if (!(reason instanceof AbandonedTurn)) printout.tellProblem(reason);
      if (!to.hasTaken(messageId) && !this.#queued.has(messageId)) {
        this.#return(sent);
      }
    } finally {
      stop();
    }
    onChange();
  }
}

function isCommand(text: string): boolean {
  return isSlashLine(text) || text.startsWith("!");
}
