import { durationMs } from "@bufbuild/protobuf/wkt";
import { type CaseReport, Outcome, type Report } from "../protos.ts";
import { REQUIREMENTS } from "../requirement/requirements.ts";
import { requestText, responseText } from "./exchange-text.ts";
import { OUTCOME_NAMES, RED_OUTCOMES, suiteTitle } from "./table.ts";

/**
 * Renders reports as JUnit XML: a test suite per report and a test case per
 * case, with the exchanges of a failure as its text.
 */
export function junitXml(reports: readonly Report[]): string {
  const suites = reports.map((report) => {
    const { subject, cases, time } = report;
    const name = suiteTitle(report);
    const seconds = cases.reduce((sum, item) => sum + secondsOf(item), 0);
    const counts = {
      name,
      hostname: subject,
      tests: cases.length,
      failures: cases.filter(({ outcome }) => RED_OUTCOMES.includes(outcome))
        .length,
      skipped: cases.filter(({ outcome }) => SKIPPED_OUTCOMES.includes(outcome))
        .length,
      errors: 0,
      time: seconds.toFixed(3),
      timestamp: new Date(Number(time?.seconds ?? 0n) * 1000)
        .toISOString()
        .slice(0, 19),
    };
    return `  <testsuite ${attributes(counts)}>\n${cases.map((item) => caseXml(item, name)).join("\n")}\n  </testsuite>`;
  });
  const content = suites.join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="conformance">\n${content}\n</testsuites>\n`;
}

function caseXml(item: CaseReport, classname: string): string {
  const open = `    <testcase ${attributes({ name: item.id, classname, time: secondsOf(item).toFixed(3) })}`;
  const warnings = item.warnings.map((warning) => `warning: ${warning}\n`);
  const output =
    warnings.length === 0
      ? ""
      : `<system-out>${escapeXml(warnings.join(""))}</system-out>`;
  if (SKIPPED_OUTCOMES.includes(item.outcome)) {
    const outcome =
      item.outcome === Outcome.SKIPPED
        ? ""
        : `${OUTCOME_NAMES[item.outcome]}: `;
    const message = `${outcome}${item.reason || failureReasons(item).join("; ")}`;
    return `${open}><skipped ${attributes({ message })}/>${output}</testcase>`;
  }
  if (!RED_OUTCOMES.includes(item.outcome)) {
    return output === "" ? `${open}/>` : `${open}>${output}</testcase>`;
  }
  const reasons = [...failureReasons(item), item.reason];
  const given = reasons.filter((reason) => reason !== "");
  // Lines that were sent start with `>`, received ones with `<`.
  const exchanges = item.exchanges.map((record) => {
    const [sent, received] = [requestText(record), responseText(record)];
    return `> ${sent.replaceAll("\n", "\n> ")}\n< ${received.replaceAll("\n", "\n< ")}`;
  });
  const text = [...given, ...exchanges].join("\n\n");
  const failure = `<failure ${attributes({ message: given[0] ?? "failed" })}>${escapeXml(text)}</failure>`;
  return `${open}>${failure}${output}</testcase>`;
}

/** The reasons of the failures of a case, with the requirements and sources. */
function failureReasons({ failures }: CaseReport): string[] {
  return failures.map(({ requirements, reason }) => {
    const cited = requirements.map((id) => {
      const source = REQUIREMENTS[id]?.source;
      return source === undefined ? id : `${id} (${source})`;
    });
    return `${cited.join(", ")}: ${reason}`;
  });
}

const SKIPPED_OUTCOMES: readonly Outcome[] = [
  Outcome.SKIPPED,
  Outcome.KNOWN_FAILING,
  Outcome.WARNING,
];

function secondsOf({ duration }: CaseReport): number {
  return duration ? durationMs(duration) / 1000 : 0;
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${escapeXml(String(value))}"`)
    .join(" ");
}

/**
 * Escapes a text for XML. Characters that XML 1.0 cannot contain are shown as
 * their code.
 */
function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(
      /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu,
      (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
    )
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
