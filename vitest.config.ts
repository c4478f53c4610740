import { defineConfig } from "vitest/config";
import type { TestSequencer, TestSpecification } from "vitest/node";

const report = process.env.DEVTOOL_TEST_REPORT;
const conditions = ["@devtool/source", "module", "node", "import", "default"];

/** What takes minutes, the longest first: whoever began with these last would wait for them alone. */
const LONG = [
  "test/hostile.test.ts",
  "test/hostile-frames.test.ts",
  "test/crash.test.ts",
  "test/edits-crash.test.ts",
  "test/mcp-conformance.test.ts",
  "test/conformance-self.test.ts",
  "test/mcp-chaos.test.ts",
];

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

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "packages",
          include: ["packages/*/src/**/*.test.ts", "packages/*/test/**/*.test.ts"],
          // They share nothing but what modules hold, and each worker loads those once in place of once a file.
          isolate: false,
        },
      },
      { extends: true, test: { name: "whole", include: ["test/**/*.test.ts"] } },
    ],
    ...(report !== undefined && { reporters: ["default", "json"], outputFile: { json: report } }),
    sequence: { sequencer: LongestFirst },
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
