import { defineConfig } from "vitest/config";

const report = process.env.DEVTOOL_TEST_REPORT;
const conditions = ["@devtool/source", "module", "node", "import", "default"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
    ...(report !== undefined && { reporters: ["default", "json"], outputFile: { json: report } }),
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
