import { execFile } from "node:child_process";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startFakeGemini } from "@devtool/gemini/testing";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { serverProgram } from "../mcp/servers.ts";

const BINDINGS = [
  "0.3 JSONRPC",
  "0.3 HTTP+JSON",
  "1.0 JSONRPC",
  "1.0 HTTP+JSON",
  "1.0 GRPC",
];
const cli = fileURLToPath(new URL("../../packages/cli/", import.meta.url));

interface Manifest {
  readonly devDependencies: Readonly<Record<string, string>>;
}

const manifest: Manifest = JSON.parse(fileText(cli, "package.json"));

/** The files that are published, in a directory where nothing else is. */
async function installed(directory: string): Promise<string> {
  await cp(join(cli, "dist"), join(directory, "dist"), { recursive: true });
  await cp(join(cli, "package.json"), join(directory, "package.json"));
  return join(directory, "dist/main.js");
}

describe.skipIf(LEFT_TO_CI !== "")(
  `the command as it is published${LEFT_TO_CI}`,
  () => {
    let home: string;
    let main: string;
    beforeAll(async () => {
      home = temporaryDirectory();
      main = await installed(join(home, "cli"));
      await mkdir(join(home, "data"), { mode: 0o700 });
      const stdio = `{ command = "${process.execPath}", args = ["${serverProgram("server-everything")}"] }`;
      const config = `[[mcp_servers]]\nname = "everything"\nstdio = ${stdio}\n`;
      putFile(home, "data/config.toml", config);
    });

    function serving(
      environment: NodeJS.ProcessEnv = process.env,
    ): Promise<ServerProcess> {
      return startServing(
        [
          "--data",
          join(home, "data"),
          "--workspace",
          join(home, "workspace"),
          "--grpc-in-card",
        ],
        environment,
        main,
      );
    }

    async function devtool(...args: readonly string[]): Promise<string> {
      const words = [main, ...args, "--data", join(home, "data")];
      return (await promisify(execFile)(process.execPath, words)).stdout;
    }

    it(`speaks A2A in ${BINDINGS.join(", ")}`, async () => {
      const server = await serving();
      const known = fileURLToPath(
        new URL("../conformance/known-failing/devtool.json", import.meta.url),
      );
      for (const words of BINDINGS) {
        const [version = "", binding = ""] = words.split(" ");
        const expected = version === "1.0" ? ["--known-failing", known] : [];
        // Throws where a case fails that is not known to.
        const out = await devtool(
          "conformance",
          server.info.url,
          "--a2a",
          version,
          "--binding",
          binding,
          "--only",
          "a2a/",
          ...expected,
        );
        expect(out, words).toMatch(/ passed.* of \d+ cases$/m);
      }
      expect(await server.stop()).toBe(0);
    });

    it("works with a model, a shell and an MCP server, over every protocol", async () => {
      const fake = await startFakeGemini();
      const server = await serving({
        ...process.env,
        GEMINI_API_KEY: "none",
        GOOGLE_GEMINI_BASE_URL: fake.url,
      });
      const script = [
        'run printf "%s-" one two && echo three',
        'call mcp__everything__echo {"message": "from afar"}',
        "text All is done.",
      ];
      for (const protocol of ["connect", "grpc", "a2a"]) {
        const how = [
          "--protocol",
          protocol,
          "--approve",
          "all",
          "--json",
          "--workspace",
          join(home, "workspace"),
        ];
        const out = await devtool("run", ...how, script.join("\n"));
        for (const said of [
          "one-two-three",
          "Echo: from afar",
          "All is done.",
        ]) {
          expect(out, protocol).toContain(said);
        }
      }
      expect(await server.stop()).toBe(0);
      await fake[Symbol.asyncDispose]();
    });

    it("finds Google's credentials where there is no key", async () => {
      const server = await serving({
        ...process.env,
        GOOGLE_GENAI_USE_VERTEXAI: "true",
        GOOGLE_CLOUD_PROJECT: "project",
        GOOGLE_APPLICATION_CREDENTIALS: join(home, "missing.json"),
      });
      await expect(
        devtool("run", "--workspace", join(home, "workspace"), "hello"),
      ).rejects.toMatchObject({
        stdout: expect.stringContaining("missing.json does not exist"),
      });
      expect(await server.stop()).toBe(0);
    });

    it("names the licence of all that is in it", async () => {
      const text = fileText(home, "cli/dist/THIRD-PARTY-LICENSES.txt");
      const packages = [...text.matchAll(/^(\S+) [\d.]+: (.+)$/gm)].map(
        ([, name = "", license = ""]) => ({
          name,
          license,
        }),
      );
      // DBOS is not in it: who wants it installs it.
      const bundled = Object.keys(manifest.devDependencies).filter(
        (name) =>
          !/^(@devtool\/.*|@types\/.*|rolldown|@dbos-inc\/.*)$/.test(name),
      );
      expect(packages.map(({ name }) => name)).toEqual(
        expect.arrayContaining([...bundled, "@google/genai", "undici"]),
      );
      const one = "(MIT|ISC|BSD-[23]-Clause|Apache-2\\.0)";
      const permissive = new RegExp(`^\\(?${one}( (AND|OR) ${one})*\\)?$`);
      expect(
        packages.filter(({ license }) => !permissive.test(license)),
      ).toEqual([]);
    });
  },
);
