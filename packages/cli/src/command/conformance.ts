import { type CaseResult, runServerSuite } from "@devtool/conformance";
import { findServer } from "../connection.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { paintFor, visible } from "../render/style.ts";
import { interruptSignal } from "../session.ts";

/** The options of `devtool conformance`. */
export interface ConformanceOptions {
  readonly token?: string;
  readonly data?: string;
  readonly json?: true;
  /** The `binding.json` of a program to test in place of a server. */
  readonly program?: string;
}

/** `devtool conformance`: tests a server or a program, and tells which requirements it meets. */
export async function conformance(url: string | undefined, options: ConformanceOptions, io: Io): Promise<number> {
  using interrupt = interruptSignal(io);
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const result of await resultsFor(url, options, { io, signal: interrupt.signal })) {
    counts[result.status]++;
    writeLine(io.stdout, options.json ? JSON.stringify(result) : lineOf(result, io));
  }
  const total = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`;
  writeLine(options.json ? io.stderr : io.stdout, total);
  return counts.failed > 0 ? ExitCode.FAILED : ExitCode.OK;
}

async function resultsFor(
  url: string | undefined,
  options: ConformanceOptions,
  { io, signal }: { readonly io: Io; readonly signal: AbortSignal },
): Promise<AsyncIterable<CaseResult>> {
  if (options.program !== undefined) {
    if (url !== undefined) throw new Error(`cannot test "${url}" and "${options.program}" at once: name one`);
    const { testProgram } = await import("./conformance-program.ts");
    return testProgram(options.program, signal);
  }
  if (url === undefined) throw new Error("nothing to test: give the URL of a server, or --program <binding.json>");
  const token = (await findServer({ ...options, url }, io))?.token ?? "";
  return runServerSuite({ url, token }, signal);
}

function lineOf({ id, status, requirements, reason }: CaseResult, io: Io): string {
  const paint = paintFor(io);
  const look = { passed: "good", failed: "bad", skipped: "dim" } as const;
  const why = reason === undefined ? "" : `\n    ${visible(reason)}`;
  return `${paint(look[status], status.padEnd(8))} ${id.padEnd(44)} ${requirements.join(" ")}${why}`;
}
