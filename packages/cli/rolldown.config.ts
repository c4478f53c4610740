import { join } from "node:path";
import { defineConfig } from "rolldown";
import { consoleFiles } from "./console-files.ts";
import { thirdPartyLicenses } from "./third-party-licenses.ts";

// The command comes as few files, since a start is mostly the finding and reading of modules. What only some runs need is
// in files of its own, which these load when they do.
export default defineConfig({
  input: "src/main.ts",
  platform: "node",
  // These read files of their own, so they stay packages.
  external: ["tree-sitter-bash", "web-tree-sitter"],
  // The oldest Node of `engines`: syntax that it cannot read, such as `await using`, is written in older words.
  // React is as quick and as small as it can be without its checks for developers.
  transform: { target: "node22.19", define: { "process.env.NODE_ENV": JSON.stringify("production") } },
  resolve: {
    // `import` and `require` are added as each is used.
    conditionNames: ["@devtool/source", "node", "default"],
    alias: {
      "node:http": join(import.meta.dirname, "node-http.ts"),
      standardwebhooks: join(import.meta.dirname, "no-webhooks.ts"),
    },
  },
  output: {
    dir: "dist",
    cleanDir: true,
    sourcemap: true,
    // Else a part of it stands in one file with the server, which each client would load.
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ name: "connect-node", test: /@connectrpc\/connect-node/ }],
    },
  },
  plugins: [
    thirdPartyLicenses("THIRD-PARTY-LICENSES.txt"),
    // With the licences of what is in them.
    consoleFiles(join(import.meta.dirname, "../console/dist/page")),
  ],
});
