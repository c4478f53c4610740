import { join } from "node:path";
import { defineConfig } from "rolldown";
import { consoleFiles } from "./console-files.ts";
import { thirdPartyLicenses } from "./third-party-licenses.ts";

// The command is built to a few files, because finding and reading modules
// takes most of the start. Code that only some commands need is in chunks of
// its own, which are loaded on demand.
export default defineConfig({
  input: "src/main.ts",
  platform: "node",
  // These packages read files of their own, so they are not bundled.
  external: ["tree-sitter-bash", "web-tree-sitter"],
  // The oldest Node of `engines`: newer syntax, such as `await using`, is
  // transpiled for it. In production mode React has no development checks,
  // which makes it smaller and faster.
  transform: {
    target: "node22.19",
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
  },
  resolve: {
    // `import` and `require` are added as each is used.
    conditionNames: ["@devtool/source", "node", "default"],
    alias: { standardwebhooks: join(import.meta.dirname, "no-webhooks.ts") },
  },
  output: {
    dir: "dist",
    cleanDir: true,
    // For `.js`, Node looks for a package.json to each file.
    chunkFileNames: "[name]-[hash].mjs",
    sourcemap: true,
    sourcemapExcludeSources: true,
    // V8 keeps the text of each loaded file: without comments, and with one
    // byte for a character, which ASCII alone is sure to take.
    comments: false,
    minify: {
      compress: false,
      mangle: false,
      codegen: { asciiOnly: true, removeWhitespace: false },
    },
    // Otherwise a part of it ends up in one chunk with the server, which every
    // client command would load.
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        { name: "connect-node", test: /@connectrpc\/connect-node/ },
        // Nearly every command reads most of these.
        { name: "protobuf", test: /@bufbuild\/protobuf/ },
        {
          name: "messages",
          test: /schema\/src\/gen\/devtool\/v1alpha\//,
        },
      ],
    },
  },
  plugins: [
    thirdPartyLicenses("THIRD-PARTY-LICENSES.txt"),
    // They include the licences of the packages in them.
    consoleFiles(join(import.meta.dirname, "../console/dist/page")),
  ],
});
