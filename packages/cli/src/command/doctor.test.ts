import { rmSync } from "node:fs";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

describe("devtool doctor", () => {
  it("runs a program in the sandbox, and says whether that works and what to do", async () => {
    const data = temporaryDirectory();
    const { out } = await runCommand(["doctor", "--data", data]);
    rmSync(data, { recursive: true });
    expect(out).toMatch(
      /^· sandbox +(bwrap confines shell commands|sandbox "bwrap" cannot be used: .+: .+, or choose "none")$/m,
    );
  });
});
