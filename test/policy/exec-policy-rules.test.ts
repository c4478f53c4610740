import { create } from "@bufbuild/protobuf";
import {
  createPolicyEngine,
  createShellAnalyzer,
  parsePolicyFile,
} from "@devtool/policy";
import {
  ApprovalMode,
  ExecuteDetailsSchema,
  TaskSchema,
  ToolCallSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { roundsOf, seedOf } from "../depth.ts";
import { diceOf } from "./exec-policy/dice.ts";
import { LAUNCHERS, RuledLine } from "./exec-policy/ruled-line.ts";
import { runInBash } from "./exec-policy/run-in-bash.ts";
import { PROGRAMS, WRAPPERS } from "./exec-policy/vocabulary.ts";
import { WildLine } from "./exec-policy/wild-line.ts";

const COUNT = roundsOf("DEVTOOL_RULED_COMMANDS", {
  quick: 150,
  ci: 200,
  deep: 100_000,
});
const SEED = seedOf();
/** How many lines are compared at a time: their logs are files. */
const BATCH = 5000;

/** What a rule names, and which calls of programs it means. */
const RULES: readonly { readonly rule: string; readonly means: RegExp }[] = [
  { rule: 'command_prefix = "rm"', means: /^rm( |$)/ },
  { rule: 'command_prefix = ["x1", "a-b -n"]', means: /^(x1|a-b -n)( |$)/ },
  { rule: 'command_prefix = "git push"', means: /^git push( |$)/ },
  {
    rule: 'command_prefix = "git push --force"',
    means: /^git push --force( |$)/,
  },
  {
    rule: 'command_prefix = "npm publish"',
    means: /^npm( -\S+)* publish( |$)/,
  },
  { rule: 'command_regex = "rm.*"', means: /^rm/ },
  { rule: 'command_regex = "git push.*"', means: /^git push/ },
  { rule: 'command_regex = "(rm|x1)( .*)?"', means: /^(rm|x1)( |$)/ },
];

describe("rules that deny in yolo mode, against a real bash (S3)", () => {
  it("let no denied program start without a question", {
    timeout: 180_000 + COUNT * 400,
  }, async () => {
    const found = { lines: 0, denied: 0, allowed: 0, missed: [] as string[] };
    for (let drawn = 0; drawn < COUNT; drawn += BATCH) {
      const dice = diceOf(SEED + drawn);
      const lines = Array.from({ length: Math.min(BATCH, COUNT - drawn) }, () =>
        (dice(4) === 0 ? new WildLine(dice) : new RuledLine(dice)).line(),
      );
      await compare(lines, found);
      console.log(
        `S3: ${found.lines} lines × ${RULES.length} rules, seed ${SEED}: ${found.denied} started a denied program, ${found.allowed} ran without a question; missed: ${found.missed.length}`,
      );
    }
    expect(found.missed).toEqual([]);
    expect(found.denied).toBeGreaterThan(COUNT / 4);
    expect(found.allowed).toBeGreaterThan(COUNT / 4);
  });
});

/** Adds what lines ran, and what the policy said of them under each rule. */
async function compare(
  lines: readonly string[],
  found: { lines: number; denied: number; allowed: number; missed: string[] },
): Promise<void> {
  const { logs } = await runInBash(lines, {
    stubs: PROGRAMS.filter((name) => !LAUNCHERS.includes(name)),
    wrappers: WRAPPERS,
    launchers: LAUNCHERS,
    files: ["push", "publish", "rm", "git", "-n"],
  });
  for (const { rule, means } of RULES) {
    const decide = decisionsUnder(`[[rule]]\n${rule}\ndecision = "deny"`);
    for (const [index, line] of lines.entries()) {
      const calls = (logs[index] ?? []).map((words) => words.join(" "));
      const ran = calls.find((call) => means.test(call));
      const decision = await decide(line);
      if (ran !== undefined) found.denied++;
      if (decision === "allow") found.allowed++;
      if (ran !== undefined && decision === "allow") {
        found.missed.push(`${rule}: ${JSON.stringify(line)} ran ${ran}`);
      }
    }
  }
  found.lines += lines.length;
}

const analyze = createShellAnalyzer();

/** Returns what a policy decides about a line in yolo mode. */
function decisionsUnder(rules: string): (line: string) => Promise<string> {
  const engine = createPolicyEngine({
    mode: ApprovalMode.YOLO,
    workspace: "/w",
    shellConfinement: "sandbox",
    rules: parsePolicyFile(rules, { tier: "user", file: "user.toml" }),
    analyze,
  });
  return async (command) => {
    const { decision } = await engine.decide(
      {
        call: create(ToolCallSchema, {
          toolName: "run_shell_command",
          inputParameters: { command },
        }),
        details: {
          case: "executeDetails",
          value: create(ExecuteDetailsSchema, { command }),
        },
        facts: undefined,
        task: create(TaskSchema),
      },
      AbortSignal.timeout(60_000),
    );
    return decision;
  };
}
