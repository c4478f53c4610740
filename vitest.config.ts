import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import type { TestSequencer, TestSpecification } from "vitest/node";
import { changedFiles, suitesOf, unchangedAreas } from "./scripts/areas.ts";

const report = process.env.DEVTOOL_TEST_REPORT;

/**
 * What takes long, in CI or in a quick run, the longest first: whoever began
 * with these last would wait for them alone.
 */
const LONG = [
  "test/fleet-conformance.test.ts",
  "test/conformance-self.test.ts",
  "test/crash.test.ts",
  "test/fleet-storm.test.ts",
  "test/failpoints.test.ts",
  "test/packed.test.ts",
  "test/push-suite.test.ts",
  "test/acp-peers.test.ts",
  "test/conformance-peers.test.ts",
  "test/interop.test.ts",
  "test/bindings.test.ts",
  "test/console.test.ts",
  "test/codex.test.ts",
  "test/hostile.test.ts",
  "test/hostile-frames.test.ts",
  "test/edits-crash.test.ts",
  "test/acp-agent-kill.test.ts",
  "test/conformance.test.ts",
  "test/client-suite.test.ts",
  "test/packed-server.test.ts",
  "test/packed-store.test.ts",
  "test/packed-alone.test.ts",
  "test/published-command.test.ts",
  "test/sandbox.test.ts",
  "test/console-questions.test.ts",
  "test/workspace-attacks.test.ts",
  "test/acp-port-command.test.ts",
  "test/server-trust.test.ts",
  "test/readme.test.ts",
  "test/terminal.test.ts",
  "test/console-command.test.ts",
  "test/fleet-agent-sessions.test.ts",
  "test/server-restart.test.ts",
  "test/activation.test.ts",
  "test/acp-agent.test.ts",
  "test/modified-arguments-agents.test.ts",
  "test/modified-arguments.test.ts",
  "test/fleet-workspaces.test.ts",
  "test/acp-both-ways.test.ts",
  "test/scenarios.test.ts",
  "test/model-chaos.test.ts",
  "packages/postgres/src/postgres-store.test.ts",
  "test/console-workspace.test.ts",
  "test/console-views.test.ts",
  "test/fleet-copies.test.ts",
  "test/mcp-chaos.test.ts",
  "test/mcp-conformance.test.ts",
  "test/task-view.test.ts",
  "test/resume.test.ts",
  "test/duplicates.test.ts",
  "test/fleet-decisions.test.ts",
  "test/audit.test.ts",
  "test/exec-policy-differential.test.ts",
  "packages/coding-agent/src/tool/builtin/files.test.ts",
  "packages/server/test/store-crash.test.ts",
  "packages/sandbox/src/enclosing-repository.test.ts",
  "test/vertex.test.ts",
  "packages/coding-agent/src/tool/checkpoint/checkpoints.test.ts",
  "test/acp-agent-actions.test.ts",
  "test/fleet-push.test.ts",
  "test/tck-profile.test.ts",
  "test/fleet-approvals.test.ts",
  "test/acp-agent-questions.test.ts",
  "test/acp-port.test.ts",
  "packages/coding-agent/src/tool/builtin/run-shell-command-sandbox.test.ts",
  "test/fleet-takeover.test.ts",
  "test/kill-demo.test.ts",
  "test/browser.test.ts",
  "test/proxy.test.ts",
  "test/idle-streams.test.ts",
  "packages/sandbox/src/guarded-places.test.ts",
  "packages/sandbox/src/leftovers.test.ts",
];

/**
 * Those whose rounds every run of CI plays: kills, bodies that nobody expects,
 * and the faults that the kit must notice.
 */
const ALWAYS = ["crash", "hostile", "hostile-frames", "conformance-self"].map(
  (name) => `test/${name}.test.ts`,
);

/** What measures its own process, which is its alone. */
const MEASURED = [
  "test/push-outage.test.ts",
  "test/idle-streams.test.ts",
  "test/mcp-chaos.test.ts",
];

/**
 * What plays with bindings, peers and a registry, which CI builds and installs
 * beside the other tests.
 */
const FOREIGN = [
  "bindings",
  "interop",
  "conformance-peers",
  "gemini-cli",
  "gemini-cli-client",
  "acp-port-clients",
  "acp-peers",
  "packed-acp",
  "codex-peer",
  "codex-two-ways",
  "publish",
].map((name) => `test/${name}.test.ts`);

/**
 * All tests. Those of packages are beside the others in one project: its
 * workers load the modules that both need once.
 */
const TESTS = [
  "packages/*/src/**/*.test.ts",
  "packages/*/test/**/*.test.ts",
  "test/**/*.test.ts",
];

const ROOT = fileURLToPath(new URL(".", import.meta.url));
const COMPILED = fileURLToPath(
  new URL("node_modules/.cache/compiled", import.meta.url),
);

class LongestFirst implements TestSequencer {
  shard(files: TestSpecification[]): TestSpecification[] {
    return files;
  }

