import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { runProgram } from "../program.ts";

describe("devtool doctor", () => {
  it("runs a program in the sandbox, and says whether that works and what to do", async () => {
    const data = mkdtempSync(join(tmpdir(), "devtool-doctor-"));
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const io = { stdin, stdout, stderr, env: {}, interactive: false };
    await runProgram(["doctor", "--data", data], {
      ...io,
      onInterrupt: () => () => undefined,
      interrupt: () => undefined,
    });
    rmSync(data, { recursive: true });
    expect(String(stdout.read())).toMatch(
      /^· sandbox +(bwrap confines shell commands|sandbox "bwrap" cannot be used: .+: .+, or choose "none")$/m,
    );
  });
});
