import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const PNPM = `${root}node_modules/.bin/pnpm`;

// npm 12 runs no install scripts, so that turbo cannot start the pnpm of npx.
describe("the pnpm that turbo and scripts find first", () => {
  it("is the one that runs them, as `npm_execpath` names it", async () => {
    const env = { ...process.env, npm_execpath: process.execPath };
    const { stdout } = await run(PNPM, ["-p", "6 * 7"], { env });
    expect(stdout).toBe("42\n");
    const failing = run(PNPM, ["-e", "process.exit(3)"], { env });
    await expect(failing).rejects.toMatchObject({ code: 3 });
  });

  it("runs one of JavaScript with this Node, and says when it is not named", async () => {
    const script = join(temporaryDirectory(), "pnpm.mjs");
    await writeFile(script, "console.log(process.argv.slice(2).join());");
    const env = { ...process.env, npm_execpath: script };
    expect((await run(PNPM, ["run", "x"], { env })).stdout).toBe("run,x\n");
    await expect(
      run(PNPM, [], { env: { ...env, npm_execpath: undefined } }),
    ).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^npm_execpath is not set: start this by/),
    });
  });

  it("is named to it by turbo", () => {
    const turbo = JSON.parse(readFileSync(`${root}turbo.json`, "utf8"));
    expect(turbo.globalPassThroughEnv).toContain("npm_execpath");
  });
});
