import type { MessageDelivery } from "@devtool/schema";
import { shortTaskId } from "../task-id.ts";
import type { TerminalInput } from "../terminal/terminal.ts";
import {
  pointBefore,
  rewindNotice,
  type UserMessage,
} from "../user-messages.ts";
import { type AnswerMeans, Answers } from "./answers.ts";
import { Asking } from "./asking.ts";
import {
  AbandonedTurn,
  type ChatTasks,
  DELIVERY,
  queuedText,
} from "./chat-tasks.ts";
import { Composer } from "./composer.ts";
import { draftOf, insertText } from "./draft.ts";
import type { InputHistory } from "./input-history.ts";
import { type Intent, intentOf } from "./intent.ts";
import { type LocalLine, readLocalCommand } from "./local-command.ts";
import { missingMentions } from "./mention.ts";
import { Outbox } from "./outbox.ts";
import type { Picker } from "./picker.ts";
import { Printout } from "./printout.ts";
import { drawCall } from "./question.ts";
import type { Timers } from "./question-keys.ts";
import { UserTurn } from "./user-turn.ts";

/** Dependencies of `Chat`. */
interface ChatParts extends AnswerMeans {
  readonly tasks: ChatTasks;
  readonly history: InputHistory;
  readonly timers: Timers;
  /** The workspace on this machine; undefined if it is on another one. */
  readonly workspace: string | undefined;
  /**
   * Returns whether the server is gone, so that calls wait for it to start
   * again.
   */
  readonly isServerGone: () => boolean;
  /** Completes the text before the cursor. */
  readonly complete: (before: string) => Promise<readonly string[]>;
  /** Runs a command of the terminal itself. */
  readonly runLocal: (command: LocalLine) => Promise<void>;
  /** Called with Shift-Tab. */
  readonly nextMode: () => void;
  /** Draws the chat. */
  readonly onChange: () => void;
}

/** A chat: passes the input of the terminal to the part that it is for. */
export class Chat {
  readonly tasks: ChatTasks;
  readonly printout: Printout;
  readonly outbox: Outbox;
  readonly composer: Composer;
  readonly asking: Asking;
  readonly turn: UserTurn;
  /** The list from which the user chooses; undefined while there is none. */
  picker: Picker | undefined;
  /** Whether the user has left, and how. */
  left: "not" | "between turns" | "during a turn" = "not";
  readonly #options: ChatParts;
  readonly #answers: Answers;
  /**
   * Whether the last key answered a question. An Enter behind it, out of habit,
   * does not send what was kept.
   */
  #hasJustAnswered = false;
  /** Whether the last key was an Esc that had nothing to do. */
  #hasJustEscaped = false;

