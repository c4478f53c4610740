import { createInterface } from "node:readline";
import type { Completion } from "./completion.ts";
import type { Io } from "./io.ts";
import { visible } from "./render/style.ts";
import { LineEditor } from "./terminal/line-editor.ts";
import { type Aside, type Questioner, TerminalQuestioner } from "./terminal/questioner.ts";
import { Terminal, type TerminalInput } from "./terminal/terminal.ts";

/** Asks for messages, one at a time. */
export interface Prompter extends Disposable {
  /** Asks who answers what decides something; undefined when nobody sits there. */
  readonly questioner: Questioner | undefined;
  /** Gives the first message that was typed ahead, or asks for one. Undefined when no more come, or when `signal` aborts. */
  message(prompt: string, signal: AbortSignal): Promise<string | undefined>;
  /** Puts a text back where the next message is typed. */
  restore(text: string): void;
}

/** Options of a prompter. */
export interface PrompterOptions {
  /** What Tab makes of a line. */
  readonly complete: (line: string) => Completion;
  /** Takes a message that was typed while none was asked for; it waits. */
  readonly onQueued: (message: string) => void;
}

/** Asks the person at the terminal for messages, or reads them from standard input, a line each. */
export function createPrompter(io: Io, options: PrompterOptions): Prompter {
  return io.interactive ? terminalPrompter(new Terminal(io), options) : linesPrompter(io);
}

function terminalPrompter(terminal: Terminal, options: PrompterOptions): Prompter {
  const editor = new LineEditor({ out: terminal.out, ...options });
  const aside: Aside = {
    take: (input) => editor.take(input),
    notice: () => (editor.draft === "" ? undefined : `· kept for your next message: ${visible(editor.draft)}`),
  };
  terminal.listen(aside.take);
  const held = terminal.hold();
  return {
    questioner: new TerminalQuestioner(terminal, aside),
    message: async (prompt, signal) => (await editor.read(prompt, signal))?.text,
    restore: (text) => editor.insert(text),
    [Symbol.dispose]: () => {
      if (editor.rest !== "") editor.tell(`· not sent: ${visible(editor.rest)}`);
      editor[Symbol.dispose]();
      held[Symbol.dispose]();
    },
  };
}

/** Reads messages from a file or a program. Nobody can be asked there: a line answers only what its writer has seen. */
function linesPrompter({ stdin, stdout }: Io): Prompter {
  const readline = createInterface({ input: stdin });
  const lines = readline[Symbol.asyncIterator]();
  const restored: string[] = [];
  return {
    questioner: undefined,
    message: async (prompt, signal) => {
      if (signal.aborted) return undefined;
      stdout.write(prompt);
      const { value, done } = restored.length > 0 ? { value: restored.shift(), done: false } : await lines.next();
      return done ? undefined : value?.trim();
    },
    restore: (text) => void restored.push(text),
    [Symbol.dispose]: () => readline.close(),
  };
}

/** Asks the person at the terminal what decides something, outside of a chat. */
export function createQuestioner(io: Io): Questioner {
  let early = "";
  return new TerminalQuestioner(new Terminal(io), {
    take: (input: TerminalInput) => {
      if ("text" in input) early += input.text;
    },
    notice: () => {
      const text = early;
      early = "";
      return text === "" ? undefined : `· not taken as an answer, it came before the question: ${JSON.stringify(text)}`;
    },
  });
}
