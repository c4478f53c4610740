import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { codePathsBelow } from "../our-code.ts";
import {
  type Breach,
  breachesOf,
  type SourceFile,
} from "./architecture/breaches.ts";
import { idOf, publicNames, usedNames } from "./architecture/public-names.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

describe("the house", () => {
  it("is built as docs/architecture.md says", () => {
    const files = sourceFiles();
    expect(files.length).toBeGreaterThan(80);
    expect(breachesOf(files)).toEqual([]);
  });

  const breaches: readonly {
    readonly what: string;
    readonly file: SourceFile;
    readonly rule: Breach["rule"];
  }[] = [
    {
      what: "a stage that imports one above it",
      file: file(
        "task/x.ts",
        'import { a } from "../handler/task-handler.ts";',
      ),
      rule: "stage order",
    },
    {
      what: "a dialect that imports another",
      file: file(
        "transport/gemini-cli/x.ts",
        'import { a } from "../a2a-v03/frames.ts";',
      ),
      rule: "dialects",
    },
    ...["a2a.ts", "a2a-v03/x.ts", "connect/x.ts", "ag-ui/x.ts"].map((path) => ({
      what: `a dialect in ${path} that imports what others cannot`,
      file: file(
        `transport/${path}`,
        'const { a } = await import("../../handler/caller.ts");',
      ),
      rule: "dialect names" as const,
    })),
    {
      what: "shared machinery that knows a dialect",
      file: file(
        "transport/http/x.ts",
        'import { a } from "../a2a-v1/frames.ts";',
      ),
      rule: "dialects",
    },
    {
      what: "a server that imports an agent, even late",
      file: file(
        "assembly/x.ts",
        'const a = await import("@devtool/coding-agent");',
      ),
      rule: "packages",
    },
    {
      what: "a server that reaches into the package of an agent",
      file: file(
        "handler/x.ts",
        'import { a } from "../../../coding-agent/src/tool/tool.ts";',
      ),
      rule: "packages",
    },
    {
      what: "an agent that imports what the server keeps to itself",
      file: agentFile(
        "tool/x.ts",
        'import { a } from "@devtool/server/operator";',
      ),
      rule: "packages",
    },
    {
      what: "a policy that imports an agent",
      file: {
        path: "packages/policy/src/x.ts",
        text: 'import { a } from "@devtool/coding-agent";',
      },
      rule: "packages",
    },
    {
      what: "a policy that imports the server's seam",
      file: {
        path: "packages/policy/src/x.ts",
        text: 'import { a } from "@devtool/server/agent";',
      },
      rule: "packages",
    },
    {
      what: "a sandbox that imports a policy",
      file: {
        path: "packages/sandbox/src/x.ts",
        text: 'import { a } from "@devtool/policy";',
      },
      rule: "packages",
    },
    {
      what: "a sandbox that needs a library",
      file: {
        path: "packages/sandbox/src/x.ts",
        text: 'import { a } from "@devtool/schema";',
      },
      rule: "packages",
    },
    {
      what: "the environment in a sandbox",
      file: {
        path: "packages/sandbox/src/x.ts",
        text: "const home = process.env.HOME;",
      },
      rule: "ambient",
    },
    {
      what: "a reader of shell commands that knows rules",
      file: {
        path: "packages/policy/src/shell/x.ts",
        text: 'import { a } from "../compiled-rule.ts";',
      },
      rule: "stage order",
    },
    {
      what: "a tool that imports a command",
      file: agentFile("tool/x.ts", 'import { a } from "../command/steps.ts";'),
      rule: "stage order",
    },
    {
      what: "a seam that imports an implementation",
      file: file(
        "store/task-store.ts",
        'import { a } from "./memory-task-store.ts";',
      ),
      rule: "seam",
    },
    {
      what: "a coding agent that imports the SDK of a model, even late",
      file: agentFile(
        "agent/x.ts",
        'const { a } = await import("@google/genai");',
      ),
      rule: "SDK",
    },
    {
      what: "a coding agent that imports the package of a model, even late",
      file: agentFile(
        "assembly/x.ts",
        'const { a } = await import("@devtool/gemini");',
      ),
      rule: "packages",
    },
    {
      what: "a coding agent that imports the SDK of MCP",
      file: agentFile(
        "tool/x.ts",
        'import type { Client } from "@modelcontextprotocol/client";',
      ),
      rule: "SDK",
    },
    {
      what: "a coding agent that imports the package of MCP servers, even late",
      file: agentFile(
        "assembly/x.ts",
        'const { a } = await import("@devtool/mcp");',
      ),
      rule: "packages",
    },
    {
      what: "MCP servers that import more of the agent than the seam of tools",
      file: {
        path: "packages/mcp/src/x.ts",
        text: 'import { a } from "@devtool/coding-agent";',
      },
      rule: "packages",
    },
    {
      what: "a model that imports the SDK of MCP",
      file: {
        path: "packages/gemini/src/x.ts",
        text: 'import { a } from "@modelcontextprotocol/client";',
      },
      rule: "SDK",
    },
    {
      what: "a model that imports more of the agent than the seam of models",
      file: {
        path: "packages/gemini/src/x.ts",
        text: 'import { a } from "@devtool/coding-agent";',
      },
      rule: "packages",
    },
    {
      what: "a store that imports more of the server than the seam of stores",
      file: {
        path: "packages/postgres/src/x.ts",
        text: 'import { a } from "@devtool/server/agent";',
      },
      rule: "packages",
    },
    {
      what: "a server that imports the driver of a database, even late",
      file: file("assembly/x.ts", 'const { a } = await import("pg");'),
      rule: "SDK",
    },
    {
      what: "the clock below the entry",
      file: file("task/x.ts", "const now = Date.now();"),
      rule: "ambient",
    },
    {
      what: "the environment below the entry",
      file: agentFile("tool/x.ts", "const home = process.env.HOME;"),
      rule: "ambient",
    },
    {
      what: "words of the wire inside",
      file: file("task/x.ts", 'const kind = "status-update";'),
      rule: "wire words",
    },
    {
      what: "a file without a name of its own",
      file: file("task/utils.ts", ""),
      rule: "junk room",
    },
    {
      what: "a client that imports the server",
      file: {
        path: "packages/client/src/x.ts",
        text: 'import { a } from "@devtool/server";',
      },
      rule: "packages",
    },
    {
      what: "a server that imports the console, even late",
      file: file(
        "assembly/x.ts",
        'const a = await import("@devtool/console");',
      ),
      rule: "packages",
    },
    {
      what: "a server that imports the client",
      file: file("handler/x.ts", 'import { a } from "@devtool/client";'),
      rule: "packages",
    },
    {
      what: "the clock beside the entry",
      file: file("server-options.ts", "const now = Date.now();"),
      rule: "ambient",
    },
    {
      what: "hooks that know what they are rendered with",
      file: {
        path: "packages/react/src/x.ts",
        text: 'import { createRoot } from "react-dom/client";',
      },
      rule: "packages",
    },
    {
      what: "a schema that needs Node",
      file: {
        path: "packages/schema/src/x.ts",
        text: 'import { a } from "node:fs";',
      },
      rule: "packages",
    },
  ];
  for (const { what, file: broken, rule } of breaches) {
    it(`rejects ${what}`, () => {
      expect(breachesOf([broken]).map((breach) => breach.rule)).toContain(rule);
    });
  }

  it("is imported by its entries: no file imports those of another package by their paths", () => {
    const files = [
      ...codeBelow("test"),
      ...codeBelow("scripts"),
      ...codeBelow("packages"),
    ];
    expect(files.length).toBeGreaterThan(500);
    expect(files.flatMap(pathsInto)).toEqual([]);
  });

  it("rejects a test that imports a file of a package by its path", () => {
    const text =
      'import { a } from "../packages/server/src/store/task-store.ts";';
    expect(pathsInto({ path: "test/x.test.ts", text })).toEqual([
      "test/x.test.ts: packages/server/src/store/task-store.ts",
    ]);
    expect(
      pathsInto({
        path: "packages/cli/test/x.ts",
        text: 'import { a } from "../../server/src/x.ts";',
      }),
    ).toHaveLength(1);
    expect(
      pathsInto({
        path: "packages/cli/test/x.ts",
        text: 'import { a } from "../src/x.ts";',
      }),
    ).toEqual([]);
  });

  it("rejects a dialect that imports a name which others do not have", () => {
    const dialect = file(
      "transport/a2a-v1/x.ts",
      'import { readBody, secret } from "../http/body.ts";',
    );
    const entry = (names: string): SourceFile =>
      file(
        "dialect.ts",
        `export { ${names} } from "./transport/http/body.ts";`,
      );
    const rules = (names: string) =>
      breachesOf([dialect, entry(names)]).map(({ rule }) => rule);
    expect(rules("readBody")).toEqual(["dialect names"]);
    expect(rules("readBody, secret")).toEqual([]);
  });

  it("exports what somebody uses, and few names", () => {
    const names = publicNames();
    const used = usedNames(names);
    expect(names.map(idOf).filter((id) => !used.has(id))).toEqual([]);
    const countOf = (isGenerated: boolean): number =>
      new Set(
        names
          .filter((each) => each.isGenerated === isGenerated)
          .map(({ entry, name }) => `${entry.split("/")[1]}#${name}`),
      ).size;
    expect(countOf(false)).toBeLessThanOrEqual(500);
    // Messages, their schemas, enums and services: what the protos name.
    expect(countOf(true)).toBeLessThanOrEqual(250);
  });

  it("rejects two files that import each other", () => {
    const one = file("task/one.ts", 'import { b } from "./two.ts";');
    const two = file("task/two.ts", 'import { a } from "./one.ts";');
    expect(breachesOf([one, two]).map(({ rule }) => rule)).toContain("cycle");
  });
});

