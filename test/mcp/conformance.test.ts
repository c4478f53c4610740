import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { rolldown } from "rolldown";
import { beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI, LEFT_TO_DEEP } from "../depth.ts";
import { serverProgram } from "./servers.ts";

/** The suite's own program: it plays the server and judges the client. */
const SUITE = join(dirname(serverProgram("conformance")), "index.js");
const CLIENT = fileURLToPath(new URL("conformance-client.ts", import.meta.url));
/** The scenarios of 2026-07-28 alone. */
const NEW = [
  "request-metadata",
  "auth/resource-mismatch",
  "auth/offline-access-scope",
  "auth/offline-access-not-supported",
  "auth/authorization-server-migration",
  "auth/iss-supported",
  "auth/iss-not-advertised",
  "auth/iss-supported-missing",
  "auth/iss-wrong-issuer",
  "auth/iss-unexpected",
  "auth/iss-normalized",
  "auth/metadata-issuer-mismatch",
  "sep-2322-client-request-state",
  "http-standard-headers",
  "http-custom-headers",
  "http-invalid-tool-headers",
  "json-schema-ref-no-deref",
];
/** The scenarios that are played in 2025-11-25 and in 2026-07-28. */
const BOTH = [
  "tools_call",
  "auth/metadata-default",
  "auth/metadata-var1",
  "auth/metadata-var2",
  "auth/metadata-var3",
  "auth/basic-cimd",
  "auth/scope-from-www-authenticate",
  "auth/scope-from-scopes-supported",
  "auth/scope-omitted-when-undefined",
  "auth/scope-step-up",
  "auth/scope-retry-limit",
  "auth/token-endpoint-auth-basic",
  "auth/token-endpoint-auth-post",
  "auth/token-endpoint-auth-none",
  "auth/pre-registration",
  "json-schema-2020-12-preservation",
];
/** The scenarios of older revisions, and of extensions. */
const OTHERS = [
  "initialize",
  "elicitation-sep1034-client-defaults",
  "sse-retry",
  "auth/2025-03-26-oauth-metadata-backcompat",
  "auth/2025-03-26-oauth-endpoint-fallback",
  "auth/client-credentials-jwt",
  "auth/client-credentials-basic",
  "auth/enterprise-managed-authorization",
];

/** Scenarios of clients that read skills, which find nothing to check. */
const UNCHECKED = [
  "sep-2640-client-no-prefetch",
  "sep-2640-client-verify-digest",
  "sep-2640-client-verify-size",
  "sep-2640-client-verify-frontmatter",
];

/**
 * Scenarios that we fail on purpose, and why. One that begins to pass must
 * leave this list.
 */
const FAILING = {
  // Drafts of extensions: our tokens are bearer tokens, and nothing gives
  // devtool the identity of a workload.
  "auth/dpop": "DPoP",
  "auth/dpop-nonce": "DPoP",
  "auth/wif-jwt-bearer": "urn:ietf:params:oauth:grant-type:jwt-bearer",
};

/** A scenario in one of its revisions. */
interface Play {
  readonly scenario: string;
  readonly revision: string;
}

/** The suite plays a scenario in the newest revision that is not a draft. */
const DEFAULT_REVISION = "";

/** Those of both revisions take turns in which of them CI plays them. */
const IN_BOTH = BOTH.flatMap((scenario, index) =>
  ["2026-07-28", "2025-11-25"].map((revision, at) => {
    return { scenario, revision, isInCi: at === index % 2 };
  }),
);

/** Each scenario once. */
const PLAYED = [
  ...NEW.map((scenario) => ({ scenario, revision: "2026-07-28" })),
  ...IN_BOTH.filter(({ isInCi }) => isInCi),
  ...OTHERS.map((scenario) => ({ scenario, revision: DEFAULT_REVISION })),
];

describe.skipIf(LEFT_TO_CI !== "")(
  `the client scenarios of the MCP conformance suite${LEFT_TO_CI}`,
  () => {
    let results: string;

    beforeAll(async () => {
      results = temporaryDirectory();
      await bundleClient(join(results, "client.mjs"));
    });

    it("are each in one of the lists", async () => {
      const { output } = await runSuite(["list", "--client"], results);
      const scenarios = [...output.matchAll(/^ {2}- (\S+)/gm)].map(
        ([, name]) => name,
      );
      expect(scenarios.toSorted()).toEqual(
        [
          ...[...NEW, ...BOTH, ...OTHERS, ...UNCHECKED],
          ...Object.keys(FAILING),
        ].toSorted(),
      );
    });

    it.each(PLAYED)("$scenario passes $revision", expectPassed);

    it
      .skipIf(LEFT_TO_DEEP !== "")
      .each(IN_BOTH.filter(({ isInCi }) => !isInCi))(
      `$scenario passes $revision${LEFT_TO_DEEP}`,
      expectPassed,
    );

    async function expectPassed({ scenario, revision }: Play): Promise<void> {
      const { exitCode, output } = await runScenario(
        scenario,
        results,
        revision,
      );
      expect(exitCode, output).toBe(0);
      expect(output).toContain("OVERALL: PASSED");
    }

    it.each(Object.entries(FAILING))(
      "%s still fails",
      async (scenario, why) => {
        const { exitCode, output } = await runScenario(scenario, results);
        expect(exitCode).toBe(1);
        expect(output).toContain(why);
      },
    );
  },
);

/** The exit code and the output of one run of the suite's program. */
interface SuiteRun {
  readonly exitCode: number;
  readonly output: string;
}

function runScenario(
  scenario: string,
  directory: string,
  revision = DEFAULT_REVISION,
): Promise<SuiteRun> {
  const command = [process.execPath, join(directory, "client.mjs")]
    .map((word) => `'${word}'`)
    .join(" ");
  return runSuite(
    [
      ...["client", "--scenario", scenario, "--command", command, "--verbose"],
      ...["--timeout", "120000"],
      ...(revision === DEFAULT_REVISION ? [] : ["--spec-version", revision]),
    ],
    directory,
  );
}

/**
 * Bundles the client into one file, because a new process loads it for each
 * scenario.
 */
async function bundleClient(file: string): Promise<void> {
  const conditionNames = ["@devtool/source", "node", "import", "default"];
  await using build = await rolldown({
    input: CLIENT,
    platform: "node",
    resolve: { conditionNames },
  });
  await build.write({ file, format: "esm", codeSplitting: false });
}

/** Runs the suite's program, which writes its results below `cwd`. */
function runSuite(args: readonly string[], cwd: string): Promise<SuiteRun> {
  return new Promise((resolve) => {
    const env = { ...process.env, NODE_COMPILE_CACHE: join(cwd, "compiled") };
    const options = { cwd, env, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(
      process.execPath,
      [SUITE, ...args],
      options,
      (_error, stdout, stderr) =>
        resolve({ exitCode: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}
