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

/** Those of them that only one revision has, and those that both have. */
const ONLY_2025: readonly string[] = [
  "elicitation-sep1034-general",
  "elicitation-sep1330-general",
  "incoming-sse-event",
  "logging-set-level",
  "resources-subscribe",
  "resources-unsubscribe",
  "tools-call-elicitation",
  "tools-call-sampling",
  "tools-call-with-logging",
];
const IN_BOTH: readonly string[] = [
  "completion-complete",
  "json-schema-2020-12-tool-found",
  "localhost-host-valid-accepted",
  "prompts-get-embedded-resource",
  "prompts-get-simple",
  "prompts-get-with-args",
  "prompts-get-with-image",
  "prompts-list",
  "resources-read-binary",
  "resources-read-text",
  "resources-templates-read",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-image",
  "tools-call-mixed-content",
  "tools-call-with-progress",
];

/** Checks that pass, so that a scenario which no longer runs is noticed. */
const PASSING = {
  "2025-11-25": [
    "ping",
    "resources-list",
    "server-accepts-multiple-post-streams",
    "server-initialize",
    "server-sse-streams-functional",
    "tools-list",
  ],
  "2026-07-28": [
    "resources-list",
    "sep-2575-server-implements-discover",
    "server-accepts-multiple-post-streams",
    "tasks-extension-advertised",
    "tools-list",
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

    it.each(REVISIONS)(
      "pass in %s, but for the checks that want another server",
      async (revision) => {
        const directory = temporaryDirectory();
        await runSuite(
          [
            ...["server", "--url", `${server.url}/mcp`],
            ...["--requirements", revision, "--output-dir", "results"],
          ],
          directory,
        );
        const checks = checksIn(join(directory, "results"));
        expect(idsOf(checks, "FAILURE")).toEqual(
          Object.values(FAILING)
            .flat()
            .filter(
              (id) =>
                IN_BOTH.includes(id) ||
                ONLY_2025.includes(id) === (revision === "2025-11-25"),
            )
            .toSorted(),
        );
        expect(idsOf(checks, "SUCCESS")).toEqual(
          expect.arrayContaining([...PASSING[revision]]),
        );
      },
      300_000,
    );
  },
);

interface Check {
  readonly id: string;
  readonly status: string;
}

/** The checks with a status, in order, each once. */
function idsOf(checks: readonly Check[], status: string): string[] {
  const ids = checks.filter((check) => check.status === status);
  return [...new Set(ids.map(({ id }) => id))].toSorted();
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
