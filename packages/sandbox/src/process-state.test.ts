import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { isRunning } from "./process-state.ts";

describe.skipIf(process.platform !== "linux")("whether a process runs", () => {
  it("is told by its state, whatever its name is", async () => {
    const program = join(temporaryDirectory(), "a) Z 1");
    copyFileSync("/bin/sleep", program);
    const child = spawn(program, ["600"]);
    const { pid = Number.NaN } = child;
    await once(child, "spawn");
    const stat = () => readFileSync(`/proc/${pid}/stat`, "utf8");
    await expect.poll(stat).toContain("(a) Z 1)");
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
    // Node has not read its exit code before it hears of events.
    while (isRunning(pid));
    expect(stat()).toMatch(/\(a\) Z 1\) Z /);
    await once(child, "close");
    expect(isRunning(pid)).toBe(false);
  });
});
