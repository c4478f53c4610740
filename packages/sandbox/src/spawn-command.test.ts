import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { SandboxedCommand } from "./sandbox.ts";
import {
  type RunningProcess,
  startPiped,
  startProcess,
} from "./start-process.ts";

const { signal } = new AbortController();
const SHELL = "/bin/bash";

describe("a command that is checked before it starts", () => {
  const checked: number[] = [];

  it("starts when the check of its process resolves", async () => {
    await using running = startProcess(
      command(waiting(`echo "{\\"child-pid\\": $$}" >&3`)),
      signal,
    );
    expect(await textOf(running)).toBe("started\n");
    expect(checked).toEqual([running.pid]);
    expect(await running.refusal).toBeUndefined();
  });

  it("does not start when the check refuses it, and says why", async () => {
    const refused = new Error("refused");
    const refusing = command(waiting(`echo "{\\"child-pid\\": $$}" >&3`));
    await using running = startProcess(
      { ...refusing, check: () => Promise.reject(refused) },
      signal,
    );
    expect(await running.refusal).toBe(refused);
    expect(await textOf(running)).toBe("");
    expect(await running.ended).toEqual({
      exitCode: -1,
      signalName: "",
      error: refused,
    });
  });

  it("does not start when its supervisor does not say which process it is", async () => {
    await using running = startProcess(
      command(waiting("echo '{}' >&3")),
      signal,
    );
    expect(await textOf(running)).toBe("");
    expect(await running.ended).toEqual({
      exitCode: -1,
      signalName: "SIGKILL",
    });
  });

  it("keeps the exit code of a supervisor that failed by itself", async () => {
    await using running = startProcess(command("exit 3"), signal);
    expect(await running.ended).toEqual({ exitCode: 3, signalName: "" });
  });

  it("leaves nothing held when it cannot be started", async () => {
    let held = 0;
    const impossible: SandboxedCommand = {
      ...command(""),
      argv: ["a\0b"],
      hold: () => {
        held++;
        return { taken: [], [Symbol.dispose]: () => void held-- };
      },
    };
    expect(() => startPiped(impossible)).toThrow("null bytes");
    expect(held).toBe(0);
    await using running = startProcess(impossible, signal);
    expect(await running.ended).toMatchObject({
      exitCode: -1,
      error: { message: expect.stringContaining("null bytes") },
    });
    expect(held).toBe(0);
  });

  it("ends with the reason where there are no descriptors for its pipes", async () => {
    // In a process of its own, whose descriptors it uses up.
    const script = `
      import { closeSync, openSync } from "node:fs";
      import { startPiped, startProcess } from ${JSON.stringify(new URL("start-process.ts", import.meta.url))};
      let held = 0;
      const command = {
        ...{ argv: ["/bin/true"], workingDirectory: "/", environment: {} },
        ...{ shell: "/bin/bash", inputs: [], supervised: false },
        hold: () => (held++, { taken: [], [Symbol.dispose]: () => held-- }),
      };
      const opened = [];
      try {
        for (;;) opened.push(openSync("/dev/null"));
      } catch {}
      const running = startProcess(command, AbortSignal.timeout(60_000));
      const { error } = await running.ended;
      let thrown;
      try {
        startPiped(command);
      } catch (reason) {
        thrown = reason;
      }
      await new Promise((resolve) => setImmediate(resolve));
      for (const fd of opened) closeSync(fd);
      console.log(error.code, thrown.message, held);`;
    const { stdout, stderr } = spawnSync(
      SHELL,
      [
        ...["-c", 'ulimit -n 256; exec "$@"', "bash", process.execPath],
        ...["--conditions=@devtool/source", "--experimental-transform-types"],
        ...["--no-warnings", "--input-type=module", "-e", script],
      ],
      { encoding: "utf8" },
    );
    expect({ stdout, stderr }).toEqual({
      stdout: "EMFILE the process has no pipes 0\n",
      stderr: "",
    });
  });

  /**
   * A supervisor that does something, then waits as bwrap does, and then starts
   * its program.
   */
  function waiting(script: string): string {
    return `${script}; exec 3>&-; read -r -N 1 <&4; echo started`;
  }

  async function textOf(running: RunningProcess): Promise<string> {
    let text = "";
    for await (const piece of running.output()) text += piece;
    return text;
  }

  function command(script: string): SandboxedCommand {
    return {
      argv: [SHELL, "-c", script],
      workingDirectory: "/",
      environment: { PATH: "/usr/bin:/bin" },
      shell: SHELL,
      inputs: [],
      supervised: true,
      check: async (pid) => void checked.push(pid),
    };
  }
});
