import { readFileSync } from "node:fs";
import { createShellAnalyzer, type ShellAnalyzer } from "@devtool/policy";
import type { ShellAnalysis } from "@devtool/policy/testing";
import {
  createTreeSitterReader,
  createUnbashReader,
} from "@devtool/policy/testing";
import { describe, expect, it } from "vitest";
import { LEFT_TO_CI, roundsOf, seedOf } from "../depth.ts";
import { generateCommands } from "./exec-policy/generate.ts";
import { runInBash } from "./exec-policy/run-in-bash.ts";
import { PROGRAMS, WRAPPERS } from "./exec-policy/vocabulary.ts";

const COUNT = roundsOf("DEVTOOL_SHELL_COMMANDS", {
  quick: 200,
  ci: 250,
  deep: 500_000,
});
const SEED = seedOf();
/** How many lines are compared at a time: their logs are files. */
const BATCH = 10_000;

/** Lines that run a substitution although it stands in quotes. */
const EVALUATED: readonly string[] = JSON.parse(
  readFileSync(new URL("exec-policy/evaluated.json", import.meta.url), "utf8"),
);

/** Doubts that say themselves that a command may run which was not seen. */
const BLIND: ReadonlySet<string> = new Set([
  "syntax",
  "limit",
  "characters",
  "dynamic",
]);

describe("the analysis of shell commands, against a real bash (S10)", () => {
  // It only ends a run that hangs: a busy machine takes 80 milliseconds a
  // command.
  const timeout = 180_000 + COUNT * 200;

  it("knows every program that runs, with its very words when it has no doubt", {
    timeout,
  }, async () => {
    const started = performance.now();
    const found = await compareInBatches(createShellAnalyzer());
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(
      `S10: ${COUNT} commands, seed ${SEED}, ${seconds} s: ${found.runs} programs ran; ${found.certain} commands without doubt ` +
        `ran ${found.certainRuns}; ${found.blind} were not understood, ${found.endless} without end; missed: ${found.missed.length}`,
    );
    expect(found.missed).toEqual([]);
    expect(found.changed).toEqual([]);
    expect(found.certain).toBeGreaterThan(COUNT / 4);
    expect(found.certainRuns).toBeGreaterThan(COUNT / 4);
    expect(found.blind).toBeLessThan(COUNT / 3);
  });

  it("doubts what sets variables behind the back of both readers (H3)", async () => {
    const analyze = createShellAnalyzer();
    const trusting: ShellAnalyzer = async (source) => {
      const analysis = await analyze(source);
      return {
        ...analysis,
        doubts: analysis.doubts.filter(({ kind }) => kind !== "continuation"),
      };
    };
    const [path, home, word] = [
      "echo {PATH}\\\n>/dev/null; ls",
      "echo {HOME}\\\n>/dev/null; ls",
      "ls 2\\\n>&1",
    ];
    expect(await compare([path, home, word], analyze)).toMatchObject({
      certain: 0,
      changed: [],
      missed: [],
    });
    const fooled = await compare([path, home, word], trusting);
    expect(fooled.changed).toEqual([path, home]);
    expect(fooled.missed).toContainEqual({ command: word, ran: ["ls"] });
    for (const line of [
      "echo {PATH}>/dev/null; ls",
      "ls {a[0]}>&2",
      "sh -c 'echo {HOME}>/dev/null'",
      "'a\\\nb'",
    ]) {
      expect((await analyze(line)).doubts, line).not.toEqual([]);
    }
    for (const line of [
      "echo {} >/dev/null",
      "grep -rn '{name}' src",
      "ls 'a\nb'",
      "git show HEAD@{1} 2>&1",
    ]) {
      expect((await analyze(line)).doubts, line).toEqual([]);
    }
  });

  it("doubts what runs substitutions although they stand in quotes: arithmetic and indexes", async () => {
    const analyze = createShellAnalyzer();
    const trusting: ShellAnalyzer = async (source) => {
      const analysis = await analyze(source);
      return {
        ...analysis,
        doubts: analysis.doubts.filter(({ kind }) => kind !== "dynamic"),
      };
    };
    expect(await compare(EVALUATED, analyze)).toMatchObject({
      certain: 0,
      missed: [],
    });
    const { missed } = await compare(EVALUATED, trusting);
    expect([...new Set(missed.map(({ command }) => command))]).toEqual(
      EVALUATED,
    );
    for (const line of [
      "awk '{ print $(NF) }' a.txt",
      "grep -n '[0-9]$' a.txt",
      "echo '`' \"$HOME\"",
    ]) {
      expect(
        (await analyze(line)).doubts.map(({ kind }) => kind),
        line,
      ).not.toContain("dynamic");
    }
  });

  const itInCi = it.skipIf(LEFT_TO_CI !== "");
  itInCi(
    `would be caught if its readers dropped the ends of lines${LEFT_TO_CI}`,
    { timeout },
    async () => {
      const { missed } = await compare(
        generateCommands(200, SEED),
        careless((source) => source.split("\n")[0] ?? ""),
      );
      expect(missed.length).toBeGreaterThan(0);
    },
  );

  itInCi(
    `would be caught if its readers did not look into substitutions${LEFT_TO_CI}`,
    { timeout },
    async () => {
      const { missed } = await compare(
        generateCommands(300, SEED),
        careless((source) => source.replaceAll(/\$\([^()]*\)/g, "x")),
      );
      expect(missed.length).toBeGreaterThan(0);
    },
  );
});

