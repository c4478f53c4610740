import { createInterface, type Interface } from "node:readline";
import type { Completion } from "./completion.ts";
import type { Io } from "./io.ts";

/** Asks a person for lines, one at a time. */
export interface Prompter extends Disposable {
  /** Shows a prompt and waits for a line; undefined when there are no more, or when `signal` aborts before it came. */
  ask(prompt: string, signal: AbortSignal): Promise<string | undefined>;
}

/** Reads lines from standard input; lines that come early wait. `complete` says what Tab makes of a line. */
export function createPrompter(
  { stdin, stdout, interactive, interrupt }: Io,
  complete: (line: string) => Completion = (line) => [[], line],
): Prompter {
  const lines: string[] = [];
  let waiting: ((line: string | undefined) => void) | undefined;
  let ended = false;
  const give = (line: string | undefined): void => {
    const take = waiting;
    waiting = undefined;
    if (take) take(line);
    else if (line !== undefined) lines.push(line);
  };
  const readline: Interface = createInterface({
    input: stdin,
    output: stdout,
    terminal: interactive,
    completer: complete,
  });
  readline.on("line", (line) => give(line.trim()));
  readline.on("SIGINT", interrupt);
  readline.on("close", () => {
    ended = true;
    give(undefined);
  });
  return {
    ask(prompt, signal) {
      if (signal.aborted) return Promise.resolve(undefined);
      const early = lines.shift();
      if (early !== undefined || ended) return Promise.resolve(early);
      readline.setPrompt(prompt);
      readline.prompt();
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      const withdraw = (): void => give(undefined);
      waiting = (line) => {
        signal.removeEventListener("abort", withdraw);
        resolve(line);
      };
      signal.addEventListener("abort", withdraw, { once: true });
      return promise;
    },
    [Symbol.dispose]: () => readline.close(),
  };
}