  sort(files: TestSpecification[]): TestSpecification[] {
    return files.toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const index = LONG.findIndex((path) => moduleId.endsWith(path));
  return index < 0 ? LONG.length : index;
}

/**
 * The suites that `pnpm test` leaves to CI (`DEVTOOL_AREAS=changed`): those of
 * areas of which nothing has changed since `main`, which CI has proved. Any
 * other run plays all.
 */
function suitesOfUnchangedAreas(): readonly string[] {
  const changed =
    process.env.DEVTOOL_AREAS === "changed" ? changedFiles() : undefined;
  if (changed === undefined) return [];
  const areas = unchangedAreas(changed);
  const suites = areas.flatMap((area) =>
    suitesOf(area, globSync(TESTS, { cwd: ROOT })),
  );
  console.info(
    `SKIPPED ${suites.length} suites of ${areas.join(", ")}: nothing of them (scripts/areas.ts) has changed, and .ci/run plays them`,
  );
  return suites;
}

/** The suites that are played with few rounds, and the seed that drew them. */
interface Brief {
  readonly suites: readonly string[];
  readonly seed: number;
}

/**
 * Draws the suites that this run plays with few rounds, as a quick run does:
 * all but one in `DEVTOOL_FULL_SUITES` (default: 1, which plays all in full).
 * The seed draws others each time.
 */
function drawBrief(): Brief {
  const { env } = process;
  const oneIn = wholeNumber(
    "DEVTOOL_FULL_SUITES",
    env.DEVTOOL_FULL_SUITES ?? "1",
    1,
  );
  // Kept for when this file is loaded again.
  env.DEVTOOL_FULL_SEED ??= env.DEVTOOL_SEED ?? String(Date.now() % 1_000_000);
  const seed = wholeNumber("DEVTOOL_FULL_SEED", env.DEVTOOL_FULL_SEED, 0);
  // The long ones first, so that each draw has its share of them.
  const all = new Set([...LONG, ...globSync(TESTS, { cwd: ROOT }).toSorted()]);
  const drawn = [...all].filter(
    (path) => ![...ALWAYS, ...FOREIGN, ...MEASURED].includes(path),
  );
  const suites = drawn.filter((_path, index) => (index + seed) % oneIn !== 0);
  if (suites.length > 0) {
    const full = LONG.filter(
      (path) => drawn.includes(path) && !suites.includes(path),
    );
    console.info(
      `one in ${oneIn} suites is played in full, the others with few rounds; of the long ones these are:\n${full.join("\n")}\n` +
        `DEVTOOL_FULL_SEED=${seed} draws the same ones, pnpm test:deep plays all`,
    );
  }
  return { suites, seed };
}

function wholeNumber(variable: string, text: string, least: number): number {
  if (/^\d{1,15}$/.test(text) && Number(text) >= least) return Number(text);
  throw new Error(
    `${variable} is "${text}": give a whole number from ${least}`,
  );
}

const LEFT_OUT = suitesOfUnchangedAreas();
const BRIEF = drawBrief();
const briefProject = {
  extends: true as const,
  test: {
    name: "brief",
    include: [...BRIEF.suites],
    isolate: false,
    env: {
      DEVTOOL_DEPTH: "quick",
      DEVTOOL_SEED: process.env.DEVTOOL_SEED ?? String(BRIEF.seed),
    },
  },
};

export default defineConfig({
  test: {
    // Node itself runs the sources, as it would run a package: Vite need not
    // transform each module first. What it transforms are the enums of the
    // schema.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: [
      "--conditions=@devtool/source",
      "--experimental-transform-types",
      "--disable-warning=ExperimentalWarning",
    ],
    // Files share nothing but what modules hold, and each worker loads those
    // once in place of once a file.
    projects: [
      {
        extends: true,
        test: { name: "measured", include: MEASURED, exclude: [...LEFT_OUT] },
      },
      {
        extends: true,
        test: {
          name: "whole",
          include: TESTS,
          exclude: [...MEASURED, ...FOREIGN, ...BRIEF.suites, ...LEFT_OUT],
          isolate: false,
        },
      },
      ...(BRIEF.suites.length === 0 ? [] : [briefProject]),
      {
        extends: true,
        test: {
          name: "foreign",
          include: FOREIGN,
          exclude: [...LEFT_OUT],
          isolate: false,
        },
      },
    ],
    ...(report !== undefined && {
      reporters: ["default", "json"],
      outputFile: { json: report },
    }),
    sequence: { sequencer: LongestFirst },
    // More than there are processors: many tests wait for processes and for
    // time to pass.
    maxWorkers: availableParallelism() + 2,
    // Tests that run side by side in a file wait most of the time, for answers
    // that do not come and for servers.
    maxConcurrency: 16,
    // Bounds for what hangs, generous: no test depends on how fast the machine
    // is.
    testTimeout: 180_000,
    // Tests start hundreds of processes of the same modules, which Node
    // compiles once so.
    env: { NODE_COMPILE_CACHE: COMPILED },
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
