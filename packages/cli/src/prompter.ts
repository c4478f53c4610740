import { createInterface } from "node:readline";
import type { Completion } from "./completion.ts";
import type { Io } from "./io.ts";
import { visible } from "./render/style.ts";
import { LineEditor } from "./terminal/line-editor.ts";
import {
  type Aside,
  type Questioner,
  TerminalQuestioner,
} from "./terminal/questioner.ts";
import { Terminal, type TerminalInput } from "./terminal/terminal.ts";

/** Reads messages, one at a time. */
export interface Prompter extends Disposable {
  /** Asks for decisions; undefined without a terminal. */
  readonly questioner: Questioner | undefined;
  /**
   * Returns the first message that was typed ahead, or asks for one. Undefined
   * at the end of the input, or when `signal` aborts.
   */
  message(prompt: string, signal: AbortSignal): Promise<string | undefined>;
  /** Puts a text back into the input line. */
  restore(text: string): void;
  /** Empties the input line. Returns whether there was anything in it. */
  clear(): boolean;
}

/** Options of `createPrompter`. */
interface PrompterOptions {
  /** Completes a line when Tab is pressed. */
  readonly complete: (line: string) => Completion;
  /**
   * Receives each message that was typed while none was asked for. It waits in
   * a queue.
   */
  readonly onQueued: (message: string) => void;
  /** Called when Esc is pressed while no question is asked. */
  readonly onEscape: () => void;
}

/** Reads messages from the terminal, or line by line from standard input. */
export function createPrompter(io: Io, options: PrompterOptions): Prompter {
  if (io.interactive) return terminalPrompter(new Terminal(io), options);
  // A file or a program cannot answer questions that it has not seen.
  const readline = createInterface({ input: io.stdin });
  const lines = readline[Symbol.asyncIterator]();
  const restored: string[] = [];
  return {
    questioner: undefined,
    message: async (prompt, signal) => {
      if (signal.aborted) return undefined;
      io.stdout.write(prompt);
      const { value, done } =
        restored.length > 0
          ? { value: restored.shift(), done: false }
          : await lines.next();
      return done ? undefined : value?.trim();
    },
    restore: (text) => void restored.push(text),
    clear: () => false,
    [Symbol.dispose]: () => readline.close(),
  };
}

function terminalPrompter(
  terminal: Terminal,
  options: PrompterOptions,
): Prompter {
  const editor = new LineEditor({ out: terminal.out, ...options });
  const aside: Aside = {
    take: (input) => {
      if (input.case === "key" && input.key.name === "escape") {
        options.onEscape();
      } else {
        editor.take(input);
      }
    },
    notice: () =>
      editor.draft === ""
        ? undefined
        : `· kept for your next message: ${visible(editor.draft)}`,
  };
  terminal.listen(aside.take);
  const held = terminal.hold();
  return {
    questioner: new TerminalQuestioner(terminal, aside),
    message: async (prompt, signal) =>
      (await editor.read(prompt, signal))?.text,
    restore: (text) => editor.insert(text),
    clear: () => editor.clear(),
    [Symbol.dispose]: () => {
      if (editor.rest !== "") {
        editor.tell(`· not sent: ${visible(editor.rest)}`);
      }
      editor[Symbol.dispose]();
      held[Symbol.dispose]();
    },
  };
}

/**
 * Returns a questioner at the terminal for use outside of a chat.
 *
 * @param describe says what came before a question, or was pasted. Default: its
 * text
 */
export function createQuestioner(
  io: Io,
  describe: (text: string) => string = (text) =>
    `it came before the question: ${JSON.stringify(text)}`,
): Questioner {
  let early = "";
  return new TerminalQuestioner(new Terminal(io), {
    take: (input: TerminalInput) => {
      if ("text" in input) early += input.text;
    },
    notice: () => {
      const text = early;
      early = "";
      return text === ""
        ? undefined
        : `· not taken as an answer, ${describe(text)}`;
    },
  });
}

/** Describes input at a question near which a key may be pasted: without it. */
export function describeWithoutText(): string {
  return "it was pasted, or came before the question";
}
