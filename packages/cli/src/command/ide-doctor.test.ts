import { chmodSync } from "node:fs";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

describe("devtool ide doctor", () => {
  it("says for each agent where it looks, and shows no codes of a planted file to the terminal", async () => {
    const home = temporaryDirectory();
    const file = ".qwen/ide/1.lock";
    const folder = "/w\u001b]0;title\u0007\nQwen Code\n  ✓ forged";
    putFile(home, file, JSON.stringify({ port: 1, workspacePath: folder }));
    chmodSync(join(home, file), 0o644);
    const env = { HOME: home, TMPDIR: home, NO_COLOR: "1" };
    const { code, out } = await runCommand(
      ["ide", "doctor", "--workspace", home],
      { env },
    );
    expect(code).toBe(1);
    expect(out).not.toContain("\u001b");
    expect(out.split("\n")).toEqual([
      "Gemini CLI",
      `  · no companion has announced itself in "${home}/gemini/ide": open the folder in an editor with a companion`,
      "Qwen Code",
      `  ✗ ${home}/${file}`,
      `    refused: it is for "/w\\u{1b}]0;title\\u{7} Qwen Code ✓ forged": run the agent there, or open "${home}" in the editor`,
      `    warning: other users can read its token (mode 644): chmod 600 ${home}/${file}`,
      "Claude Code",
      `  · no companion has announced itself in "${home}/.claude/ide": open the folder in an editor with a companion`,
      "devtool",
      `  · no companion has announced itself in "${home}/gemini/ide": open the folder in an editor with a companion`,
      "",
    ]);
  });
});
