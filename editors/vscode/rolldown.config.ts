import { join } from "node:path";
import { defineConfig } from "rolldown";
import { thirdPartyLicenses } from "../../scripts/third-party-licenses.ts";

export default defineConfig({
  input: "src/extension.ts",
  platform: "node",
  // The editor brings it.
  external: ["vscode"],
  // The Node of the oldest editor in `engines`.
  transform: { target: "node22" },
  resolve: {
    conditionNames: ["@devtool/source", "node", "default"],
    alias: { undici: join(import.meta.dirname, "no-undici.ts") },
  },
  output: {
    dir: "dist",
    cleanDir: true,
    format: "cjs",
    codeSplitting: false,
    comments: false,
    minify: { compress: true, mangle: false, codegen: true },
  },
  plugins: [thirdPartyLicenses("THIRD-PARTY-LICENSES.txt")],
});
