import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";

const SCRIPT = fileURLToPath(
  new URL("../../scripts/failed-tests.ts", import.meta.url),
);
const PASSED = {
  fullName: "a task ends",
  status: "passed",
  failureMessages: [],
};
const FAILED = {
  fullName: "a task starts",
  status: "failed",
  failureMessages: ["Error: no task", "    at start"],
};

describe("the end of a CI run", () => {
  let directory: string;
  beforeEach(() => {
    directory = temporaryDirectory();
  });

  it("names each test that failed with its error, and counts the tests of all reports", () => {
    const file = {
      name: "/clone/test/task.test.ts",
      status: "failed",
      message: "",
      assertionResults: [PASSED, FAILED],
    };
    const others = {
      name: "/clone/test/push/push.journey.test.ts",
      status: "passed",
      message: "",
      assertionResults: [PASSED],
    };
    expect(printed(report([1, 1, 3], file), report([1, 0, 2], others))).toBe(
      [
        "FAILED /clone/test/task.test.ts > a task starts",
        "    Error: no task",
        "        at start",
        "2 passed, 1 failed, 5 skipped",
        "",
      ].join("\n"),
    );
  });

  it("names a file that could not be run, of which no test failed", () => {
    const message = "SyntaxError: unexpected token";
    const file = {
      name: "/clone/test/task.test.ts",
      status: "failed",
      message,
      assertionResults: [],
    };
    expect(printed(report([0, 0, 0], file))).toBe(
      `FAILED /clone/test/task.test.ts\n    ${message}\n0 passed, 0 failed, 0 skipped\n`,
    );
  });

  it("shows the first twelve lines of an error, and nothing of a test without messages", () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);
    const long = { ...FAILED, failureMessages: [lines.join("\n")] };
    const silent = {
      ...FAILED,
      fullName: "a task says nothing",
      failureMessages: null,
    };
    const file = {
      name: "/clone/a.test.ts",
      status: "failed",
      message: "",
      assertionResults: [long, silent],
    };
    const text = printed(report([0, 2, 0], file));
    expect(text).toContain(
      "line 12\nFAILED /clone/a.test.ts > a task says nothing\n",
    );
    expect(text).not.toContain("line 13");
  });

  it("fails where a report is missing", () => {
    expect(() => run(join(directory, "missing.json"))).toThrow(/ENOENT/);
  });

  function printed(...reports: readonly object[]): string {
    const paths = reports.map((one, index) => {
      const path = join(directory, `${index}.json`);
      writeFileSync(path, JSON.stringify(one));
      return path;
    });
    return run(...paths);
  }
});

function run(...paths: readonly string[]): string {
  return execFileSync(process.execPath, [SCRIPT, ...paths], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function report(
  counts: readonly [passed: number, failed: number, skipped: number],
  file: object,
): object {
  const [numPassedTests, numFailedTests, numPendingTests] = counts;
  return {
    numPassedTests,
    numFailedTests,
    numPendingTests,
    testResults: [file],
  };
}
