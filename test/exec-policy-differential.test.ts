import { describe, expect, it } from "vitest";
import {
  createShellAnalyzer,
  type ShellAnalysis,
  type ShellAnalyzer,
} from "../packages/server/src/tool/policy/shell/shell-analysis.ts";
import { createTreeSitterReader } from "../packages/server/src/tool/policy/shell/tree-sitter-reader.ts";
import { createUnbashReader } from "../packages/server/src/tool/policy/shell/unbash-reader.ts";
import { generateCommands } from "./exec-policy/generate.ts";
import { runInBash } from "./exec-policy/run-in-bash.ts";
import { PROGRAMS, WRAPPERS } from "./exec-policy/vocabulary.ts";

const COUNT = Number(process.env.DEVTOOL_SHELL_COMMANDS ?? 3000);
const SEED = Number(process.env.DEVTOOL_SHELL_SEED ?? 1);

/** Doubts that say themselves that a command may run which was not seen. */
const BLIND: ReadonlySet<string> = new Set(["syntax", "limit", "characters", "dynamic"]);

describe("the analysis of shell commands, against a real bash (S10)", () => {
  const timeout = 30_000 + COUNT * 40;

  it("knows every program that runs, with its very words when it has no doubt", { timeout }, async () => {
    const started = performance.now();
    const found = await compare(generateCommands(COUNT, SEED), createShellAnalyzer());
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(
      `S10: ${COUNT} commands, seed ${SEED}, ${seconds} s: ${found.runs} programs ran; ${found.certain} commands without doubt ` +
        `ran ${found.certainRuns}; ${found.blind} were not understood, ${found.endless} without end; missed: ${found.missed.length}`,
    );
    expect(found.missed).toEqual([]);
    expect(found.certain).toBeGreaterThan(COUNT / 4);
    expect(found.certainRuns).toBeGreaterThan(COUNT / 4);
    expect(found.blind).toBeLessThan(COUNT / 3);
  });

  it("would be caught if its readers dropped the ends of lines", { timeout }, async () => {
    const { missed } = await compare(
      generateCommands(200, SEED),
      careless((source) => source.split("\n")[0] ?? ""),
    );
    expect(missed.length).toBeGreaterThan(0);
  });

  it("would be caught if its readers did not look into substitutions", { timeout }, async () => {
    const { missed } = await compare(
      generateCommands(300, SEED),
      careless((source) => source.replaceAll(/\$\([^()]*\)/g, "x")),
    );
    expect(missed.length).toBeGreaterThan(0);
  });
});

interface Comparison {
  /** So many programs ran. */
  readonly runs: number;
  /** So many commands had no doubt, and so many programs ran for them. */
  readonly certain: number;
  readonly certainRuns: number;
  /** So many commands were not understood, and said so. */
  readonly blind: number;
  /** So many commands had to be killed; what they ran until then counts. */
  readonly endless: number;
  /** What ran and was not known. */
  readonly missed: readonly { readonly command: string; readonly ran: readonly string[] }[];
}

async function compare(commands: readonly string[], analyze: ShellAnalyzer): Promise<Comparison> {
  const { logs, endless } = await runInBash(commands, { stubs: PROGRAMS, wrappers: WRAPPERS });
  const seen = await Promise.all(
    commands.map(async (command, index) => ({ command, analysis: await analyze(command), ran: logs[index] ?? [] })),
  );
  const certain = seen.filter(({ analysis }) => analysis.doubts.length === 0);
  return {
    runs: seen.flatMap(({ ran }) => ran).length,
    certain: certain.length,
    certainRuns: certain.flatMap(({ ran }) => ran).length,
    blind: seen.filter(({ analysis }) => isBlind(analysis)).length,
    endless,
    missed: seen.flatMap(({ command, analysis, ran }) =>
      ran.filter((words) => !isKnown(words, analysis)).map((words) => ({ command, ran: words })),
    ),
  };
}

function isBlind({ doubts }: ShellAnalysis): boolean {
  return doubts.some(({ kind }) => BLIND.has(kind));
}

/** A command without doubt must be known by all its words; one that asks anyway by its program. */
function isKnown(words: readonly string[], analysis: ShellAnalysis): boolean {
  if (isBlind(analysis)) return true;
  const names = analysis.commands.map((command) => command.words[0]);
  if (analysis.doubts.length > 0) return names.includes(words[0]);
  return analysis.commands.some((command) => JSON.stringify(command.words) === JSON.stringify(words));
}

/** An analyzer whose readers see something else than bash runs. */
function careless(change: (source: string) => string): ShellAnalyzer {
  return createShellAnalyzer(async () => {
    const [unbash, treeSitter] = await Promise.all([createUnbashReader(), createTreeSitterReader()]);
    return [(source) => unbash(change(source)), (source) => treeSitter(change(source))];
  });
}
