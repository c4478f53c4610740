import type { AnswerChanges, AskedToolCall } from "@devtool/client";
import {
  declineOf,
  isQuestionOfCall,
  OPTION_PROCEED_ONCE,
  type Task,
} from "@devtool/schema";
import { type Choice, findChoice, MORE, VIEW_ALL } from "../choice.ts";
import type { LineStyle } from "../render/style.ts";
import type { TerminalInput } from "../terminal/terminal.ts";
import type { DrawnQuestion } from "./answers.ts";
import { Composer } from "./composer.ts";
import { EMPTY_DRAFT } from "./draft.ts";
import { intentOf } from "./intent.ts";
import {
  DECLINE_AND_SAY,
  drawQuestion,
  type MenuSize,
  menuLines,
  viewFirst,
} from "./question.ts";
import { QuestionKeys, type Timers } from "./question-keys.ts";

/** Options of `Asking`. */
interface AskingOptions {
  readonly timers: Timers;
  /** Called after each change of what is shown. */
  readonly onChange: () => void;
  /** Receives input that does not answer. */
  readonly onAside: (input: TerminalInput) => void;
  /** Answers with an option of the call. */
  readonly onAnswer: (
    question: DrawnQuestion,
    choice: Choice,
    changes: AnswerChanges,
  ) => void;
  /** Shows the whole question. */
  readonly onViewAll: (call: AskedToolCall) => void;
  /** Lets the user edit the proposed file, and answers with it. */
  readonly onEdit: (question: DrawnQuestion, choice: Choice) => void;
}

/**
 * The question that is put to the user, and how it is answered: by one key, or
 * in words.
 */
export class Asking {
  /** The question; undefined when there is none. */
  call: AskedToolCall | undefined;
  /** The question as it was drawn last, without the menu. */
  lines: readonly string[] = [];
  /** The choices that the menu shows. */
  choices: readonly Choice[] = [];
  /** Whether the user writes why the call is declined. */
  isDeclining = false;
  /** The answer in words. */
  readonly words: Composer = new Composer(() => []);
  readonly keys: QuestionKeys;
  readonly #options: AskingOptions;
  #takesWords = false;
  /** How much of its menu is shown where not all of it fits. */
  #menu: MenuSize = "main";
  /** Whether the whole question was printed, so that its answer is enough. */
  #isPrinted = false;
  /**
   * The question whose answer is on its way. It is not put again unless it
   * changes.
   */
  #answered: AskedToolCall | undefined;

  constructor(options: AskingOptions) {
    this.#options = options;
    this.keys = new QuestionKeys({
      timers: options.timers,
      onReady: options.onChange,
      onKey: (key) => this.#choose(key),
      onAside: options.onAside,
    });
  }

  /** Whether the next keys are an answer in words. */
  get isInWords(): boolean {
    return (
      this.call !== undefined &&
      this.keys.isReady &&
      (this.isDeclining || this.#takesWords)
    );
  }

  /**
   * The words before the input line of the question; empty until the question
   * takes an answer.
   */
  get prompt(): string {
    if (!this.keys.isReady) return "";
    if (this.isDeclining) return "why not > ";
    return this.#takesWords ? "choose, or type the answer > " : "choose > ";
  }

  /**
   * Puts the first of a task's questions. The same question again changes
   * nothing.
   */
  put(first: AskedToolCall | undefined, task: Task): void {
    const call = first === this.#answered ? undefined : first;
    if (call === this.call) return;
    this.call = call;
    this.isDeclining = false;
    this.#menu = "main";
    this.#isPrinted = false;
    this.words.write(EMPTY_DRAFT);
    this.#takesWords =
      call !== undefined && isQuestionOfCall(task, call.toolCallId);
    this.keys.reset();
  }

  /**
   * Draws the question on at most this number of rows. Returns its lines and
   * its menu; none without a question. One of which too little is in view
   * allows nothing before it was printed.
   */
  draw(rows: number, style: LineStyle): string[] {
    if (!this.call) return [];
    const drawn = drawQuestion(this.call, rows, this.#menu, style);
    this.lines = drawn.lines;
    this.choices =
      drawn.shown === "too little" && !this.#isPrinted
        ? viewFirst(drawn.choices)
        : drawn.choices;
    const menu = menuLines(this.choices, style);
    const most = Math.max(1, rows - drawn.lines.length);
    return [...drawn.lines, ...menu.slice(0, most)];
  }

  /** Puts the same question again, for instance after an edit that failed. */
  again(): void {
    this.#answered = undefined;
    this.keys.reset();
    this.#options.onChange();
  }

  /** Handles a key or a paste while a question is put. */
  take(input: TerminalInput): void {
    if (!this.isInWords) {
      this.keys.take(input);
    } else if (input.case === "paste") {
      this.words.paste(input.text);
    } else if (input.case === "key") {
      const intent = intentOf(input.text, input.key);
      if (intent?.case === "submit") {
        this.#answerInWords();
      } else if (intent) {
        this.words.edit(intent);
      }
    }
  }

  /**
   * Goes back from the words to the choices. Returns whether there was a way
   * back.
   */
  back(): boolean {
    if (!this.isDeclining) return false;
    this.isDeclining = false;
    return true;
  }

  /** The lines of the question that an answer is printed with. */
  get #rest(): readonly string[] {
    return this.#isPrinted ? this.lines.slice(0, 1) : this.lines;
  }

  #answerInWords(): void {
    const { call } = this;
    const text = this.words.take();
    if (!call || (text === "" && !this.isDeclining)) return;
    const choice = findChoice(this.choices, text);
    if (!choice && !this.isDeclining && this.choices[0] === VIEW_ALL) {
      // The words stay for when the question was seen.
      this.words.paste(text);
      this.#choose(VIEW_ALL.key);
      return;
    }
    if (this.isDeclining) {
      this.#answer(call, { ...DECLINE_AND_SAY, id: declineOf(call) }, text);
    } else if (choice) {
      this.#choose(choice.key);
    } else {
      this.#answer(
        call,
        { key: "", id: OPTION_PROCEED_ONCE, label: text },
        text,
      );
    }
  }

  #choose(key: string): void {
    const { call } = this;
    const choice = findChoice(this.choices, key);
    if (!call || !choice) return;
    if (choice === VIEW_ALL) {
      this.#isPrinted = true;
      this.#options.onViewAll(call);
    } else if (choice === MORE) {
      this.#menu = "all";
      this.again();
    } else if (choice === DECLINE_AND_SAY) {
      this.isDeclining = true;
    } else if (choice.edits) {
      this.#options.onEdit({ call, lines: this.#rest }, choice);
    } else {
      this.#answer(call, choice, "");
    }
    this.#options.onChange();
  }

  #answer(call: AskedToolCall, choice: Choice, text: string): void {
    this.keys.reset();
    this.#answered = call;
    this.call = undefined;
    this.#options.onAnswer(
      { call, lines: this.#rest },
      choice,
      text === "" ? {} : { text },
    );
  }
}
