import { posix } from "node:path";
import { type CompiledRule, namesPath } from "./compiled-rule.ts";
import {
  type PolicySubject,
  pathInWorkspace,
  pathOfWord,
} from "./policy-subject.ts";
import type { SimpleCommand } from "./shell/reading.ts";
import { wordUse } from "./shell/word-use.ts";

/** The characters between the paths in a word. */
const BETWEEN_PATHS = /[^\w./%+~-]+/;
/** Several words in one, which a shell that gets them would expand. */
const EXPANDED_TEXT = /^(?=.*\s).*(?:[$`*?[]|\{[^{}\s]*(?:,|\.\.))/s;

/**
 * Returns why a command may open a file that rules restrict, although they do
 * not apply to the command itself; undefined when it names none.
 *
 * `rules` are the rules about files that ask or deny, also those for other tools:
 * what one tool may not read or change, a command does not without a question.
 */
export function findUnseenFile(
  command: SimpleCommand,
  about: PolicySubject,
  rules: readonly CompiledRule[],
): string | undefined {
  if (rules.length === 0) return undefined;
  const [program = "", ...args] = command.words;
  const use = wordUse(command, () => false);
  const directory = posix.resolve(about.workspace, about.paths[0] ?? "");
  // The words of a program that only takes data are paths as a whole; others
  // may have them in code or in a command.
  const within = use === "data" ? [] : args;
  const paths = within.flatMap((word) =>
    word
      .split(BETWEEN_PATHS)
      .map((part) =>
        pathInWorkspace(pathOfWord(directory, part), about.workspace),
      ),
  );
  const mentioned = [...about.mentioned, ...paths];
  const rule = rules.find((compiled) => namesPath(compiled, mentioned));
  if (rule) return `names a file that ${rule.label} restricts`;
  if (use === "code") return `gives ${JSON.stringify(program)} code to run`;
  return use === "any" && args.some((word) => EXPANDED_TEXT.test(word))
    ? `gives ${JSON.stringify(program)} text that a shell may expand`
    : undefined;
}
