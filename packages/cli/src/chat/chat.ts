import type { MessageDelivery } from "@devtool/schema";
import stringWidth from "string-width";
import { userMessage } from "../error-text.ts";
import { isSlashLine } from "../slash-line.ts";
import type { TerminalInput } from "../terminal/terminal.ts";
import { type AnswerMeans, Answers } from "./answers.ts";
import { Asking } from "./asking.ts";
import { type ChatTasks, DELIVERY, queuedText, textPart } from "./chat-tasks.ts";
import { Composer } from "./composer.ts";
import { draftOf, insertText } from "./draft.ts";
import { clipped, type Entry, noticeEntry, userLines } from "./entry.ts";
import type { InputHistory } from "./input-history.ts";
import { type Intent, intentOf } from "./intent.ts";
import { type LocalLine, readLocalCommand } from "./local-command.ts";
import { readMentions } from "./mention.ts";
import { wholeQuestion } from "./question.ts";
import type { Timers } from "./question-keys.ts";
import type { SessionPicker } from "./session-picker.ts";
import { UserTurn } from "./user-turn.ts";

/** Dependencies of `Chat`. */
export interface ChatParts extends AnswerMeans {
  readonly tasks: ChatTasks;
  readonly history: InputHistory;
  readonly timers: Timers;
  /** The workspace on this machine; undefined if it is on another one. */
  readonly workspace: string | undefined;
  /** Returns whether the turn waits for its server to start again. */
  readonly isServerGone: () => boolean;
  /** Completes the text before the cursor. */
  readonly complete: (before: string) => Promise<readonly string[]>;
  /** Carries out a command of the terminal itself. */
  readonly runLocal: (command: LocalLine) => Promise<void>;
  /** Called with Shift-Tab. */
  readonly nextMode: () => void;
  /** Draws what the chat shows now. */
  readonly onChange: () => void;
}

/** A message or a command that waits in the chat. */
interface Waiting {
  readonly text: string;
  readonly delivery: MessageDelivery;
}

/** A chat: what the user types, what is sent, and what was printed. */
export class Chat {
  readonly tasks: ChatTasks;
  readonly composer: Composer;
  readonly asking: Asking;
  readonly turn: UserTurn;
  /** What was printed. It only grows. */
  entries: readonly Entry[] = [];
  /** The messages and commands that wait in the chat. */
  waiting: readonly Waiting[] = [];
  /** The list of sessions, while the user chooses one. */
  picker: SessionPicker | undefined;
  /** Whether the user has left, and how. */
  left: "not" | "between turns" | "during a turn" = "not";
  readonly #options: ChatParts;
  readonly #answers: Answers;
  #notices = 0;
  /** Whether the last key answered a question. An Enter behind it, out of habit, does not send what was kept. */
  #hasJustAnswered = false;
  /** The keys of the entries whose whole was shown. */
  readonly #shownWhole = new Set<string>();

