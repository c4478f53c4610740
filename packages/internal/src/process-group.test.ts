import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { GROUP_OPTIONS, signalGroup } from "./process-group.ts";
import { temporaryDirectory } from "./testing/temporary-directory.ts";

describe("a process group", () => {
  it("ends with what its process started", async () => {
    const child = spawn("sh", ["-c", "sleep 1000 & echo begun; wait"], {
      ...GROUP_OPTIONS,
      stdio: ["ignore", "pipe", "ignore"],
    });
    await once(child.stdout, "data");
    const [exited, closed] = [once(child, "exit"), once(child.stdout, "close")];
    expect(signalGroup(child, 0)).toBe(true);
    expect(signalGroup(child, "SIGKILL")).toBe(true);
    child.stdout.resume();
    expect(await exited).toEqual([null, "SIGKILL"]);
    // The sleeping process held it open.
    await closed;
  });

  it("that is gone cannot be signaled", async () => {
    const child = spawn("true", GROUP_OPTIONS);
    await once(child, "exit");
    expect(signalGroup(child, "SIGTERM")).toBe(false);
  });

  it("is signaled on Windows only until its process has ended, since another may have its id then", async () => {
    const base = temporaryDirectory();
    // To this system it is one name.
    const taskkill = `${base}/Windows\\System32\\taskkill.exe`;
    writeFileSync(taskkill, '#!/bin/sh\nkill "$4"\n', { mode: 0o755 });
    vi.stubEnv("SystemRoot", `${base}/Windows`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const child = spawn("sleep", ["1000"], GROUP_OPTIONS);
    const stranger = spawn("sleep", ["1000"], GROUP_OPTIONS);
    onTestFinished(() => void stranger.kill("SIGKILL"));
    await Promise.all([once(child, "spawn"), once(stranger, "spawn")]);
    const exited = once(child, "exit");
    expect(signalGroup(child, 0, "win32")).toBe(true);
    expect(signalGroup(child, "SIGKILL", "win32")).toBe(true);
    expect(await exited).toEqual([null, "SIGTERM"]);
    const { exitCode, signalCode } = child;
    const reused = { pid: stranger.pid, exitCode, signalCode };
    for (const signal of ["SIGTERM", "SIGKILL", 0] as const) {
      expect(signalGroup(reused, signal, "win32")).toBe(false);
    }
    expect(signalGroup(stranger, 0)).toBe(true);
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
  });
});
