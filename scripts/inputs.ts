/**
 * A part of CI that takes long to install or build, and depends on few files:
 * what plays with bindings and with peers, the check of the workflows, which
 * builds its linter, and the comparison of speed, which builds a base.
 */
export type Part = "bindings" | "peers" | "workflows" | "speed";

/** The files that determine what bindings and peers receive. */
const SPEAKS = [
  "proto/",
  "packages/schema/",
  "packages/conformance/",
  "packages/server/src/transport/",
  "packages/server/src/handler/",
  "pnpm-lock.yaml",
  ".ci/",
  "scripts/inputs.ts",
];

/** The inputs of each part: files, and folders with a slash at their end. */
export const INPUTS: Readonly<Record<Part, readonly string[]>> = {
  bindings: [
    ...SPEAKS,
    "bindings/",
    "scripts/bindings.ts",
    "test/bindings/",
    "test/bindings.test.ts",
    "packages/cli/src/command/conformance-program.ts",
  ],
  peers: [
    ...SPEAKS,
    "packages/client/",
    "packages/fake-gemini/",
    "packages/fake-model/",
    "packages/policy/",
    "peers/package.json",
    "scripts/peers.ts",
    "scripts/interop.ts",
    "test/interop/",
    "test/interop.test.ts",
    "test/conformance/",
    "test/conformance-peers.test.ts",
    "test/acp-port/",
    "test/acp-port-clients.test.ts",
    "test/gemini-cli/",
    "test/gemini-cli.test.ts",
    "test/gemini-cli-client.test.ts",
  ],
  workflows: [".github/workflows/", "scripts/check.ts"],
  speed: [
    "proto/",
    "packages/",
    "pnpm-lock.yaml",
    "bench/src/",
    "bench/prices.md",
  ],
};

/** The parts of which no input is among the files that changed. */
export function unchangedParts(changed: readonly string[]): Part[] {
  const isInput = (path: string, input: string): boolean =>
    path === input || (/\/$/.test(input) && path.startsWith(input));
  return PARTS.filter(
    (part) =>
      !INPUTS[part].some((input) =>
        changed.some((path) => isInput(path, input)),
      ),
  );
}

const PARTS = [
  "bindings",
  "peers",
  "workflows",
  "speed",
] as const satisfies readonly Part[];
