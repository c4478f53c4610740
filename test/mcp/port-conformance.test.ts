import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { mcp } from "@devtool/mcp/server";
import {
  createServer,
  type DevtoolServer,
  defaultDialects,
} from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { serverProgram } from "./servers.ts";

/** The suite's own program: it plays the host and judges the server. */
const SUITE = join(dirname(serverProgram("conformance")), "index.js");

/**
 * The scenarios that need no tools, prompts or resources of the suite's own
 * example server. The suite has no credentials, so the server admits anonymous
 * callers.
 */
const PASSING = [
  "server-initialize",
  "ping",
  "tools-list",
  "server-sse-multiple-streams",
  "resources-list",
];

describe.skipIf(LEFT_TO_CI !== "")(
  `the server scenarios of the MCP conformance suite${LEFT_TO_CI}`,
  () => {
    let server: DevtoolServer;
    beforeAll(async () => {
      const agent = codingAgent({});
      server = await createServer({
        agents: {
          devtool: {
            about: agent.about,
            servesAnonymous: true,
            open: (services) => agent.open(services),
          },
        },
        anonymous: "admit",
        workspace: temporaryDirectory(),
        dialects: [mcp(), ...defaultDialects()],
      });
    });
    afterAll(() => server.close());

    it("refuses pages as the suite wants, and those of localhost too", async () => {
      const { output } = await runSuite(
        [
          ...["server", "--url", `${server.url}/mcp`],
          ...["--scenario", "dns-rebinding-protection"],
        ],
        temporaryDirectory(),
      );
      expect(output).toContain("Passed: 1/2, 1 failed");
      // A page on localhost is let in where the operator lists its origin.
      expect(output).toContain("LocalhostHostAccepted");
    }, 60_000);

    it.each(PASSING)(
      "%s passes",
      async (scenario) => {
        const { exitCode, output } = await runSuite(
          ["server", "--url", `${server.url}/mcp`, "--scenario", scenario],
          temporaryDirectory(),
        );
        expect(exitCode, output).toBe(0);
        expect(output).toMatch(/Passed: [1-9]\d*\/\d+, 0 failed/);
      },
      60_000,
    );
  },
);

/** Runs the suite's program, which writes its results below `cwd`. */
function runSuite(
  args: readonly string[],
  cwd: string,
): Promise<{ readonly exitCode: number; readonly output: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [SUITE, ...args],
      { cwd, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout, stderr) =>
        resolve({ exitCode: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}
