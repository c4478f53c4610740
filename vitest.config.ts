import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const report = process.env.DEVTOOL_TEST_REPORT;
const JOURNEYS = "test/**/*.journey.test.ts";
const INTEROP = "test/interop/*.test.ts";
const MEMORY = "test/memory/*.test.ts";
const COMPILED = fileURLToPath(
  new URL("node_modules/.cache/compiled", import.meta.url),
);

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
    // once in place of once a file. What measures the memory of its process has
    // that for itself.
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["packages/*/{src,test}/**/*.test.ts"],
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: "journeys", include: [JOURNEYS], isolate: false },
      },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: [JOURNEYS, INTEROP, MEMORY],
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: "interop", include: [INTEROP], isolate: false },
      },
      { extends: true, test: { name: "memory", include: [MEMORY] } },
    ],
    globalSetup: "test/temporary-directory.ts",
    // An error says what was found, not only how many elements it has.
    chaiConfig: { truncateThreshold: 2_000 },
    setupFiles: "test/after-each-file.ts",
    ...(report !== undefined && {
      reporters: ["default", "json"],
      outputFile: { json: report },
    }),
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
