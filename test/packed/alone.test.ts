import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { PackedProject, packagesIn, sizeOf } from "./project.ts";
import { SAYS, snippetOf } from "./snippets.ts";

describe.skipIf(LEFT_TO_CI !== "")(
  `a package for the owner of another agent, packed and installed alone${LEFT_TO_CI}`,
  () => {
    it.each([
      {
        name: "policy",
        ours: ["policy", "schema"],
        others: [
          "@bufbuild/protobuf",
          "picomatch",
          "re2js",
          "smol-toml",
          // The readers of shell commands; the grammar alone has 20 MB.
          "node-addon-api",
          "node-gyp-build",
          "tree-sitter-bash",
          "unbash",
          "web-tree-sitter",
        ],
        maxBytes: 40_000_000,
      },
      { name: "sandbox", ours: ["sandbox"], others: [], maxBytes: 550_000 },
    ])(
      "is $name, which runs the code in its README and brings no server",
      async ({ name, ours, others, maxBytes }) => {
        const project = await PackedProject.install([], ours);
        expect(
          await project.runModule(process.execPath, await snippetOf(name)),
        ).toBe(SAYS[name]);
        const modules = join(project.directory, "node_modules");
        const names = packagesIn(modules);
        const bytes = sizeOf(modules);
        console.log(
          `${name} alone: ${names.length} packages, ${(bytes / 1e6).toFixed(1)} MB`,
        );
        expect(names).toEqual(
          [...ours.map((own) => `@devtool/${own}`), ...others].toSorted(),
        );
        expect(bytes).toBeLessThan(maxBytes);
      },
      300_000,
    );
  },
);