/** The files of other packages that a file imports by their paths. */
function pathsInto({ path, text }: SourceFile): string[] {
  const specifiers = [
    ...text.matchAll(/^(?:import|export)[^"';]* from "(\.[^"]+)"/gm),
  ].map(([, specifier = ""]) => specifier);
  const targets = specifiers.map((specifier) =>
    posix.join(posix.dirname(path), specifier),
  );
  const packageOf = (one: string): string =>
    /^packages\/[^/]+\//.exec(one)?.[0] ?? "";
  return targets
    .filter(
      (target) =>
        packageOf(target) !== "" && packageOf(target) !== packageOf(path),
    )
    .map((target) => `${path}: ${target}`);
}

/**
 * All TypeScript below a folder of the repository that is not installed, built
 * or generated.
 */
function codeBelow(directory: string): SourceFile[] {
  return codePathsBelow(directory).map((path) => ({
    path,
    text: readFileSync(join(root, path), "utf8"),
  }));
}

function file(path: string, text: string): SourceFile {
  return { path: posix.join("packages/server/src", path), text };
}

function agentFile(path: string, text: string): SourceFile {
  return { path: posix.join("packages/coding-agent/src", path), text };
}

function sourceFiles(): SourceFile[] {
  const packages = readdirSync(join(root, "packages"));
  const files = packages.flatMap((name) => codeBelow(`packages/${name}/src`));
  return files.filter(({ path }) => !/\.(test|contract)\.ts$/.test(path));
}
