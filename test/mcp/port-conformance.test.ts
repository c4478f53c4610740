import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { codingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
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

/** The revisions whose scenarios are played, each in one run of the suite. */
const REVISIONS = ["2025-11-25", "2026-07-28"] as const;

/**
 * The checks that fail, by why. The suite's example server has tools, prompts
 * and resources by fixed names, which ours has not: it has agents.
 */
const FAILING = {
  "a tool of the example server": [
    "elicitation-sep1034-general",
    "elicitation-sep1330-general",
    "incoming-sse-event",
    "json-schema-2020-12-tool-found",
    "sep-2243-server-decode-base64",
    "sep-2243-server-no-xmcp-tool",
    "sep-2243-server-reject-invalid-param-chars",
    "sep-2243-server-reject-param-mismatch",
    "sep-2243-server-validate-param-match",
    "sep-2322-elicitation-incomplete",
    "sep-2322-list-roots-incomplete",
    "sep-2322-multi-round-r1",
    "sep-2322-multiple-inputs-incomplete",
    "sep-2322-reject-tampered-state",
    "sep-2322-request-state-incomplete",
    "sep-2322-respect-client-capabilities",
    "sep-2322-result-type-included",
    "sep-2322-sampling-incomplete",
    "sep-2575-missing-capability-http-400",
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2663-cancel-ack-empty-result",
    "sep-2663-durable-create-strong-consistency",
    "sep-2663-mrtr-synchronous-before-task-creation",
    "sep-2663-result-type-task-on-create",
    "sep-2663-routing-headers-accepted-on-tasks-get",
    "sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get",
    "sep-2663-server-returns-missing-capability-when-required",
    "sep-2663-tasks-get-status-completed",
    "sep-2663-tasks-get-status-failed",
    "sep-2663-tasks-get-status-input-required",
    "sep-2663-tasks-get-status-working",
    "sep-2663-tool-error-uses-completed-status",
    "tasks-cancel-terminal-idempotent-ack",
    "tasks-headers-tolerate-mcp-method-on-tools-call",
    "tasks-mrtr-partial-fulfillment",
    "tasks-mrtr-tasks-update-resumes",
    "tasks-no-early-ttl-expiry",
    "tasks-no-related-task-meta-on-inlined-result",
    "tasks-per-request-meta-opt-in",
    "tasks-request-state-removal-setup",
    "tasks-server-directed-creation-no-hint",
    "tasks-wire-field-renames",
    "tools-call-audio",
    "tools-call-elicitation",
    "tools-call-embedded-resource",
    "tools-call-image",
    "tools-call-mixed-content",
    "tools-call-sampling",
    "tools-call-with-progress",
  ],
  "a resource of the example server": [
    "resources-read-binary",
    "resources-read-text",
    "resources-subscribe",
    "resources-templates-read",
    "resources-unsubscribe",
  ],
  "a server with prompts, completions or logging": [
    "completion-complete",
    "logging-set-level",
    "prompts-get-embedded-resource",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-with-image",
    "prompts-list",
    "sep-2322-non-tool-incomplete",
    "sep-2549-prompts-list-caching-hints",
    "tools-call-with-logging",
  ],
  "a page of localhost, which the operator would have to list": [
    "localhost-host-valid-accepted",
  ],
} as const;

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

    it("pass in both revisions, but for the checks that want another server", async () => {
      const failed = new Set<string>();
      let passed = 0;
      for (const revision of REVISIONS) {
        const directory = temporaryDirectory();
        await runSuite(
          [
            ...["server", "--url", `${server.url}/mcp`],
            ...["--requirements", revision, "--output-dir", "results"],
          ],
          directory,
        );
        for (const { id, status } of checksIn(join(directory, "results"))) {
          if (status === "FAILURE") failed.add(id);
          if (status === "SUCCESS") passed++;
        }
      }
      expect([...failed].toSorted()).toEqual(
        Object.values(FAILING).flat().toSorted(),
      );
      console.info(`${passed} checks of MCP's server scenarios passed`);
      expect(passed).toBeGreaterThan(150);
    }, 300_000);
  },
);

interface Check {
  readonly id: string;
  readonly status: string;
}

/** The checks of all scenarios of a run. */
function checksIn(directory: string): Check[] {
  return readdirSync(directory).flatMap((scenario): Check[] =>
    JSON.parse(fileText(join(directory, scenario), "checks.json")),
  );
}

/** Runs the suite's program, which writes its results below `cwd`. */
function runSuite(args: readonly string[], cwd: string): Promise<void> {
  return new Promise((resolve) => {
    const options = { cwd, maxBuffer: 64 * 1024 * 1024 };
    // It ends with 1 where a check fails.
    execFile(process.execPath, [SUITE, ...args], options, () => resolve());
  });
}
