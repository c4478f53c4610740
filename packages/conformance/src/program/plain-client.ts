import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { abortable } from "@devtool/internal/abortable";
import { keepEnd } from "@devtool/internal/cut-text";
import { GROUP_OPTIONS, signalGroup } from "@devtool/internal/process-group";
import { shellLine } from "@devtool/internal/shell-line";
import type { Recording } from "../binding/recording.ts";
import { printedOutcome } from "./printed-task.ts";
import type { AskProgram, ProgramOutcome, ProgramWork } from "./program.ts";

/**
 * A client of A2A that knows nothing of the kit: a command that is given the
 * address of an agent and a prompt, prints what it receives as JSON of A2A, and
 * exits. Another code than 0 says that it refused, and its standard error why.
 *
 * It is started anew for each piece of work, in a process group that is killed
 * when it exits, or when the signal aborts.
 */
export class PlainClient implements AskProgram {
  readonly #words: readonly string[];
  readonly #recording: Recording;

  /**
   * `words` are the command and its arguments. What it prints is recorded as
   * evidence.
   */
  constructor(words: readonly string[], recording: Recording) {
    this.#words = words;
    this.#recording = recording;
  }

  async ask(work: ProgramWork, signal: AbortSignal): Promise<ProgramOutcome> {
    if (work.case !== "converseWithAgent") {
      return { case: "unsupported", value: String(work.case) };
    }
    const { conversation, protocolVersion = "" } = work.value;
    if (conversation?.workspacePath) {
      const value = "settings: it is given an address and a prompt";
      return { case: "unsupported", value };
    }
    const { url = "", prompt = "" } = conversation ?? {};
    const words = [...this.#words, url, prompt];
    this.#recording.startStep(1);
    this.#recording.addRequest(shellLine(words), [], "");
    const { code, output, errors } = await run(words, signal);
    this.#recording.setResponse(`exit code ${code}`, []);
    this.#recording.setResponseBody(output + errors);
    if (code !== "0") {
      return { case: "refused", value: `exit code ${code}: ${whyOf(errors)}` };
    }
    return printedOutcome(output, protocolVersion);
  }
}

interface Run {
  /** The exit code, or the name of the signal that ended the process. */
  readonly code: string;
  readonly output: string;
  readonly errors: string;
}

/** Runs a command to its end, and what it leaves behind, too. */
async function run(
  [command = "", ...args]: readonly string[],
  signal: AbortSignal,
): Promise<Run> {
  const child = spawn(command, args, {
    ...GROUP_OPTIONS,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  const printed = Promise.all([text(child.stdout), text(child.stderr)]);
  try {
    const [code, ended] = await abortable(exited, signal);
    signalGroup(child, "SIGKILL");
    const [output, errors] = await abortable(printed, signal);
    return { code: String(code ?? ended), output, errors };
  } catch (cause) {
    if (!(cause instanceof Error) || cause.name !== "TimeoutError") throw cause;
    throw new Error(
      "the client did not exit within the time limit (--timeout): it must exit when the answer has ended",
      { cause },
    );
  } finally {
    signalGroup(child, "SIGKILL");
    printed.catch(() => undefined);
  }
}

/**
 * Returns what standard error says: its last error of the form of Python, Node
 * or Java, without the stack, or else its end.
 */
function whyOf(errors: string): string {
  const named = errors.match(NAMED_ERROR)?.at(-1);
  const why = (named ?? keepEnd(errors, MAX_ERROR_CHARACTERS)).trim();
  return why || "nothing on standard error";
}

/** A line with the class of an error: `TypeError: …`, `httpx.ReadTimeout: …`. */
const NAMED_ERROR =
  /^\s*[\w.$]*(?:Error|Exception)\b.*|^(?:\w+\.)+[A-Z]\w*:.*/gm;

/** Maximum number of characters of standard error that a failure quotes. */
const MAX_ERROR_CHARACTERS = 500;
