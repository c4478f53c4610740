import { isUtf8 } from "node:buffer";
import { Worker } from "node:worker_threads";
import picomatch from "picomatch";
import { Code, DevtoolError, invalid } from "../../errors.ts";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import { MAX_FILE_BYTES, type Workspace } from "../workspace.ts";

const PARAMETERS: Parameters = {
  required: { pattern: { type: "string", description: "A JavaScript regular expression, matched against each line." } },
  optional: {
    path: { type: "string", description: "The directory to search. Default: the workspace." },
    include: { type: "string", description: "A glob pattern that the paths must match, for instance *.ts." },
  },
};

/** So many matching lines are listed at most, and so long one search may take: a pattern can be slow without end. */
const MAX_MATCHES = 500;
const MAX_SEARCH_MS = 20_000;

/** `search_file_content`: the lines that match a pattern. */
export function searchFileContentTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "search_file_content",
      description: "Searches the lines of text files with a regular expression.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const pattern = checked.text("pattern");
      assertPattern(pattern);
      const path = workspace.locate(checked.text("path") || ".");
      const include = checked.text("include");
      return {
        args,
        description: `Search ${pattern} in ${path || "the workspace"}`,
        execute: async function* (signal) {
          yield textResult(await search(workspace, { path, pattern, include }, signal));
        },
      };
    },
  };
}

interface Search {
  readonly path: string;
  readonly pattern: string;
  readonly include: string;
}

function assertPattern(pattern: string): void {
  try {
    new RegExp(pattern, "u");
  } catch {
    throw invalid("pattern", pattern, "is no regular expression");
  }
}

async function search(workspace: Workspace, { path, pattern, include }: Search, signal: AbortSignal): Promise<string> {
  const isIncluded = include === "" ? () => true : picomatch(include, { dot: true, basename: true });
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(MAX_SEARCH_MS)]);
  await using matcher = new LineMatcher(pattern);
  const found: string[] = [];
  for (const file of workspace.walk(path)) {
    if (!isIncluded(file) || found.length > MAX_MATCHES) continue;
    const text = readSearchable(workspace, file);
    if (text !== undefined) for (const line of await matcher.match(text, deadline)) found.push(`${file}:${line}`);
  }
  if (found.length === 0) return "No line matches.";
  const more = found.length > MAX_MATCHES ? [`[more than ${MAX_MATCHES}: narrow the search]`] : [];
  return [...found.slice(0, MAX_MATCHES), ...more].join("\n");
}

function readSearchable(workspace: Workspace, path: string): string | undefined {
  const content = readable(workspace, path);
  if (!content || content.length > MAX_FILE_BYTES || !isUtf8(content) || content.includes(0)) return undefined;
  return content.toString("utf8");
}

/** The content of a file; undefined for one that cannot be read, which a search passes over. */
function readable(workspace: Workspace, path: string): Buffer | undefined {
  try {
    return workspace.readFile(path);
  } catch {
    return undefined;
  }
}

const WORKER = `
  const { parentPort, workerData } = require("node:worker_threads");
  const expression = new RegExp(workerData, "u");
  parentPort.on("message", (text) => {
    const lines = text.split("\\n").flatMap((line, index) =>
      expression.test(line) ? [index + 1 + ":" + line.slice(0, 300)] : []);
    parentPort.postMessage(lines);
  });
`;

/** Matches lines in a thread of its own, so that a pattern that never ends can be ended from outside. */
class LineMatcher implements AsyncDisposable {
  readonly #worker: Worker;

  constructor(pattern: string) {
    this.#worker = new Worker(WORKER, { eval: true, workerData: pattern });
  }

  /** The matching lines, each with its number from 1. Throws when the signal aborts first. */
  async match(text: string, signal: AbortSignal): Promise<string[]> {
    const answer = Promise.withResolvers<string[]>();
    const abort = (): void => answer.reject(tooSlow());
    signal.addEventListener("abort", abort, { once: true });
    this.#worker.once("message", answer.resolve).once("error", answer.reject);
    this.#worker.postMessage(text);
    try {
      signal.throwIfAborted();
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
    `the search took longer than ${MAX_SEARCH_MS} ms: simplify the pattern`,
    Code.DeadlineExceeded,
  );
}
