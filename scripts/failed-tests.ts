/**
 * Prints a summary of the test runner's JSON reports (the arguments) at the end
 * of a CI run, where only the end of a log is shown: each failed test with the
 * first lines of its error, then the number of tests that passed, failed and
 * were skipped.
 */
import { readFileSync } from "node:fs";

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly TestFile[];
}

interface TestFile {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly TestCase[];
}

interface TestCase {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[] | null;
}

const MAX_LINES = 12;
const reports = process.argv
  .slice(2)
  .map((path): Report => JSON.parse(readFileSync(path, "utf8")));

for (const file of reports.flatMap((report) => report.testResults)) {
  const failed = file.assertionResults.filter(
    (test) => test.status === "failed",
  );
  for (const { fullName, failureMessages } of failed) {
    print(`${file.name} > ${fullName}`, failureMessages ?? []);
  }
  if (file.status === "failed" && failed.length === 0) {
    print(file.name, [file.message]);
  }
}

const sum = (count: (report: Report) => number): number =>
  reports.reduce((all, report) => all + count(report), 0);
const passed = sum((report) => report.numPassedTests);
const failed = sum((report) => report.numFailedTests);
const skipped = sum((report) => report.numPendingTests);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);

function print(name: string, messages: readonly string[]): void {
  const lines = messages.join("\n").split("\n").slice(0, MAX_LINES);
  console.log([`FAILED ${name}`, ...lines].join("\n    "));
}
