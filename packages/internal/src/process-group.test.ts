import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { GROUP_OPTIONS, signalGroup } from "./process-group.ts";

describe("a process group", () => {
  it("ends with what its process started", async () => {
    const child = spawn("sh", ["-c", "sleep 1000 & echo begun; wait"], {
      ...GROUP_OPTIONS,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const pid = child.pid ?? 0;
    await once(child.stdout, "data");
    const [exited, closed] = [once(child, "exit"), once(child.stdout, "close")];
    expect(signalGroup(pid, 0)).toBe(true);
    expect(signalGroup(pid, "SIGKILL")).toBe(true);
    child.stdout.resume();
    expect(await exited).toEqual([null, "SIGKILL"]);
    // The sleeping process held it open.
    await closed;
  });

  it("that is gone cannot be signaled", async () => {
    const child = spawn("true", GROUP_OPTIONS);
    await once(child, "exit");
    expect(signalGroup(child.pid ?? 0, "SIGTERM")).toBe(false);
  });
});
