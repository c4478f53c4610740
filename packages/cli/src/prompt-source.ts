import { fstatSync } from "node:fs";
import { open } from "node:fs/promises";
import { errorMessage, UsageError } from "./errors.ts";
import { type Io, isTerminal, writeLine } from "./io.ts";

/** Where a prompt comes from. */
export interface PromptOptions {
  /** File with the prompt. */
  readonly promptFile?: string;
}

/**
 * Maximum size of a prompt from a file or from standard input in bytes. A
 * server takes requests of 4 MiB.
 */
const MAX_PROMPT_BYTES = 1024 * 1024;

/**
 * Returns the prompt: the words of the command line, the content of
 * `--prompt-file`, or all of standard input for `-` and when nothing else is
 * given.
 *
 * Standard input is not read when there is another prompt, and the user is told
 * if it may hold text. Line breaks at the end are removed. Throws when there is
 * no prompt, or more than one, and for a prompt that cannot be read, is not
 * UTF-8 or is larger than 1 MiB.
 */
export async function readPrompt(
  words: string | undefined,
  { promptFile }: PromptOptions,
  io: Io,
): Promise<string> {
  if (words !== undefined && promptFile !== undefined) {
    const given = words === "-" ? "standard input (-)" : "a prompt";
    throw new UsageError(
      `both ${given} and --prompt-file are given: choose one`,
    );
  }
  const isStdin =
    promptFile === undefined && (words === undefined || words === "-");
  if (!isStdin && "fd" in io.stdin && typeof io.stdin.fd === "number") {
    // Whether a pipe is empty is not known before it is read.
    const status = fstatSync(io.stdin.fd);
    const mayHoldText = status.isFIFO() || (status.isFile() && status.size > 0);
    const remedy = "to send both, pipe both into devtool run -";
    if (mayHoldText) {
      writeLine(
        io.stderr,
        `devtool: standard input is ignored, because the prompt is given elsewhere; ${remedy}`,
      );
    }
  }
  const prompt = await promptFrom(words, promptFile, io);
  if (prompt.trim() !== "") return prompt;
  const name = isStdin ? "the prompt on standard input" : "the prompt";
  const subject =
    promptFile === undefined ? name : `prompt file "${promptFile}"`;
  throw new UsageError(`${subject} is empty: say what the agent is to do`);
}

async function promptFrom(
  words: string | undefined,
  promptFile: string | undefined,
  io: Io,
): Promise<string> {
  if (promptFile !== undefined) {
    await using file = await open(promptFile).catch((reason: unknown) => {
      throw new Error(
        `prompt file "${promptFile}" cannot be read: ${errorMessage(reason)}`,
        { cause: reason },
      );
    });
    return await decode(
      file.createReadStream({ autoClose: false }),
      `prompt file "${promptFile}"`,
    );
  }
  if (words !== undefined && words !== "-") return words;
  if (words === undefined && isTerminal(io.stdin)) {
    throw new UsageError(
      "there is no prompt: give one in quotes, name a --prompt-file, or write - to type it here and end it with Ctrl-D",
    );
  }
  return decode(io.stdin, "standard input");
}

/** Reads a text to its end. */
async function decode(
  bytes: AsyncIterable<Uint8Array | string>,
  name: string,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    const read = Buffer.from(chunk);
    size += read.length;
    if (size > MAX_PROMPT_BYTES) {
      throw new Error(
        `${name} is too large for a prompt: limit is ${MAX_PROMPT_BYTES} bytes`,
      );
    }
    chunks.push(read);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true })
      .decode(Buffer.concat(chunks))
      .replace(/(\r?\n)+$/, "");
  } catch (reason) {
    throw new Error(`${name} is not UTF-8 text`, { cause: reason });
  }
}
