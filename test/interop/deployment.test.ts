import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";

// What needs no validator is in test/command/deployment.test.ts.
const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const COMPOSE = join(root, "deploy/compose.yaml");
const KUBERNETES = join(root, "deploy/kubernetes.yaml");

const validators = {
  compose: join(root, "test/interop/.bin/compose/cmd"),
  kubernetes: join(
    root,
    "test/interop/.venv-kubernetes/bin/kubernetes-validate",
  ),
};
const without = {
  compose: missing(validators.compose, "pnpm install:interop go"),
  kubernetes: missing(validators.kubernetes, "pnpm install:interop python"),
};

function missing(program: string, install: string): string {
  return existsSync(program)
    ? ""
    : ` (skipped: ${basename(program)} is not installed: ${install})`;
}

describe.skipIf(without.compose !== "")(
  `the Compose file${without.compose}`,
  () => {
    it("is valid, and names the variables that it needs", async () => {
      const valid = await run(validators.compose, [
        "-no-interpolation",
        "-format",
        "json",
        COMPOSE,
      ]);
      expect(Object.keys(JSON.parse(valid.stdout).services)).toEqual([
        "caddy",
        "devtool",
        "postgres",
      ]);
      await expect(run(validators.compose, [COMPOSE])).rejects.toThrow(
        /DOMAIN is missing a value: name the host[\s\S]*POSTGRES_PASSWORD is missing a value/,
      );
    });

    it("would not be with a field that does not exist", async () => {
      const file = join(temporaryDirectory(), "compose.yaml");
      const text = await readFile(COMPOSE, "utf8");
      await writeFile(file, text.replace("read_only:", "readonly:"));
      await expect(
        run(validators.compose, ["-no-interpolation", file]),
      ).rejects.toThrow("services.devtool.readonly");
    });
  },
);

it.skipIf(without.kubernetes !== "")(
  `the manifests for Kubernetes are valid${without.kubernetes}`,
  async () => {
    const file = join(temporaryDirectory(), "kubernetes.yaml");
    const text = await readFile(KUBERNETES, "utf8");
    await run(validators.kubernetes, ["--strict", KUBERNETES]);
    await writeFile(file, text.replace("readinessProbe:", "readyProbe:"));
    await expect(
      run(validators.kubernetes, ["--strict", file]),
    ).rejects.toMatchObject({
      stdout: expect.stringContaining("readyProbe"),
    });
  },
);
