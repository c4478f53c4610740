import { execFile } from "node:child_process";
import {
  chmod,
  copyFile,
  mkdtemp,
  readFile,
  rm,
  writeFile,
} from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { serveCodingAgent } from "@devtool/coding-agent";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { tarballsOf } from "./project.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
const README = await readFile(
  join(root, "packages/conformance/README.md"),
  "utf8",
);

/** The commands of a snippet of the README: those of its list, or its one line. */
function commandsOf(beginning: string): string[] {
  const [snippet = ""] = README.slice(README.indexOf(beginning)).split("```");
  const listed = [
    ...snippet.matchAll(/^ +- (?:run: )?((?:\.\/|curl|npx).*)$/gm),
  ].map(([, command = ""]) => command);
  // A container has Node in it, which is here too.
  const line = snippet.trim().replace(/^docker .* node:\d+ /, "");
  return listed.length > 0 ? listed : [line];
}

describe.skipIf(LEFT_TO_CI !== "")(
  `the packed kit alone, in an empty home${LEFT_TO_CI}`,
  () => {
    let directory: string;
    let home: string;
    let server: DevtoolServer;
    beforeAll(async () => {
      home = await mkdtemp(join(tmpdir(), "devtool-kit-home-"));
      directory = await mkdtemp(join(tmpdir(), "devtool-kit-"));
      server = await serveCodingAgent({ workspace: home });
      for (const tarball of await tarballsOf(["schema", "conformance"])) {
        await copyFile(tarball, join(directory, basename(tarball)));
      }
      const start = join(directory, "start-agent");
      await writeFile(start, "#!/bin/sh\nexit 0\n");
      await chmod(start, 0o755);
    }, 120_000);
    afterAll(async () => {
      await server.close();
      await rm(directory, { recursive: true });
      await rm(home, { recursive: true });
    });

    async function play(commands: readonly string[]): Promise<string> {
      const script = ["set -e", ...commands].join("\n");
      const { stdout } = await run(
        "bash",
        [
          "--norc",
          "-c",
          script.replaceAll("http://127.0.0.1:9999", server.url),
        ],
        {
          cwd: directory,
          env: {
            ...process.env,
            PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
            HOME: home,
            // What npm downloaded before is not downloaded again.
            npm_config_cache:
              process.env.npm_config_cache ?? join(homedir(), ".npm"),
            DEVTOOL_TOKEN: server.token,
          },
        },
      );
      return stdout;
    }

    it.each([
      ["GitHub", "name: A2A\n"],
      ["GitLab", "a2a:\n  image"],
    ])(
      "passes as the snippet for %s has it, with its reports",
      async (_, beginning) => {
        const commands = commandsOf(beginning);
        expect(commands).toHaveLength(3);
        expect(await play(commands)).toMatch(
          /^\d+ passed.* requirements; \d+ passed/m,
        );
        expect(
          JSON.parse(await readFile(join(directory, "a2a.json"), "utf8")),
        ).toEqual({
          schemaVersion: 1,
          label: "A2A 1.0",
          message: expect.stringMatching(/^\d+ of \d+ requirements met$/),
          color: "brightgreen",
        });
        expect(await readFile(join(directory, "a2a.html"), "utf8")).toContain(
          "<h1>",
        );
      },
      300_000,
    );

    it.each(["npx -y -p ./devtool", "docker run"])(
      "runs in one line: %s",
      async (beginning) => {
        const [line = "", ...others] = commandsOf(beginning);
        expect(others).toEqual([]);
        expect(await play([`${line} --only a2a/card`])).toMatch(
          /^passed +a2a\/card /m,
        );
      },
      300_000,
    );

    it("names no package that npm would take for devtool", () => {
      expect(README).not.toMatch(/npx (-\S+ )*devtool /);
    });
  },
);
