import { readFile, writeFile } from "node:fs/promises";
import { toJson } from "@bufbuild/protobuf";
import {
  type CaseResult,
  createReport,
  htmlPage,
  junitXml,
  reportTable,
} from "@devtool/conformance";
import {
  isClean,
  readingOf,
  readKnownFailing,
} from "@devtool/conformance/operator";
import { CaseReportSchema, ReportSchema } from "@devtool/conformance/protos";
import { defined } from "@devtool/internal/json";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { writeJsonLine } from "../render/json-line.ts";
import { paintFor, visible } from "../render/style.ts";
import type { Play } from "./conformance-play.ts";
import { playServer, type ServerOptions } from "./conformance-server.ts";

/** The options of `devtool conformance`. */
export interface ConformanceOptions extends ServerOptions {
  /** The `binding.json` of a program to test in place of a server. */
  readonly program?: string;
  readonly json?: true;
  /**
   * A file of cases that are known to fail. Replaces the list in a
   * `binding.json`.
   */
  readonly knownFailing?: string;
  readonly reportHtml?: string;
  readonly reportJunit?: string;
  readonly reportJson?: string;
}

/**
 * `devtool conformance`: tests a server or a program, and reports which
 * requirements it meets.
 */
export async function conformance(
  url: string | undefined,
  options: ConformanceOptions,
  io: Io,
): Promise<number> {
  const { json, knownFailing, reportHtml, reportJunit, reportJson } = options;
  const listed =
    knownFailing === undefined
      ? undefined
      : readKnownFailing(await readFile(knownFailing, "utf8"));
  using interrupt = interruptSignal(io);
  const { results: playing, ...play } = await choosePlay(
    { url, io, ...options },
    interrupt.signal,
  );
  const results: CaseResult[] = [];
  for await (const result of playing) {
    results.push(result);
    if (!json) writeLine(io.stdout, resultLine(result, io));
  }
  const report = createReport({
    ...play,
    ...defined({ known: listed }),
    results,
    time: new Date(),
  });
  if (json) {
    for (const item of report.cases) {
      writeJsonLine(io.stdout, CaseReportSchema, item);
    }
  } else {
    writeLine(io.stdout, `\n${visible(reportTable(report))}`);
  }
  if (reportHtml !== undefined) await writeFile(reportHtml, htmlPage([report]));
  if (reportJunit !== undefined) {
    await writeFile(reportJunit, junitXml([report]));
  }
  if (reportJson !== undefined) {
    await writeFile(
      reportJson,
      `${JSON.stringify(toJson(ReportSchema, report), undefined, 2)}\n`,
    );
  }
  return isClean(report) ? ExitCode.OK : ExitCode.FAILED;
}

/** Prepares the suites for the server or the program of the command line. */
async function choosePlay(
  {
    url,
    program,
    ...options
  }: ConformanceOptions & { readonly url: string | undefined; readonly io: Io },
  signal: AbortSignal,
): Promise<Play> {
  if (program !== undefined && url !== undefined) {
    throw new Error(`cannot test "${url}" and "${program}" at once: name one`);
  }
  if (program !== undefined) {
    return (await import("./conformance-program.ts")).playProgram(
      program,
      signal,
    );
  }
  if (url === undefined) {
    throw new Error(
      "nothing to test: give the URL of a server, or --program <binding.json>",
    );
  }
  return playServer({ url, ...options }, signal);
}

function resultLine(result: CaseResult, io: Io): string {
  const { id, requirements } = result;
  const paint = paintFor(io);
  const look = {
    passed: "good",
    failed: "bad",
    skipped: "dim",
    reading: "dim",
  } as const;
  const reading = readingOf(result);
  const status = reading === undefined ? result.status : "reading";
  const reason = reading ?? result.reason;
  const why = reason === undefined ? "" : `\n    ${visible(reason)}`;
  return `${paint(look[status], status.padEnd(8))} ${id.padEnd(44)} ${requirements.join(" ")}${why}`;
}
