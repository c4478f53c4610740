import { writeFile } from "node:fs/promises";
import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { create, toJson, toJsonString } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { visibleJson, visibleText } from "@devtool/internal/visible-text";
import type { CaseResult } from "../play/case-result.ts";
import {
  type CaseReport,
  CaseReportSchema,
  type KnownFailing,
  KnownFailingSchema,
  Level,
  Outcome,
  type Report,
  ReportSchema,
} from "../protos.ts";
import { badgeJson } from "../report/badge.ts";
import { createReport, isClean } from "../report/create-report.ts";
import { htmlPage } from "../report/html.ts";
import { junitXml } from "../report/junit.ts";
import { readKnownFailing } from "../report/known-failing.ts";
import { reportTable, SHORT_OUTCOME_NAMES } from "../report/table.ts";
import type { Subject } from "../subject/find-subject.ts";
import { promptsTemplate } from "../suites/prompts.ts";
import { assertWritable, readInput } from "./files.ts";
import type { Host } from "./host.ts";
import type { Play } from "./play.ts";
import { findServer, playServer, type ServerOptions } from "./play-server.ts";

/** The options of `devtool conformance`. */
export interface ConformanceOptions extends ServerOptions {
  /** The `binding.json` of a program to test in place of a server. */
  readonly program?: string;
  /** The command of a client to test in place of a server. */
  readonly client?: string;
  /** Where to write a file of prompts to fill in. Nothing is tested then. */
  readonly init?: string;
  /** The lowest level whose requirements decide the exit code. */
  readonly level: "must" | "should" | "may";
  readonly json?: true;
  /**
   * A file of cases that are known to fail. Replaces the list in a
   * `binding.json`.
   */
  readonly knownFailing?: string;
  readonly reportHtml?: string;
  readonly reportJunit?: string;
  readonly reportJson?: string;
  readonly reportBadge?: string;
}

/** The levels by the names of the option. */
const LEVELS: Readonly<Record<ConformanceOptions["level"], Level>> = {
  must: Level.MUST,
  should: Level.SHOULD,
  may: Level.MAY,
};

/**
 * Tests a server or a program, and reports which requirements it meets. Returns
 * the exit code: 0 if nothing failed, otherwise 1. Throws if it could not test.
 */
export async function runKit(
  url: string | undefined,
  options: ConformanceOptions,
  host: Host,
  signal: AbortSignal,
): Promise<number> {
  const { json, init, level } = options;
  const { stdout } = host;
  if (init !== undefined) {
    const asked = url && (await findServer(url, options, host, signal));
    await writeTemplate(init, asked ? asked.claims : new Set());
    stdout.write(`wrote ${init}: fill it in, and give it as --prompts\n`);
    return 0;
  }
  const known = await knownFailures(options);
  const { reportHtml, reportJunit, reportJson, reportBadge } = options;
  for (const path of [reportHtml, reportJunit, reportJson, reportBadge]) {
    if (path !== undefined) await assertWritable(path);
  }
  const {
    results: playing,
    notes,
    ...play
  } = await choosePlay(url, options, host, signal);
  const reportOn = (...results: readonly CaseResult[]): Report =>
    createReport({
      ...play,
      ...defined({ known }),
      level: LEVELS[level],
      results,
      time: new Date(),
    });
  if (!json) stdout.write(notes.map((note) => `${note}\n`).join(""));
  const results: CaseResult[] = [];
  for await (const result of playing) {
    results.push(result);
    const [item] = reportOn(result).cases;
    if (!json && item) stdout.write(`${resultLine(item, stdout)}\n`);
  }
  const report = reportOn(...results);
  if (json) {
    for (const item of report.cases) {
      const line = toJsonString(CaseReportSchema, item);
      const isTerminal = "isTTY" in stdout && stdout.isTTY === true;
      stdout.write(`${isTerminal ? visibleJson(line) : line}\n`);
    }
  } else {
    stdout.write(`\n${visibleText(reportTable(report))}\n`);
  }
  await writeReports(report, options);
  return isClean(report) ? 0 : 1;
}

async function writeReports(
  report: Report,
  { reportHtml, reportJunit, reportJson, reportBadge }: ConformanceOptions,
): Promise<void> {
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
  if (reportBadge !== undefined) {
    await writeFile(reportBadge, badgeJson(report));
  }
}

/**
 * Writes a file of prompts to fill in: the extension's too if an agent claims
 * it. Throws if there is such a file.
 */
async function writeTemplate(
  path: string,
  claims: Subject["claims"],
): Promise<void> {
  try {
    await writeFile(path, promptsTemplate(claims), { flag: "wx" });
  } catch (cause) {
    throw new Error(`cannot write "${path}": name a file that does not exist`, {
      cause,
    });
  }
}

/** Reads the cases that may fail, without those that `--only` leaves out. */
async function knownFailures({
  knownFailing,
  only = "",
}: ConformanceOptions): Promise<KnownFailing | undefined> {
  if (knownFailing === undefined) return undefined;
  const { failures } = await readInput(knownFailing, readKnownFailing);
  return create(KnownFailingSchema, {
    failures: failures.filter(({ id }) => id.startsWith(only)),
  });
}

/** Prepares the suites for the server or the program of the command line. */
async function choosePlay(
  url: string | undefined,
  options: ConformanceOptions,
  host: Host,
  signal: AbortSignal,
): Promise<Play> {
  const { program, client } = options;
  const other = program ?? client;
  if (other !== undefined && url !== undefined) {
    throw new Error(`cannot test "${url}" and "${other}" at once: name one`);
  }
  if (program !== undefined) {
    const { playProgram } = await import("./play-program.ts");
    return playProgram(program, { ...host, ...options }, signal);
  }
  if (client !== undefined) {
    const { playClient } = await import("./play-client.ts");
    return playClient(client, options, signal);
  }
  if (url === undefined) {
    throw new Error(
      "nothing to test: give the URL of a server, --program <binding.json>, or --client <command>",
    );
  }
  return playServer(url, options, host, signal);
}

function resultLine(item: CaseReport, stdout: Writable): string {
  const { id, requirements, outcome, failures, warnings } = item;
  const look = {
    [Outcome.PASSED]: "green",
    [Outcome.FAILED]: "red",
    [Outcome.PASSED_THOUGH_KNOWN]: "red",
    [Outcome.WARNING]: "yellow",
    [Outcome.KNOWN_FAILING]: "dim",
    [Outcome.SKIPPED]: "dim",
    [Outcome.UNSPECIFIED]: "dim",
  } as const;
  const reasons = failures.map(({ reason }) => reason);
  const reason = item.reason || reasons.join("\n");
  const lines = [
    ...(reason === "" ? [] : [reason]),
    ...warnings.map((warning) => `warning: ${warning}`),
  ];
  const why = lines.map((line) => `\n    ${visibleText(line)}`).join("");
  const name = SHORT_OUTCOME_NAMES[outcome].padEnd(8);
  const mark = styleText(look[outcome], name, { stream: stdout });
  return `${mark} ${id.padEnd(44)} ${requirements.join(" ")}${why}`;
}
