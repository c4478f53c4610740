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
}

/** `devtool conformance`: plays a client against any server and tells which requirements it meets. */
export async function conformance(url: string, options: ConformanceOptions, io: Io): Promise<number> {
  const token = (await findServer({ ...options, url }, io))?.token ?? "";
  using interrupt = interruptSignal(io);
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const result of runServerSuite({ url, token }, interrupt.signal)) {
    counts[result.status]++;
    writeLine(io.stdout, options.json ? JSON.stringify(result) : lineOf(result, io));
  }
  const total = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`;
  writeLine(options.json ? io.stderr : io.stdout, total);
  return counts.failed > 0 ? ExitCode.FAILED : ExitCode.OK;
}

function lineOf({ id, status, requirements, reason }: CaseResult, io: Io): string {
  const paint = paintFor(io);
  const look = { passed: "good", failed: "bad", skipped: "dim" } as const;
  const why = reason === undefined ? "" : `\n    ${visible(reason)}`;
  return `${paint(look[status], status.padEnd(8))} ${id.padEnd(44)} ${requirements.join(" ")}${why}`;
}
