import { git } from "./earlier-commit.ts";

/** Tests that prove one area of the product. */
export interface Area {
  /**
   * The beginnings of the paths that the area consists of, its tests' among
   * them.
   */
  readonly inputs: readonly string[];
  /** The beginnings of the paths of its suites. */
  readonly suites: readonly string[];
  /**
   * The suites that are played whatever has changed: others can break the area
   * as well.
   */
  readonly always: readonly string[];
}

/**
 * The areas whose suites `pnpm test` leaves to CI while none of their inputs
 * has changed.
 */
export const AREAS: Readonly<Record<string, Area>> = {
  acp: {
    inputs: ["packages/acp/", "packages/cli/src/agents/acp-", "test/acp"],
    suites: ["test/acp-"],
    always: ["test/acp-agent.test.ts", "test/acp-port.test.ts"],
  },
  console: {
    inputs: ["packages/console/", "packages/client/src/view/", "test/console"],
    suites: ["test/console-"],
    always: [
      "test/console-access.test.ts",
      "test/console-attacks.test.ts",
      "test/console-questions.test.ts",
    ],
  },
  "a shared database": {
    inputs: [
      "packages/postgres/",
      "packages/server/src/store/",
      "test/fleet",
      "test/shared-database",
    ],
    suites: ["packages/postgres/", "test/fleet-", "test/shared-database"],
    always: [
      "packages/postgres/src/postgres-store.test.ts",
      "test/fleet-takeover.test.ts",
    ],
  },
  "front ends": {
    inputs: [
      "packages/client/src/ai-sdk/",
      "packages/react/",
      "packages/schema/src/ag-ui/",
      "test/ag-ui",
      "test/ai-sdk",
      "test/react",
    ],
    suites: ["test/ag-ui-", "test/ai-sdk", "test/react"],
    always: [],
  },
  "the kit": {
    inputs: [
      "packages/client/",
      "packages/conformance/",
      "packages/server/src/push/",
      "packages/server/src/keys/",
      "packages/cli/src/tck",
      "test/agent-suite",
      "test/client-suite",
      "test/conformance",
      "test/literal-client",
      "test/push",
      "test/tck",
    ],
    suites: [
      "test/agent-suite",
      "test/client-suite",
      "test/conformance-",
      "test/literal-client",
      "test/push-suite",
      "test/tck-profile",
    ],
    always: [],
  },
  models: {
    inputs: [
      "packages/anthropic/",
      "packages/fake-gemini/",
      "packages/fake-model/",
      "packages/gemini/",
      "packages/openai/",
      "packages/coding-agent/src/model.ts",
      "test/deceptive",
      "test/hostile-model",
      "test/model",
      "test/vertex",
    ],
    suites: [
      "test/deceptive-",
      "test/hostile-model",
      "test/model-chaos",
      "test/model-list",
      "test/vertex",
    ],
    always: ["test/deceptive-model.test.ts"],
  },
  mcp: {
    inputs: ["packages/mcp/", "test/mcp"],
    suites: ["test/mcp-"],
    always: ["test/mcp-servers.test.ts", "test/mcp-ssrf.test.ts"],
  },
  policy: {
    inputs: [
      "packages/policy/",
      "packages/coding-agent/src/trust/",
      "test/exec-policy",
      "test/path-rules",
      "test/server-trust",
      "test/trust",
    ],
    suites: [
      "test/exec-policy-",
      "test/path-rules",
      "test/server-trust",
      "test/trust",
    ],
    always: [],
  },
  sandbox: {
    inputs: [
      "packages/policy/",
      "packages/sandbox/",
      "packages/coding-agent/src/tool/",
      "test/sandbox",
      "test/workspace-attacks",
    ],
    suites: [
      "packages/sandbox/",
      "packages/coding-agent/src/tool/builtin/run-shell-command-sandbox",
      "test/workspace-attacks",
    ],
    always: [],
  },
};

/** The areas of which nothing is among the files that changed. */
export function unchangedAreas(changed: readonly string[]): string[] {
  return Object.entries(AREAS).flatMap(([name, { inputs }]) =>
    changed.some((path) => inputs.some((input) => path.startsWith(input)))
      ? []
      : [name],
  );
}

/**
 * The suites among these test files that belong to an area, without those that
 * are always played and those that follow pages.
 */
export function suitesOf(area: string, files: readonly string[]): string[] {
  const { suites = [], always = [] } = AREAS[area] ?? {};
  return files.filter(
    (file) =>
      suites.some((suite) => file.startsWith(suite)) &&
      !always.includes(file) &&
      !file.endsWith("docs.test.ts"),
  );
}

/**
 * The files that differ from `origin/main`, else from `main`, else from the
 * last commit. Undefined without git.
 */
export function changedFiles(): string[] | undefined {
  const base =
    git("merge-base", "HEAD", "origin/main") ??
    git("merge-base", "HEAD", "main") ??
    "HEAD";
  const changed = git("diff", "--name-only", base);
  const added = git("ls-files", "--others", "--exclude-standard");
  return changed === undefined || added === undefined
    ? undefined
    : `${changed}\n${added}`.split("\n");
}
