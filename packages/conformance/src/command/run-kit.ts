import { readFile, writeFile } from "node:fs/promises";
import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { toJson, toJsonString } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { visibleJson, visibleText } from "@devtool/internal/visible-text";
import type { CaseResult } from "../play/case-result.ts";
import { CaseReportSchema, ReportSchema } from "../protos.ts";
import { createReport, isClean, readingOf } from "../report/create-report.ts";
import { htmlPage } from "../report/html.ts";
import { junitXml } from "../report/junit.ts";
import { readKnownFailing } from "../report/known-failing.ts";
import { reportTable } from "../report/table.ts";
import type { Host } from "./host.ts";
import type { Play } from "./play.ts";
import { playServer, type ServerOptions } from "./play-server.ts";

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
 * Tests a server or a program, and reports which requirements it meets. Returns
 * the exit code.
 */
export async function runKit(
  url: string | undefined,
  options: ConformanceOptions,
  host: Host,
  signal: AbortSignal,
): Promise<number> {
  const { json, knownFailing, reportHtml, reportJunit, reportJson } = options;
  const listed =
    knownFailing === undefined
      ? undefined
      : readKnownFailing(await readFile(knownFailing, "utf8"));
  const { results: playing, ...play } = await choosePlay(
    url,
    options,
    host,
    signal,
  );
  const { stdout } = host;
  const results: CaseResult[] = [];
  for await (const result of playing) {
    results.push(result);
    if (!json) stdout.write(`${resultLine(result, stdout)}\n`);
  }
  const report = createReport({
    ...play,
    ...defined({ known: listed }),
    results,
    time: new Date(),
  });
  if (json) {
    for (const item of report.cases) {
      const line = toJsonString(CaseReportSchema, item);
      const isTerminal = "isTTY" in stdout && stdout.isTTY === true;
      stdout.write(`${isTerminal ? visibleJson(line) : line}\n`);
    }
  } else {
    stdout.write(`\n${visibleText(reportTable(report))}\n`);
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
  return isClean(report) ? 0 : 1;
}

/** Prepares the suites for the server or the program of the command line. */
async function choosePlay(
  url: string | undefined,
  options: ConformanceOptions,
  host: Host,
  signal: AbortSignal,
): Promise<Play> {
  const { program } = options;
  if (program !== undefined && url !== undefined) {
    throw new Error(`cannot test "${url}" and "${program}" at once: name one`);
  }
  if (program !== undefined) {
    const { playProgram } = await import("./play-program.ts");
    return playProgram(program, host, signal);
  }
  if (url === undefined) {
    throw new Error(
      "nothing to test: give the URL of a server, or --program <binding.json>",
    );
  }
  return playServer(url, options, host, signal);
}

function resultLine(result: CaseResult, stdout: Writable): string {
  const { id, requirements } = result;
  const look = {
    passed: "green",
    failed: "red",
    skipped: "dim",
    reading: "dim",
  } as const;
  const reading = readingOf(result);
  const status = reading === undefined ? result.status : "reading";
  const reason = reading ?? result.reason;
  const why = reason === undefined ? "" : `\n    ${visibleText(reason)}`;
  const mark = styleText(look[status], status.padEnd(8), { stream: stdout });
  return `${mark} ${id.padEnd(44)} ${requirements.join(" ")}${why}`;
}
