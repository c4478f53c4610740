import { readFile, writeFile } from "node:fs/promises";
import { toJson, toJsonString } from "@bufbuild/protobuf";
import {
  type BindingName,
  type CaseResult,
  createReport,
  findSubject,
  htmlPage,
  isClean,
  junitXml,
  type ProtocolVersion,
  readKnownFailing,
  reportTable,
  runPushSuite,
  runServerSuite,
  type Subject,
} from "@devtool/conformance";
import { CaseReportSchema, type KnownFailing, type Report, ReportSchema } from "@devtool/schema/conformance";
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
  /** Where notifications are received, as `host:port`: tests them too. */
  readonly push?: string;
  /** The `binding.json` of a program to test in place of a server. */
  readonly program?: string;
  /** The version of A2A to speak. */
  readonly a2a?: ProtocolVersion;
  /** The binding to speak. */
  readonly binding?: BindingName;
  /** A file of prompts, by the name of the behaviour. */
  readonly prompts?: string;
  /** How the ids of the cases to play begin. */
  readonly only?: string;
  /** A file of cases that are known to fail. */
  readonly knownFailing?: string;
  readonly reportHtml?: string;
  readonly reportJunit?: string;
  readonly reportJson?: string;
}

/** `devtool conformance`: tests a server or a program, and tells which requirements it meets. */
export async function conformance(url: string | undefined, options: ConformanceOptions, io: Io): Promise<number> {
  if (options.program !== undefined && url !== undefined)
    throw new Error(`cannot test "${url}" and "${options.program}" at once: name one`);
  if (options.program !== undefined) return conformanceOfProgram(options.program, options, io);
  if (url === undefined) throw new Error("nothing to test: give the URL of a server, or --program <binding.json>");
  return conformanceOfServer(url, options, io);
}

async function conformanceOfProgram(program: string, { json }: ConformanceOptions, io: Io): Promise<number> {
  const { testProgram } = await import("./conformance-program.ts");
  using interrupt = interruptSignal(io);
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const result of await testProgram(program, interrupt.signal)) {
    counts[result.status]++;
    writeLine(io.stdout, json ? JSON.stringify(result) : lineOf(result, io));
  }
  const total = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`;
  writeLine(json ? io.stderr : io.stdout, total);
  return counts.failed > 0 ? ExitCode.FAILED : ExitCode.OK;
}

async function conformanceOfServer(url: string, options: ConformanceOptions, io: Io): Promise<number> {
  const known =
    options.knownFailing === undefined ? undefined : readKnownFailing(await readFile(options.knownFailing, "utf8"));
  const prompts = options.prompts === undefined ? undefined : promptsIn(await readFile(options.prompts, "utf8"));
  const token = (await findServer({ ...options, url }, io))?.token ?? "";
  const { a2a: protocolVersion, binding } = options;
  const wanted = { url, token, ...(protocolVersion && { protocolVersion }), ...(binding && { binding }) };
  using interrupt = interruptSignal(io);
  const subject = await findSubject(wanted, interrupt.signal);
  const results: CaseResult[] = [];
  for await (const result of serverResults(subject, { ...options, prompts }, interrupt.signal)) {
    results.push(result);
    if (!options.json) writeLine(io.stdout, lineOf(result, io));
  }
  const report = reportOf(subject, results, known);
  if (options.json) for (const item of report.cases) writeLine(io.stdout, toJsonString(CaseReportSchema, item));
  else writeLine(io.stdout, `\n${visible(reportTable(report))}`);
  await writeReports(report, options);
  return isClean(report) ? ExitCode.OK : ExitCode.FAILED;
}

async function* serverResults(
  subject: Subject,
  { prompts, only, push }: Pick<ConformanceOptions, "only" | "push"> & { readonly prompts: Prompts | undefined },
  signal: AbortSignal,
): AsyncIterable<CaseResult> {
  const known = prompts && { prompts };
  yield* runServerSuite(subject, signal, { ...known, ...(only !== undefined && { only }) });
  if (push !== undefined) yield* runPushSuite(subject, signal, { receiver: push, ...known });
}

type Prompts = Readonly<Record<string, string>>;

function reportOf(subject: Subject, results: readonly CaseResult[], known: KnownFailing | undefined): Report {
  const suite = `A2A ${subject.binding.protocolVersion} server`;
  return createReport({ suite, subject, results, time: new Date(), ...(known && { known }) });
}

async function writeReports(
  report: Report,
  { reportHtml, reportJunit, reportJson }: ConformanceOptions,
): Promise<void> {
  if (reportHtml !== undefined) await writeFile(reportHtml, htmlPage([report]));
  if (reportJunit !== undefined) await writeFile(reportJunit, junitXml([report]));
  const json = JSON.stringify(toJson(ReportSchema, report), undefined, 2);
  if (reportJson !== undefined) await writeFile(reportJson, `${json}\n`);
}

function promptsIn(text: string): Prompts {
  const entries = Object.entries(JSON.parse(text)).map(([name, prompt]): [string, string] => {
    if (typeof prompt !== "string") throw new Error(`prompt "${name}" must be a text`);
    return [name, prompt];
  });
  return Object.fromEntries(entries);
}

function lineOf({ id, status, requirements, reason }: CaseResult, io: Io): string {
  const paint = paintFor(io);
  const look = { passed: "good", failed: "bad", skipped: "dim" } as const;
  const why = reason === undefined ? "" : `\n    ${visible(reason)}`;
  return `${paint(look[status], status.padEnd(8))} ${id.padEnd(44)} ${requirements.join(" ")}${why}`;
}
