import { serveCodingAgent } from "@devtool/coding-agent";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { runCommand } from "./testing/run-command.ts";

describe("devtool run --goal", () => {
  it.each([
    [
      ["text x", "--check", "true"],
      "--check needs --goal: say with it what the agent is to achieve",
    ],
    [
      ["text x", "--max-turns", "2"],
      "--max-turns needs --goal: say with it what the agent is to achieve",
    ],
    [
      ["text x", "--check", ""],
      "--check needs --goal: say with it what the agent is to achieve",
    ],
    [
      ["text x", "--max-turns", ""],
      "--max-turns needs --goal: say with it what the agent is to achieve",
    ],
    [
      ["text x", "--max-cost", ""],
      "--max-cost needs --goal: say with it what the agent is to achieve",
    ],
    [
      ["--goal", "text x"],
      "--goal needs --check: a command whose exit code 0 says that it is achieved",
    ],
    [
      ["--goal", " ", "--check", "true"],
      "--goal is empty: say what the agent is to achieve",
    ],
    [
      ["text x", "--goal", "y", "--check", "true"],
      "both --goal and a prompt are given: choose one",
    ],
    [
      ["--goal", "y", "--check", "true", "--max-turns", "1e3"],
      '--max-turns "1e3" is not valid: give 1 to 1000',
    ],
    [
      ["--goal", "y", "--check", "true", "--max-turns", "1001"],
      '--max-turns "1001" is not valid: give 1 to 1000',
    ],
    [
      ["--goal", "y", "--check", "true", "--max-cost", "-1"],
      '--max-cost "-1" is not valid: give 5 or 0.5',
    ],
  ])("is refused before a server starts: %j", async (words, problem) => {
    expect(await runCommand(["run", ...words])).toMatchObject({
      code: 2,
      out: "",
      err: `devtool: ${problem}\n`,
    });
  });

  it("works until the checks pass, and says what each turn has come to", async () => {
    const workspace = temporaryDirectory();
    putFile(workspace, "lines.txt", "");
    await using server = await serveCodingAgent({
      workspace,
      approvalMode: ApprovalMode.YOLO,
    });
    const check = "wc -l < lines.txt | grep -x 2";
    const goal = "run echo line >> lines.txt\ntext done";
    const pursue = (turns: string) =>
      runCommand([
        ...["run", "--url", server.url, "--token", server.token],
        ...["--goal", goal, "--check", check, "--max-turns", turns],
      ]);
    const unmet = await pursue("1");
    expect(unmet.code).toBe(3);
    expect(unmet.out).toContain(
      `The goal is not achieved: check "${check}" fails after turn 1 of 1.`,
    );
    const { code, out } = await pursue("5");
    expect(out).toContain("The goal is achieved after 1 of 5 turns");
    expect(code).toBe(0);
  });
});