interface Comparison {
  /** Number of programs that ran. */
  readonly runs: number;
  /**
   * Number of commands without a doubt, and of the programs that ran for them.
   */
  readonly certain: number;
  readonly certainRuns: number;
  /** Number of commands that the policy said it did not understand. */
  readonly blind: number;
  /**
   * Number of commands that were killed; the programs they ran until then
   * count.
   */
  readonly endless: number;
  /**
   * Lines that changed the state of the shell although the readers had no doubt
   * about them.
   */
  readonly changed: readonly string[];
  /** Commands that ran although no reader saw them. */
  readonly missed: readonly {
    readonly command: string;
    readonly ran: readonly string[];
  }[];
}

/** Draws and compares all lines, batch by batch, each from the next seed. */
async function compareInBatches(analyze: ShellAnalyzer): Promise<Comparison> {
  const batches: Comparison[] = [];
  for (let drawn = 0; drawn < COUNT; drawn += BATCH) {
    batches.push(
      await compare(
        generateCommands(Math.min(BATCH, COUNT - drawn), SEED + batches.length),
        analyze,
      ),
    );
    if (COUNT > BATCH) {
      console.log(
        `S10: ${batches.length * BATCH} commands, missed: ${sum(batches.map(({ missed }) => missed.length))}`,
      );
    }
  }
  return {
    runs: sum(batches.map(({ runs }) => runs)),
    certain: sum(batches.map(({ certain }) => certain)),
    certainRuns: sum(batches.map(({ certainRuns }) => certainRuns)),
    blind: sum(batches.map(({ blind }) => blind)),
    endless: sum(batches.map(({ endless }) => endless)),
    changed: batches.flatMap(({ changed }) => changed),
    missed: batches.flatMap(({ missed }) => missed),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

async function compare(
  commands: readonly string[],
  analyze: ShellAnalyzer,
): Promise<Comparison> {
  const { logs, changed, endless } = await runInBash(commands, {
    stubs: PROGRAMS,
    wrappers: WRAPPERS,
  });
  const seen = await Promise.all(
    commands.map(async (command, index) => ({
      command,
      analysis: await analyze(command),
      ran: logs[index] ?? [],
    })),
  );
  const certain = seen.filter(({ analysis }) => analysis.doubts.length === 0);
  return {
    runs: seen.flatMap(({ ran }) => ran).length,
    certain: certain.length,
    certainRuns: certain.flatMap(({ ran }) => ran).length,
    blind: seen.filter(({ analysis }) => isBlind(analysis)).length,
    endless,
    changed: seen.flatMap(({ command, analysis }, index) =>
      changed[index] && analysis.doubts.length === 0 ? [command] : [],
    ),
    missed: seen.flatMap(({ command, analysis, ran }) =>
      ran
        .filter((words) => !isKnown(words, analysis))
        .map((words) => ({ command, ran: words })),
    ),
  };
}

function isBlind({ doubts }: ShellAnalysis): boolean {
  return doubts.some(({ kind }) => BLIND.has(kind));
}

/**
 * A command without doubt must be known by all its words; one that asks anyway
 * by its program.
 */
function isKnown(words: readonly string[], analysis: ShellAnalysis): boolean {
  if (isBlind(analysis)) return true;
  const names = analysis.commands.map((command) => command.words[0]);
  if (analysis.doubts.length > 0) return names.includes(words[0]);
  return analysis.commands.some(
    (command) => JSON.stringify(command.words) === JSON.stringify(words),
  );
}

/** An analyzer whose readers see something else than bash runs. */
function careless(change: (source: string) => string): ShellAnalyzer {
  return createShellAnalyzer(async () => {
    const [unbash, treeSitter] = await Promise.all([
      createUnbashReader(),
      createTreeSitterReader(),
    ]);
    return [
      (source) => unbash(change(source)),
      (source) => treeSitter(change(source)),
    ];
  });
}
