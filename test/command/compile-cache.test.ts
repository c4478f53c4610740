import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";

const MAIN = fileURLToPath(
  new URL("../../packages/cli/src/main.ts", import.meta.url),
);
const FLAGS = [
  "--no-warnings",
  "--experimental-transform-types",
  "--conditions=@devtool/source",
  MAIN,
  "--version",
];

describe("what Node compiled of the command (H1)", () => {
  let base: string;
  let home: string;
  beforeEach(() => {
    base = temporaryDirectory();
    home = join(base, "home");
    mkdirSync(home);
    mkdirSync(join(base, "common"), { mode: 0o777 });
  });

  it("is kept in the user's own caches, not in the common temporary directory", () => {
    run();
    expect(readdirSync(join(base, "common"))).toEqual([]);
    expect(
      readdirSync(join(home, ".cache/devtool/compile")).length,
    ).toBeGreaterThan(0);
  });

  it("is kept nowhere when those are open to others", () => {
    mkdirSync(join(home, ".cache/devtool/compile"), {
      recursive: true,
      mode: 0o755,
    });
    run();
    expect(readdirSync(join(base, "common"))).toEqual([]);
    expect(readdirSync(join(home, ".cache/devtool/compile"))).toEqual([]);
    expect(existsSync(join(home, ".devtool"))).toBe(false);
  });

  function run(): void {
    const { PATH } = process.env;
    execFileSync(process.execPath, FLAGS, {
      env: { PATH, HOME: home, TMPDIR: join(base, "common") },
    });
  }
});
