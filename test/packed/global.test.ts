import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { findNode, OLDEST } from "./nodes.ts";
import { packagesIn, programOf, sizeOf, tarballsOf } from "./project.ts";

const run = promisify(execFile);
/** What one line of `npm install --global` may put on a disk, in bytes. */
const MAX_BYTES = 30_000_000;

describe.skipIf(LEFT_TO_CI !== "")(
  `the packed command, installed with npm install --global${LEFT_TO_CI}`,
  () => {
    it.for([OLDEST, process.versions.node])(
      "is one package that does its first task in an empty home, on Node %s",
      async (version, { skip }) => {
        const found =
          version === process.versions.node
            ? { program: process.execPath }
            : await findNode(version);
        const node = programOf(found, skip);
        const base = temporaryDirectory();
        const [prefix, home] = [join(base, "prefix"), join(base, "home")];
        const project = join(home, "project");
        await mkdir(project, { recursive: true });
        const environment = {
          HOME: home,
          PATH: [
            join(prefix, "bin"),
            dirname(node),
            process.env.PATH ?? "",
          ].join(delimiter),
          // What npm downloaded before is not downloaded again.
          npm_config_cache:
            process.env.npm_config_cache ?? join(homedir(), ".npm"),
        };
        const options = { cwd: project, env: environment };
        const [tarball = ""] = await tarballsOf(["cli"]);
        const began = performance.now();
        const flags = ["--no-audit", "--no-fund", "--prefix", prefix];
        const npm = await run(
          "npm",
          ["install", "--global", ...flags, tarball],
          options,
        );
        const seconds = (performance.now() - began) / 1000;
        const bytes = sizeOf(prefix);
        console.log(
          `npm install --global: ${(bytes / 1e6).toFixed(1)} MB in ${seconds.toFixed(1)} s`,
        );
        expect(npm).toEqual({
          stdout: expect.stringMatching(/^\s*added 1 package in /),
          stderr: "",
        });
        expect(bytes).toBeLessThan(MAX_BYTES);
        expect(packagesIn(join(prefix, "lib/node_modules"))).toEqual([
          "@devtool/cli",
        ]);
        const script = "write a.txt hello\nrun cat a.txt\ntext All is done.";
        const { stdout } = await run(
          "devtool",
          ["run", "--approve", "all", script],
          options,
        );
        expect(stdout).toContain("All is done.");
        // The grammar of shell commands is a file of its own.
        const call = ["--tool", "run_shell_command", "--arguments"];
        const explained = await run(
          "devtool",
          ["policy", "explain", ...call, '{"command":"git status && ls"}'],
          options,
        );
        expect(explained.stdout).not.toContain("cannot be read");
        expect(await readFile(join(project, "a.txt"), "utf8")).toBe("hello");
      },
    );
  },
);
