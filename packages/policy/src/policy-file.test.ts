import { execFileSync } from "node:child_process";
import { chmod, chown, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeAll, describe, expect, it } from "vitest";
import { parsePolicyFile } from "./parse-policy-file.ts";
import { readPolicyFile } from "./policy-file.ts";

describe("a policy file", () => {
  let directory: string;
  beforeAll(() => {
    directory = temporaryDirectory();
  });

  it("names the rule, the field and the remedy when it is invalid", () => {
    const errorFor = (text: string): string => {
      try {
        parsePolicyFile(text, { tier: "user", file: "policy.toml" });
        return "nothing";
      } catch (reason) {
        return String(reason);
      }
    };
    const rule = (text: string): string =>
      errorFor(`[[rule]]\ndecision = "ask"\n[[rule]]\n${text}`);
    const about = 'PolicyError: policy file "policy.toml"';
    expect(errorFor("[[rule]")).toContain(
      `${about} is not valid TOML: line 1, column 8: expected end of table array declaration`,
    );
    expect(errorFor("rules = 1")).toBe(
      `${about} has "rules": write [[rule]] tables only`,
    );
    expect(errorFor("rule = 1")).toBe(
      `${about} has a rule that is not a [[rule]] table`,
    );
    expect(rule('tool = "a"')).toBe(
      `${about} rule 2: decision is missing: choose allow, ask or deny`,
    );
    expect(rule('decision = "alow"')).toBe(
      `${about} rule 2: decision "alow" is unknown: choose allow, ask, deny`,
    );
    expect(rule('decision = "ask"\nmodes = ["fast"]')).toBe(
      `${about} rule 2: modes "fast" is unknown: choose default, auto_edit, plan, yolo`,
    );
    expect(rule('decision = "ask"\npriority = 1000')).toBe(
      `${about} rule 2: priority "1000" cannot be used: choose 0 to 999`,
    );
    expect(rule('decision = "ask"\ntool = "mcp_*"')).toBe(
      `${about} rule 2: tool "mcp_*" cannot be used: choose a name, * or mcp__<server>__*`,
    );
    expect(rule('decision = "ask"\ncommand_prefix = "git  push"')).toBe(
      `${about} rule 2: command_prefix "git  push" cannot be used: separate words by single spaces and put others in single quotes`,
    );
    expect(rule('decision = "ask"\ncommand_regex = "(a"')).toBe(
      `${about} rule 2: pattern "(a" is not in RE2's syntax: missing closing ): \`(a\``,
    );
    expect(rule('decision = "ask"\ncomand_prefix = "git push"')).toContain(
      `${about} rule 2: `,
    );
    expect(rule('decision = "ask"\ncomand_prefix = "git push"')).toContain(
      "comand_prefix is unknown: the fields here are name, ",
    );
    expect(rule('decision = "ask"\npriority = "high"')).toContain(
      'priority must be an integer, got "high"',
    );
  });

  it.each([
    "tool = []",
    'mcp_server = ""',
    "command_prefix = []",
    'command_regex = ""',
    'args_pattern = ""',
    "path = []",
    "annotations = {}",
    "modes = []",
  ])(
    "is refused with a condition that is empty and would hold for every call: %s",
    (condition) => {
      const text = `[[rule]]\n${condition}\ndecision = "allow"\n`;
      expect(() =>
        parsePolicyFile(text, { tier: "user", file: "policy.toml" }),
      ).toThrow(
        `rule 1: ${condition.split(" ")[0]} is empty: name what it holds for, or leave it out`,
      );
    },
  );

  it.each([
    [
      "a tool of another alphabet",
      'tool = "run_shell_\u0441ommand"',
      'tool "run_shell_\u0441ommand" cannot be used',
    ],
    ["two decisions", 'decision = "allow"', "is not valid TOML"],
    ["a zero byte", 'tool = "a\u0000"', "is not valid TOML"],
    [
      "a prototype",
      '__proto__ = { decision = "allow" }',
      "__proto__ is unknown",
    ],
  ])(
    "is refused with %s, which would match nothing",
    (_what, condition, problem) => {
      const text = `[[rule]]\n${condition}\ndecision = "deny"\n`;
      expect(() =>
        parsePolicyFile(text, { tier: "user", file: "policy.toml" }),
      ).toThrow(problem);
    },
  );

  it.each([
    ["a server's tools", 'tool = "mcp__notes\u200b__*"', "U+200B in line 2"],
    ["a server", 'mcp_server = "no\u00adtes"', "U+00AD in line 2"],
    ["a path", 'path = [".env", ".en\ufeffv"]', "U+FEFF in line 2"],
    ["a pattern", 'args_pattern = "a\u202eb"', "U+202E in line 2"],
    ["a comment", "# \u{e0041}", "U+E0041 in line 2"],
  ])(
    "is refused with an invisible character in %s, unless it is an escape",
    async (what, condition, problem) => {
      const path = join(directory, `invisible ${what}.toml`);
      await writeFile(path, `[[rule]]\n${condition}\ndecision = "deny"\n`);
      await expect(readPolicyFile({ path, tier: "operator" })).rejects.toThrow(
        problem,
      );
      const escaped = condition.replace(/\p{Cf}/u, (hidden) => {
        return `\\U${hidden.codePointAt(0)?.toString(16).padStart(8, "0")}`;
      });
      await writeFile(path, `[[rule]]\n${escaped}\ndecision = "deny"\n`);
      expect(await readPolicyFile({ path, tier: "operator" })).toHaveLength(1);
    },
  );

  it("may begin with a byte order mark, and have lines of Windows", async () => {
    const path = join(directory, "windows.toml");
    await writeFile(
      path,
      '\ufeff[[rule]]\r\ntool = "*"\r\ndecision = "deny"\r\n',
    );
    expect(await readPolicyFile({ path, tier: "operator" })).toMatchObject([
      { decision: "deny" },
    ]);
  });

  it("is refused if it is very large", async () => {
    const path = join(directory, "large.toml");
    await writeFile(path, "# a\n".repeat(100_000));
    await expect(readPolicyFile({ path, tier: "operator" })).rejects.toThrow(
      "has 400000 bytes: limit is 262144",
    );
  });

  it("may not exist", async () => {
    expect(
      await readPolicyFile({
        path: join(directory, "none.toml"),
        tier: "user",
      }),
    ).toEqual([]);
  });

  it("must exist where an operator names it", async () => {
    const path = join(directory, "none.toml");
    await expect(readPolicyFile({ path, tier: "operator" })).rejects.toThrow(
      'none.toml" cannot be read: ENOENT',
    );
  });

  it.each([
    [
      "a link that leads nowhere",
      "cannot be read: ENOENT",
      (path: string) => symlink("nowhere", path),
    ],
    [
      "a link to itself",
      "cannot be read: ELOOP",
      (path: string) => symlink(path, path),
    ],
    ["a directory", "is not a regular file", (path: string) => mkdir(path)],
    [
      "a pipe, which nobody writes",
      "is not a regular file",
      (path: string) => execFileSync("mkfifo", ["-m", "600", path]),
    ],
  ])(
    "is an error, and not a file without rules, when it is %s",
    async (what, problem, make) => {
      const path = join(directory, `${what}.toml`);
      await make(path);
      await expect(
        readPolicyFile({ path, tier: "user", label: "policy.toml" }),
      ).rejects.toThrow(`policy file "policy.toml" ${problem}`);
    },
  );

  it("is refused if others than its owner may write it", async () => {
    const path = join(directory, "policy.toml");
    await writeFile(path, '[[rule]]\ntool = "*"\ndecision = "deny"\n');
    await chmod(path, 0o666);
    const source = {
      path,
      tier: "operator",
      label: "operator/policy.toml",
    } as const;
    await expect(readPolicyFile(source)).rejects.toThrow(
      'policy file "operator/policy.toml" may be changed by others (mode 666): run chmod go-w',
    );
    await chmod(path, 0o644);
    expect(await readPolicyFile(source)).toMatchObject([
      { decision: "deny", label: "operator/policy.toml:1" },
    ]);
  });

  it.skipIf(process.getuid?.() !== 0)(
    "is refused if it belongs to another user",
    async () => {
      const path = join(directory, "theirs.toml");
      await writeFile(path, "");
      await chown(path, 65_534, 65_534);
      await expect(readPolicyFile({ path, tier: "operator" })).rejects.toThrow(
        "belongs to another user: chown it",
      );
    },
  );
});
