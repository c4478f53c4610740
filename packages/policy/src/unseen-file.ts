import { type CompiledRule, namesPath } from "./compiled-rule.ts";
import {
  BETWEEN_PATHS,
  bareSpellings,
  directoriesOf,
  isOfProcess,
  type PolicySubject,
  pathInWorkspace,
  pathsOfWord,
} from "./policy-subject.ts";
import type { SimpleCommand } from "./shell/reading.ts";
import { wordUse } from "./shell/word-use.ts";

/** Several words in one, which a shell that gets them would expand. */
const EXPANDED_TEXT = /^(?=.*\s).*(?:[$`*?[]|\{[^{}\s]*(?:,|\.\.))/s;

/** Commands that give all files of a directory other names. */
const RENAMING = /^(mv|cp|rsync|git mv) /;
/** Their flag for the directory that otherwise is their last word. */
const TARGET = /^-\w*t|^--target/;
/** Commands that make a link, which others in their line may open. */
const LINKING = /^(ln|link) /;

/**
 * Returns why a command may open a file that rules restrict, although they do
 * not apply to the command itself; undefined when it names none.
 *
 * `rules` are the rules about files that ask or deny, also those for other tools:
 * what one tool may not read or change, a command does not without a question.
 * `others` is how many commands its line has beside it.
 */
export function findUnseenFile(
  command: SimpleCommand,
  about: PolicySubject,
  rules: readonly CompiledRule[],
  others: number,
): string | undefined {
  if (rules.length === 0) return undefined;
  const [program = "", ...args] = command.words;
  const use = wordUse(command, () => false);
  const directories = directoriesOf(about);
  // The words of a program that only takes data are paths as a whole; others
  // may have them in code or in a command.
  const within = use === "data" ? [] : args;
  const pathsIn = (words: readonly string[]): string[] =>
    words
      .flatMap((word) => pathsOfWord(directories, word))
      .map((path) => pathInWorkspace(path, about.workspace));
  const paths = pathsIn(within.flatMap((word) => word.split(BETWEEN_PATHS)));
  const mentioned = [...about.mentioned, ...paths];
  const rule = rules.find((compiled) => namesPath(compiled, mentioned));
  if (rule) return `names a file that ${rule.label} restricts`;
  const link = mentioned.find(isOfProcess);
  if (link !== undefined) return `opens ${JSON.stringify(link)}, any file`;
  const spellings = bareSpellings(command.words).map((words) =>
    words.join(" "),
  );
  if (others > 0 && spellings.some((text) => LINKING.test(text))) {
    return "makes a link that another command may open";
  }
  const from = spellings.some((text) => RENAMING.test(text))
    ? pathsIn(args.some((word) => TARGET.test(word)) ? args : args.slice(0, -1))
    : [];
  const above = from.find((path) => rules.some((one) => isAbove(path, one)));
  if (above !== undefined) {
    return `renames ${JSON.stringify(above)}, in which rules restrict files`;
  }
  if (use === "code") return `gives ${JSON.stringify(program)} code to run`;
  return use === "any" && args.some((word) => EXPANDED_TEXT.test(word))
    ? `gives ${JSON.stringify(program)} text that a shell may expand`
    : undefined;
}

/** Whether a directory has files that a rule names by their place in it. */
function isAbove(path: string, { rule }: CompiledRule): boolean {
  return rule.path.some((pattern) => {
    const [place = ""] = /^[^*?[{!]*(?=\/|$)/.exec(pattern) ?? [];
    return place.startsWith(path && `${path}/`) && place !== "";
  });
}
