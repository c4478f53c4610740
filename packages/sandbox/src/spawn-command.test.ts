import { describe, expect, it } from "vitest";
import type { SandboxedCommand } from "./sandbox.ts";
import { type RunningProcess, startProcess } from "./start-process.ts";

const signal = AbortSignal.timeout(60_000);
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
