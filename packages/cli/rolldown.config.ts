import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { defineConfig, type Plugin, type RolldownOptions } from "rolldown";
import { thirdPartyLicenses } from "../../scripts/third-party-licenses.ts";
import { consoleFiles } from "./console-files.ts";

const require = createRequire(import.meta.url);
const INK = /\/ink-terminal\.tsx$/;
const GRAMMARS = [
  "tree-sitter-bash/tree-sitter-bash.wasm",
  "web-tree-sitter/web-tree-sitter.wasm",
].map((name) => require.resolve(name));
const LICENSES = thirdPartyLicenses("THIRD-PARTY-LICENSES.txt", GRAMMARS);

const HEADERS = join(import.meta.dirname, "src/plain-headers.ts");

// A call over plain HTTP needs neither Node's `fetch`, which its `Headers`
// loads, nor TLS and HTTP/2: together half of what `devtool tasks` took.
const connectOverHttp: Plugin[] = [
  {
    name: "connect-headers",
    transform: {
      filter: {
        id: /\/@connectrpc\/|\/server\/src\/transport\//,
        code: /\bnew Headers\(/,
      },
      handler: (code) =>
        `import { PlainHeaders as Headers } from ${JSON.stringify(HEADERS)};${code}`,
    },
  },
  {
    name: "connect-tls",
    transform: {
      filter: { id: /\/@connectrpc\/connect-node\// },
      handler: (code) =>
        code
          .replace(/^import \* as https?2? from "node:http(s|2)";$/gm, "")
          .replaceAll(
            /\b(https|http2)\.(?=connect\b|constants\b|request\b)/g,
            'process.getBuiltinModule("node:$1").',
          ),
    },
  },
];

// With a key, Google's SDK needs neither Google's credentials nor web sockets:
// a third of what the first turn loads of it.
const geminiWithKey: Plugin = {
  name: "gemini-with-key",
  transform: {
    filter: { id: /\/@google\/genai\/dist\/node\/index\.mjs$/ },
    handler: (code) =>
      code
        .replace(/^import .* from '(google-auth-library|ws)';$/gm, "")
        .replace(
          /\bnew GoogleAuth\b/,
          'new (require("google-auth-library").GoogleAuth)',
        )
        .replaceAll(/\bNodeWs\b/g, '(require("ws"))'),
  },
};

// Protobuf builds its descriptors at each start. Its own base64 reads a
// character at a time, it makes a prototype for each field of
// `descriptor.proto`, and it adds a file's dependency again for each file
// between the two: a third of what loading the messages took.
const quickDescriptors: Plugin = {
  name: "quick-descriptors",
  transform: {
    filter: {
      id: /\/@bufbuild\/protobuf\/dist\/esm\/(registry|codegenv2\/(boot|file))\.js$/,
    },
    handler(code) {
      const prototypes: string[] = [];
      const shared = code
        .replace("base64Decode(b64)", 'Buffer.from(b64, "base64")')
        .replace(
          /addFile\(file, skipTypes, withDeps\) \{/,
          "$& if (withDeps && files.has(file.proto.name)) return;",
        )
        .replaceAll(/(?<=Object\.create\()\{[^}]*\}/g, (fields) => {
          prototypes.push(`const PROTOTYPE_${prototypes.length} = ${fields};`);
          return `PROTOTYPE_${prototypes.length - 1}`;
        });
      return shared + prototypes.join("\n");
    },
  },
};

// The first test of `RGI_Emoji` compiles a pattern of thousands of sequences,
// which took as long as Node's own start. The chat draws lines, and no line is
// an emoji: each of these has a character that is shown as one by itself, or is
// asked to be one by U+FE0F (Unicode TR 51, ED-20 to ED-27).
const emojiWidth: Plugin = {
  name: "emoji-width",
  transform: {
    filter: { id: /\/string-width\/index\.js$/ },
    handler: (code) =>
      code.replace(
        "rgiEmojiRegex.test(segment)",
        "(/\\p{Emoji_Presentation}|\\uFE0F/u.test(segment) && $&)",
      ),
  },
};

// Rolldown exports each name of a chunk through a getter, a function more to
// compile at each start and to call at each use. What is declared once, at the
// top level, is exported as it is.
const plainExports: Plugin = {
  name: "plain-exports",
  renderChunk: (code) =>
    code.replaceAll(
      /^Object\.defineProperty\(exports, "(\w+)", \{\s+enumerable: true,\s+get: function \(\) \{\s+return (\w+);\s+\}\s+\}\);$/gm,
      (getter, name: string, value: string) =>
        new RegExp(
          `^(const|(async )?function\\*?|class) ${value}\\b`,
          "m",
        ).test(code)
          ? `exports.${name} = ${value};`
          : getter,
    ),
};

// What reads shell commands finds the two files that it loads beside it: their
// packages have 25 MB of prebuilt programs and sources for others.
const shellGrammar: Plugin = {
  name: "shell-grammar",
  transform: {
    filter: { id: /\/policy\/src\/shell\/tree-sitter-reader\.ts$/ },
    handler(code) {
      const found =
        /createRequire\(import\.meta\.url\)\.resolve\(\s*"[^"]*",?\s*\)/;
      if (!found.test(code)) this.error("the grammar is not found any more");
      const replaced = code.replace(
        found,
        'fileURLToPath(new URL("tree-sitter-bash.wasm", import.meta.url))',
      );
      return `${replaced}\nimport { fileURLToPath } from "node:url";`;
    },
  },
  generateBundle() {
    for (const path of GRAMMARS) {
      const source = readFileSync(path);
      this.emitFile({ type: "asset", fileName: basename(path), source });
    }
  },
};

const COMMON: RolldownOptions = {
  platform: "node",
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
    alias: {
      standardwebhooks: join(import.meta.dirname, "no-webhooks.ts"),
      // Its other form requires its files in a way that no bundler sees.
      "jsonc-parser": require.resolve("jsonc-parser/lib/esm/main.js"),
    },
  },
};

const OUTPUT = {
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
} as const;

// The command is built to a few files, because finding and reading modules
// takes most of the start. Code that only some commands need is in chunks of
// its own, which are loaded on demand. They are CommonJS, which Node links and
// evaluates in less time than ES modules (ADR 8).
const command = defineConfig({
  ...COMMON,
  input: "src/main.ts",
  // An operator may install it beside the command.
  external: ["@dbos-inc/dbos-sdk"],
  output: {
    ...OUTPUT,
    dir: "dist",
    cleanDir: true,
    format: "cjs",
    // For `.js`, Node looks for a package.json to each file.
    chunkFileNames: "[name]-[hash].cjs",
    // Otherwise a part of it ends up in one chunk with the server, which every
    // client command would load.
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        { name: "connect-node", test: /@connectrpc\/connect-node/ },
        { name: "protobuf", test: /@bufbuild\/protobuf/ },
        // Nearly every command reads most of these, and only servers the rest.
        {
          name: "messages",
          test: /schema\/src\/gen\/devtool\/v1alpha\/(?!(authentication|browser_access_service|command_file|error|event_row|inbox|log_line|server_config|signing_key|trust)_pb)/,
        },
        // Without what reads rules and TOML, which most servers have none of.
        {
          name: "policy",
          test: /policy\/src\/(?!(parse-policy-file|compile-rule|pattern|toml-problem)\.ts)/,
        },
        { name: "sandbox", test: /packages\/sandbox\/src\// },
      ],
    },
  },
  plugins: [
    {
      name: "command-files",
      resolveId: (source) =>
        INK.test(source) ? { id: "./ink-terminal.mjs", external: true } : null,
      generateBundle() {
        this.emitFile({
          type: "asset",
          fileName: "package.json",
          source: JSON.stringify({ type: "commonjs" }),
        });
      },
    },
    connectOverHttp,
    geminiWithKey,
    quickDescriptors,
    emojiWidth,
    plainExports,
    shellGrammar,
    LICENSES,
    // They include the licences of the packages in them.
    consoleFiles(join(import.meta.dirname, "../console/dist/page")),
  ],
});

// Ink's layout reads its WebAssembly from a data URL, by `fetch` where there is
// one: loading Node's took a quarter of the start of the chat.
const inkWithoutFetch: Plugin = {
  name: "ink-without-fetch",
  transform: {
    filter: { id: /\/yoga-layout\// },
    handler: (code) =>
      code.replaceAll(/"function"\s*!=\s*typeof fetch/g, "true"),
  },
};

// Ink and its layout await at their top level, which only ES modules can.
const ink = defineConfig({
  ...COMMON,
  input: "src/chat/ink-terminal.tsx",
  output: {
    ...OUTPUT,
    dir: "dist",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
  },
  plugins: [inkWithoutFetch, emojiWidth, LICENSES],
});

export default [command, ink];