  constructor(options: ChatParts) {
    this.#options = options;
    this.tasks = options.tasks;
    this.printout = new Printout(options);
    this.composer = new Composer(() => options.history.messages);
    this.turn = new UserTurn(options.tasks);
    this.asking = new Asking({
      timers: options.timers,
      onChange: options.onChange,
      onAside: (input) => this.#compose(input),
      onAnswer: (question, choice, changes) => {
        this.#hasJustAnswered = true;
        void this.#answers.give(question, choice, changes);
      },
      onViewAll: (call) => {
        this.printout.tellLines(
          drawCall(call, Number.POSITIVE_INFINITY, options.style()),
        );
        this.asking.again();
      },
      onEdit: (question, choice) => void this.#answers.edit(question, choice),
    });
    this.#answers = new Answers({
      tasks: options.tasks,
      means: options,
      onLines: (lines) => this.printout.tellLines(lines),
      onProblem: (reason) => {
        // Whoever abandoned the turn has said why.
        if (!(reason instanceof AbandonedTurn)) {
          this.printout.tellProblem(reason);
        }
        this.asking.again();
      },
    });
    this.outbox = new Outbox({
      ...options,
      composer: this.composer,
      printout: this.printout,
      isHeld: () => this.asking.call !== undefined || this.turn.isCanceling,
    });
  }

  /** Whether the server is gone, so that calls wait for it to start again. */
  get isServerGone(): boolean {
    return this.#options.isServerGone();
  }

  /**
   * Follows the tasks: prints finished parts, asks open questions, and sends
   * waiting messages.
   */
  refresh(): void {
    const { tasks, asking } = this;
    this.printout.advance(tasks.conversation);
    if (tasks.command) this.printout.advance(tasks.command);
    tasks.forgetEnded();
    const { task, questions } = tasks.current;
    const [question] = questions;
    const before = asking.call;
    asking.put(question, task);
    if (question && question !== before) void this.#answers.automatic(question);
    this.turn.update();
    this.outbox.advance();
  }

  /**
   * Continues another task, or begins a new conversation. Says what goes on in
   * the one before.
   */
  open(taskId: string | undefined): void {
    const { tasks, printout } = this;
    this.outbox.returnWaiting();
    const { id } = tasks.conversation.view.snapshot().task;
    const name = id === "" ? "a conversation of its own" : shortTaskId(id);
    for (const text of tasks.queued.map(queuedText)) {
      printout.tellText(`waits in ${name}`, text);
    }
    for (const text of tasks.unsent) {
      printout.tellText(`on its way to ${name}`, text);
    }
    const { isCanceling } = this.turn;
    const what = this.asking.call ? "a question waits" : "the turn goes on";
    if (tasks.isWorking || this.asking.call || isCanceling) {
      const how = id === "" ? "/sessions" : `/resume ${shortTaskId(id)}`;
      const said = isCanceling ? "the turn is being canceled" : what;
      printout.tell(`${said}: ${how} goes back to it`);
    }
    tasks.open(taskId);
  }

  /**
   * Begins a conversation that goes on from before a message, whose text comes
   * back into the input.
   */
  rewind(message: UserMessage): void {
    this.open(undefined);
    this.tasks.fork = pointBefore(message);
    this.composer.restore(message.text);
    this.printout.tell(rewindNotice(message, this.tasks.commands));
  }

  /** Handles input of the terminal. */
  take(input: TerminalInput): void {
    const intent =
      input.case === "key" ? intentOf(input.text, input.key) : undefined;
    if (!intent) this.#hasJustEscaped = false;
    if (input.case === "end") {
      this.leave();
    } else if (this.picker) {
      intent && this.picker.take(intent);
    } else if (intent && this.#takeCommand(intent)) {
      this.#options.onChange();
    } else if (this.asking.call && !this.#options.approve) {
      this.asking.take(input);
    } else if (!this.#hasJustAnswered || intent?.case !== "submit") {
      this.#hasJustAnswered = false;
      this.asking.keys.noteTyping();
      this.#compose(input);
    }
    this.#options.onChange();
  }

  /** Handles Ctrl-C. */
  interrupt(): void {
    const { composer, turn } = this;
    if (turn.isCanceling) {
      this.leave();
    } else if (!this.asking.call && composer.text !== "") {
      composer.take();
    }
    // A server that is gone cannot cancel what it asks.
    else if (
      (this.isServerGone && !this.tasks.isWorking) ||
      !this.cancelTurn()
    ) {
      this.leave();
    }
    this.#options.onChange();
  }

  /**
   * Cancels the turn. Messages that the agent has not taken come back into the
   * input. Returns whether there was a turn.
   */
  cancelTurn(): boolean {
    const isBusy = this.tasks.isWorking || this.asking.call !== undefined;
    if (!isBusy || this.turn.isCanceling) return false;
    this.asking.keys.forget();
    this.outbox.returnWaiting();
    const canceled = this.isServerGone
      ? Promise.resolve(this.turn.abandon())
      : this.turn.cancel();
    void canceled.then((notice) => {
      if (notice !== "") this.printout.tell(notice);
      this.#options.onChange();
    });
    return true;
  }

  /** Leaves the chat. Prints the messages that were not sent. */
  leave(): void {
    if (this.left !== "not") return;
    this.asking.keys.forget();
    this.left =
      this.tasks.isWorking || this.turn.isCanceling
        ? "during a turn"
        : "between turns";
    const rest = [...this.outbox.unsent, this.composer.text].filter(
      (text) => text !== "",
    );
    for (const text of rest) this.printout.tellText("not sent", text);
    for (const text of this.tasks.unsent) {
      this.printout.tellText("it is not known whether it arrived", text);
    }
    this.#options.onChange();
  }

  /** Sends a message, or runs a command, as soon as it is its turn. */
  submit(text: string, delivery: MessageDelivery = DELIVERY.queue): void {
    this.outbox.add(text, delivery);
    this.refresh();
  }

  /** Handles keys that do more than edit. Returns whether the key was one. */
  #takeCommand(intent: Intent): boolean {
    const { composer } = this;
    const isWriting = composer.search !== undefined || this.asking.isInWords;
    const hasJustEscaped = this.#hasJustEscaped;
    this.#hasJustEscaped = false;
    switch (intent.case) {
      case "escape":
      case "escape twice": {
        if (composer.search) return false;
        const isFree =
          !this.asking.back() && !this.cancelTurn() && this.#isAtRest;
        const isSecond = hasJustEscaped || intent.case === "escape twice";
        if (isFree && isSecond) {
          this.#runLocal({ name: "rewind", argument: "" });
        }
        this.#hasJustEscaped = isFree && !isSecond;
        return true;
      }
      case "leave":
        if (composer.text === "") {
          this.leave();
        } else {
          composer.edit({ case: "delete", to: "character after" });
        }
        return true;
      case "next mode":
        this.#options.nextMode();
        return true;
      case "show all":
        this.printout.showFolded();
        return true;
      case "complete":
        if (!isWriting) void this.#complete();
        return true;
      case "editor":
        if (!isWriting) void this.#editDraft();
        return true;
      case "up":
        return !isWriting && composer.text === "" && this.outbox.takeBack();
      default:
        return false;
    }
  }

  /** Edits the message, and sends it with Enter. */
  #compose(input: TerminalInput): void {
    const { composer } = this;
    if (input.case === "paste") composer.paste(input.text);
    if (input.case !== "key") return;
    const intent = intentOf(input.text, input.key);
    if (!intent) return;
    if (composer.edit(intent)) return void this.#findMissing();
    const { text, cursor } = composer.draft;
    if (
      intent.case === "submit" &&
      cursor === text.length &&
      text.endsWith("\\")
    ) {
      composer.write(insertText(draftOf(text.slice(0, -1)), "\n"));
    } else if (intent.case === "submit") {
      this.#enter(DELIVERY.queue);
    } else if (intent.case === "steer") {
      this.#enter(DELIVERY.steer);
    }
  }

  #enter(delivery: MessageDelivery): void {
    const text = this.composer.take();
    if (text === "") return;
    void this.#options.history
      .add(text)
      .catch((reason: unknown) => this.printout.tellProblem(reason));
    const local = readLocalCommand(text);
    if (local) {
      this.printout.echo(text);
      this.#runLocal(local);
    } else {
      this.submit(text, delivery);
    }
  }

  /** Whether nothing runs, waits or is being written. */
  get #isAtRest(): boolean {
    const { tasks, turn, composer, outbox } = this;
    const isIdle = !tasks.isWorking && !turn.isCanceling;
    return isIdle && composer.text === "" && outbox.texts.length === 0;
  }

  #runLocal(command: LocalLine): void {
    void this.#options
      .runLocal(command)
      .catch((reason: unknown) => this.printout.tellProblem(reason));
  }

  async #editDraft(): Promise<void> {
    try {
      const text = await this.#options.edit(this.composer.text, "message.md");
      this.composer.write(draftOf(text.replace(/\n+$/, "")));
    } catch (reason) {
      this.printout.tellProblem(reason);
    }
    this.#options.onChange();
  }

  /** Looks for the files that the draft mentions. */
  async #findMissing(): Promise<void> {
    const { draft } = this.composer;
    const missing = await missingMentions(draft.text, this.#options.workspace);
    if (missing.length === 0 || this.composer.draft !== draft) return;
    this.composer.missing = missing;
    this.#options.onChange();
  }

  async #complete(): Promise<void> {
    const { draft } = this.composer;
    const before = draft.text.slice(0, draft.cursor);
    const found = await this.#options.complete(before);
    if (this.composer.draft !== draft) return;
    const common = found.reduce(commonStart, found[0] ?? before);
    if (common.length > before.length) {
      const text = common + draft.text.slice(draft.cursor);
      this.composer.write({ ...draft, text, cursor: common.length });
    }
    this.composer.candidates = found.length > 1 ? found : [];
    this.#options.onChange();
  }
}

/** Returns the longest text with which both texts begin. */
function commonStart(one: string, other: string): string {
  let end = 0;
  while (end < one.length && one[end] === other[end]) end++;
  return one.slice(0, end);
}
