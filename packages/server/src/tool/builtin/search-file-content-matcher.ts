import { Worker } from "node:worker_threads";
import picomatch from "picomatch";
import { Code, DevtoolError, invalid } from "../../errors.ts";

/** So long one search may take: a pattern can be slow without end. */
export const MAX_SEARCH_MS = 20_000;

/** The expression that paths match when they match a glob pattern. Throws `Code.InvalidArgument` that names the argument. */
export function globExpression(argument: string, pattern: string): RegExp {
  if (pattern === "" || pattern.length > 1000)
    throw invalid(argument, pattern.slice(0, 40), "has 0 or over 1000 characters");
  return picomatch.makeRe(pattern, { dot: true });
}

const WORKER = `
  const { parentPort, workerData } = require("node:worker_threads");
  parentPort.on("message", ({ names, text }) => {
    if (names) return parentPort.postMessage(names.filter((name) => workerData.test(name)));
    const lines = text.split("\\n").flatMap((line, index) =>
      workerData.test(line) ? [index + 1 + ":" + line.slice(0, 300)] : []);
    parentPort.postMessage(lines);
  });
`;

/**
 * Matches an expression that a model wrote in a thread of its own, so that one that never ends can be ended from outside
 * and holds nobody up. One question at a time.
 */
export class Matcher implements AsyncDisposable {
  readonly #worker: Worker;

  constructor(expression: RegExp) {
    this.#worker = new Worker(WORKER, { eval: true, workerData: expression });
  }

  /** The names that match. Throws when the signal aborts first. */
  names(names: readonly string[], signal: AbortSignal): Promise<string[]> {
    return names.length === 0 ? Promise.resolve([]) : this.#ask({ names }, signal);
  }

  /** The matching lines of a text, each with its number from 1. Throws when the signal aborts first. */
  lines(text: string, signal: AbortSignal): Promise<string[]> {
    return this.#ask({ text }, signal);
  }

  async #ask(
    question: { readonly names?: readonly string[]; readonly text?: string },
    signal: AbortSignal,
  ): Promise<string[]> {
    const answer = Promise.withResolvers<string[]>();
    const abort = (): void => answer.reject(tooSlow());
    signal.addEventListener("abort", abort, { once: true });
    this.#worker.once("message", answer.resolve).once("error", answer.reject);
    this.#worker.postMessage(question);
    try {
      if (signal.aborted) throw tooSlow();
      return await answer.promise;
    } finally {
      signal.removeEventListener("abort", abort);
      this.#worker.off("message", answer.resolve).off("error", answer.reject);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

function tooSlow(): DevtoolError {
  return new DevtoolError(
    `the search took longer than ${MAX_SEARCH_MS} ms: simplify the pattern or name a smaller directory`,
    Code.DeadlineExceeded,
  );
}
