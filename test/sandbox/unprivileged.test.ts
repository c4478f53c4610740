import { execFile, spawnSync } from "node:child_process";
import { chownSync, existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { DEPTH, LEFT_TO_CI } from "../depth.ts";

/** The user and the group `nobody`. */
const NOBODY = 65534;
const root = fileURLToPath(new URL("../..", import.meta.url));
const vitest = join(root, "node_modules/vitest/vitest.mjs");
const problem = whyNot();
const why = problem === "" ? LEFT_TO_CI : ` (skipped: ${problem})`;

describe.skipIf(why !== "")(
  `the sandbox, for a user without privileges (S11)${why}`,
  () => {
    it("lets no escape out, and is what holds them", async ({ skip }) => {
      const report = await runAsNobody("lets none of|is what holds them");
      const ran = report.testResults.flatMap(
        ({ assertionResults }) => assertionResults,
      );
      const notice = ran
        .map(({ fullName }) => /\(skipped: (.*?)\)/.exec(fullName)?.[1])
        .find((text) => text);
      if (notice !== undefined) skip(notice);
      const chosen = ran
        .filter(({ status }) => status !== "skipped")
        .map(({ title, failureMessages }) => [title, ...failureMessages]);
      expect(chosen).toEqual([
        [expect.stringMatching(/^lets none of \d+ escapes out$/)],
        [expect.stringMatching(/^is what holds them/)],
      ]);
    });
  },
);

/** Why it cannot be tried here; empty when it can. */
function whyNot(): string {
  if (process.getuid?.() !== 0) {
    return "this user has no privileges, so test/sandbox/sandbox.journey.test.ts is that test";
  }
  if (spawnSync("setpriv", ["--version"]).status !== 0) {
    return "there is no setpriv";
  }
  const parents = [process.execPath, vitest].flatMap(directoriesAbove);
  const closed = parents.find(
    (directory) => (statSync(directory).mode & 0o005) !== 0o005,
  );
  return closed === undefined ? "" : `others may not read ${closed}`;
}

function directoriesAbove(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...directoriesAbove(parent)];
}

/** The part of vitest's report that this test reads. */
interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly title: string;
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/**
 * Runs those tests of the sandbox that a pattern names as `nobody`, with a home
 * of its own.
 */
async function runAsNobody(pattern: string): Promise<Report> {
  const home = temporaryDirectory();
  chownSync(home, NOBODY, NOBODY);
  const drop = [
    `--reuid=${NOBODY}`,
    `--regid=${NOBODY}`,
    "--clear-groups",
    "--no-new-privs",
    "--",
  ];
  // The config is not bundled: that would write a file into the checkout.
  const test = [
    vitest,
    "run",
    "test/sandbox/sandbox.journey.test.ts",
    "-t",
    pattern,
    "--configLoader=runner",
  ];
  const result = join(home, "result.json");
  const reporter = ["--reporter=json", `--outputFile=${result}`];
  const env = {
    HOME: home,
    PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
    DEVTOOL_DEPTH: DEPTH,
  };
  const args = [...drop, process.execPath, ...test, ...reporter];
  // When a test fails so does the command, and the report says which.
  const failure = await promisify(execFile)("setpriv", args, {
    cwd: root,
    env,
  }).catch((reason: unknown) => reason);
  if (!existsSync(result)) {
    throw new Error("the tests did not run", { cause: failure });
  }
  return JSON.parse(readFileSync(result, "utf8"));
}