  constructor(options: ChatParts) {
    this.#options = options;
    this.tasks = options.tasks;
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
        this.tellLines(wholeQuestion(call, options.style()));
        this.asking.again();
      },
      onEdit: (question, choice) => void this.#answers.edit(question, choice),
    });
    this.#answers = new Answers({
      tasks: options.tasks,
      means: options,
      onLines: (lines) => this.tellLines(lines),
      onProblem: (reason) => {
        this.tellProblem(reason);
        this.asking.again();
      },
    });
  }

  /** Takes over what happened to the tasks: prints what is finished, puts questions, and sends what waits. */
  refresh(): void {
    this.#print();
    const { tasks, asking } = this;
    const { task, questions } = tasks.current;
    const [question] = questions;
    const before = asking.call;
    asking.put(question, task);
    if (question && question !== before) void this.#answers.automatic(question);
    this.turn.update();
    const [next, ...rest] = this.waiting;
    if (next && !this.#mustWait(next.text)) {
      this.waiting = rest;
      void this.#send(next);
    }
  }

  /** Handles input of the terminal. */
  take(input: TerminalInput): void {
    const intent = input.case === "key" ? intentOf(input.text, input.key) : undefined;
    if (input.case === "end") this.leave();
    else if (this.picker) intent && this.picker.take(intent);
    else if (intent && this.#takeCommand(intent)) this.#options.onChange();
    else if (this.asking.call && !this.#options.approve) this.asking.take(input);
    else if (!this.#hasJustAnswered || intent?.case !== "submit") {
      this.#hasJustAnswered = false;
      this.asking.keys.noteTyping();
      this.#compose(input);
    }
    this.#options.onChange();
  }

  /** Handles Ctrl-C. */
  interrupt(): void {
    const { composer, turn } = this;
    if (turn.isCanceling) this.leave();
    else if (!this.asking.call && composer.text !== "") composer.take();
    else if (!this.cancelTurn()) this.leave();
    this.#options.onChange();
  }

  /** Cancels the turn, and takes queued messages back. Returns whether there was a turn. */
  cancelTurn(): boolean {
    const isBusy = this.tasks.isWorking || this.asking.call !== undefined;
    if (!isBusy || this.turn.isCanceling) return false;
    const queued = [...this.tasks.queued.map(queuedText), ...this.waiting.map(({ text }) => text)];
    this.waiting = [];
    void this.turn.cancel(this.#options.isServerGone()).then((notice) => {
      if (queued.length > 0) this.composer.restore(queued.join("\n"));
      if (notice !== "") this.tell(notice);
      this.#options.onChange();
    });
    return true;
  }

  /** Leaves the chat. What was not sent is shown. */
  leave(): void {
    if (this.left !== "not") return;
    this.left = this.tasks.isWorking || this.turn.isCanceling ? "during a turn" : "between turns";
    const rest = [...this.waiting.map(({ text }) => text), this.composer.text].filter((text) => text !== "");
    for (const text of rest) this.tell(`not sent: ${text}`);
    this.#options.onChange();
  }

  /** Continues another conversation, which is printed from its beginning, or begins a new one. */
  continue(taskId: string | undefined): void {
    this.tasks.open(taskId);
  }

  /** Sends a message, or runs a command, as soon as it is its turn. */
  submit(text: string, delivery: MessageDelivery = DELIVERY.queue): void {
    this.waiting = [...this.waiting, { text, delivery }];
    this.refresh();
  }

  /** Prints a line of the program itself. */
  tell(text: string): void {
    this.print(noticeEntry(`notice ${this.#notices++}`, `· ${text}`, this.#options.style()));
  }

  /** Prints lines, which are broken to the width of the terminal. */
  tellLines(lines: readonly string[]): void {
    const { columns } = this.#options.style();
    const fitting = lines.flatMap((line) => (stringWidth(line) > columns ? clipped(line, columns) : [line]));
    this.print({ key: `notice ${this.#notices++}`, lines: fitting });
  }

  /** Prints why something failed. */
  tellProblem(reason: unknown): void {
    this.tell(userMessage(reason));
  }

  /** Prints an entry. */
  print(...entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    this.entries = [...this.entries, ...entries];
    this.#options.onChange();
  }

  #print(): void {
    const style = this.#options.style();
    const shown = [this.tasks.conversation, ...(this.tasks.command ? [this.tasks.command] : [])];
    this.print(...shown.flatMap(({ view, scrollback }) => scrollback.advance(view.snapshot(), style)));
    this.tasks.forgetEnded();
  }

  /** Handles keys that do more than edit. Returns whether the key was one. */
  #takeCommand(intent: Intent): boolean {
    const { composer } = this;
    const isWriting = composer.search !== undefined || this.asking.isInWords;
    switch (intent.case) {
      case "escape":
        if (!composer.search && !this.asking.back()) this.cancelTurn();
        return !composer.search;
      case "leave":
        if (composer.text === "") this.leave();
        else composer.edit({ case: "delete", to: "character after" });
        return true;
      case "next mode":
        this.#options.nextMode();
        return true;
      case "show all":
        this.#showFolded();
        return true;
      case "complete":
        if (!isWriting) void this.#complete();
        return true;
      case "editor":
        if (!isWriting) void this.#editDraft();
        return true;
      case "up":
        return !isWriting && composer.text === "" && this.#takeBack();
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
    if (!intent || composer.edit(intent)) return;
    const { text, cursor } = composer.draft;
    if (intent.case === "submit" && cursor === text.length && text.endsWith("\\")) {
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
    void this.#options.history.add(text).catch((reason: unknown) => this.tellProblem(reason));
    const local = readLocalCommand(text);
    if (local) {
      this.#echo(text);
      void this.#options.runLocal(local).catch((reason: unknown) => this.tellProblem(reason));
      return;
    }
    this.submit(text, delivery);
  }

  /** Prints what the user typed, where no task records it. */
  #echo(text: string): void {
    this.tellLines(userLines(textPart(text), this.#options.style()));
  }

  /** Whether a message or a command cannot be sent now: a question comes first, and a command runs alone. */
  #mustWait(text: string): boolean {
    const { tasks, asking } = this;
    return (
      asking.call !== undefined ||
      tasks.command !== undefined ||
      this.turn.isCanceling ||
      (isCommand(text) && tasks.isWorking)
    );
  }

  async #send({ text, delivery }: Waiting): Promise<void> {
    try {
      if (isCommand(text)) {
        const line = text.startsWith("!") ? `/shell ${text.slice(1).trim()}` : text;
        this.#echo(text);
        await this.tasks.run(line);
        return;
      }
      const { workspace } = this.#options;
      const read = workspace === undefined ? { parts: [], problems: [] } : await readMentions(text, workspace);
      for (const problem of read.problems) this.tell(problem);
      await this.tasks.say([textPart(text.replace(/^\/\//, "/")), ...read.parts], delivery);
    } catch (reason) {
      this.tellProblem(reason);
      if (!isCommand(text)) this.composer.restore(text);
    }
    this.#options.onChange();
  }

  /** Takes the last queued message back into the input. Returns whether there was one. */
  #takeBack(): boolean {
    const waiting = this.waiting.at(-1);
    const queued = this.tasks.queued.at(-1);
    if (waiting) {
      this.waiting = this.waiting.slice(0, -1);
      this.composer.restore(waiting.text);
    } else if (queued?.message) {
      const { messageId } = queued.message;
      void this.tasks
        .withdraw(messageId)
        .then(() => this.composer.restore(queuedText(queued)))
        .catch((reason: unknown) => this.tellProblem(reason))
        .finally(this.#options.onChange);
    }
    return waiting !== undefined || queued !== undefined;
  }

  async #editDraft(): Promise<void> {
    try {
      const text = await this.#options.edit(this.composer.text, "message.md");
      this.composer.write(draftOf(text.replace(/\n+$/, "")));
    } catch (reason) {
      this.tellProblem(reason);
    }
    this.#options.onChange();
  }

  async #complete(): Promise<void> {
    const { draft } = this.composer;
    const before = draft.text.slice(0, draft.cursor);
    const found = await this.#options.complete(before);
    if (this.composer.draft !== draft) return;
    const common = found.reduce((one, other) => commonStart(one, other), found[0] ?? before);
    if (common.length > before.length) {
      const text = common + draft.text.slice(draft.cursor);
      this.composer.write({ ...draft, text, cursor: common.length });
    }
    this.composer.candidates = found.length > 1 ? found : [];
    this.#options.onChange();
  }

  /** Shows in full what was folded last and not shown in full yet. */
  #showFolded(): void {
    const folded = this.entries.findLast(({ key, whole }) => whole !== undefined && !this.#shownWhole.has(key));
    if (folded) this.#shownWhole.add(folded.key);
    if (folded?.whole) this.tellLines(folded.whole);
    else this.tell("nothing else was folded");
  }
}

function isCommand(text: string): boolean {
  return isSlashLine(text) || text.startsWith("!");
}

function commonStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return one.slice(0, length);
}
