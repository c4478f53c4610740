import { createInterface, type Interface } from "node:readline";
import type { Io } from "./io.ts";

/** Asks a person for lines, one at a time. */
export interface Prompter extends Disposable {
  /** Shows a prompt and waits for a line; undefined when there are no more. */
  ask(prompt: string): Promise<string | undefined>;
}

/** Reads lines from standard input; lines that come early wait. */
export function createPrompter({ stdin, stdout, interactive, interrupt }: Io): Prompter {
  const lines: string[] = [];
  let waiting: ((line: string | undefined) => void) | undefined;
  let ended = false;
  const give = (line: string | undefined): void => {
    const take = waiting;
    waiting = undefined;
    if (take) take(line);
    else if (line !== undefined) lines.push(line);
  };
  const readline: Interface = createInterface({ input: stdin, output: stdout, terminal: interactive });
  readline.on("line", (line) => give(line.trim()));
  readline.on("SIGINT", interrupt);
  readline.on("close", () => {
    ended = true;
    give(undefined);
  });
  return {
    ask(prompt) {
      const early = lines.shift();
      if (early !== undefined || ended) return Promise.resolve(early);
      readline.setPrompt(prompt);
      readline.prompt();
      return new Promise((resolve) => {
        waiting = resolve;
      });
    },
    [Symbol.dispose]: () => readline.close(),
  };
}
