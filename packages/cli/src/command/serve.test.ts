import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeTerminal } from "../../test/fake-terminal.ts";
import { runProgram } from "../program.ts";

describe("devtool serve", () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), "devtool-serve-"));
  });
  afterEach(() => rm(base, { recursive: true }));

  it.each([
    ["a script of the clone", { PNPM_SCRIPT_SRC_DIR: "/clone", INIT_CWD: "/clone" }, "npx -y pnpm@12 devtool chat"],
    ["a script of a clone elsewhere", { PNPM_SCRIPT_SRC_DIR: "/clone", INIT_CWD: "/project" }, "devtool chat"],
    ["npx", { INIT_CWD: "/project", npm_lifecycle_event: "npx" }, "npx devtool chat"],
    ["its name", {}, "devtool chat"],
  ])("names the command to try as it was itself started: by %s", async (_way, env, command) => {
    const terminal = new FakeTerminal({ NO_COLOR: "1", ...env });
    const place = ["--data", join(base, "data"), "--workspace", join(base, "work")];
    const code = runProgram(["serve", "--port", "0", ...place], terminal.io);
    await terminal.shows("still asks.");
    expect(terminal.said).toContain(`\n  ${command} --data ${join(base, "data")}\n`);
    terminal.interrupt();
    expect(await code).toBe(0);
  });
});
