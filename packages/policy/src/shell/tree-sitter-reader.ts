import { fileURLToPath } from "node:url";
import type { Node } from "web-tree-sitter";
import { literalWord } from "./literal-word.ts";
import {
  type Doubt,
  type DoubtKind,
  type Reading,
  redirectionText,
  type ShellReader,
  type SimpleCommand,
  targetDoubt,
} from "./reading.ts";

/** What kinds of node mean beside the commands in them; one that is missing here and in `PLAIN` is not understood. */
const DOUBTS: ReadonlyMap<string, readonly [DoubtKind, string]> = new Map([
  ["variable_assignment", ["assignment", "sets a variable"]],
  ["variable_assignments", ["assignment", "sets a variable"]],
  ["array", ["assignment", "sets a variable"]],
  ["function_definition", ["definition", "defines a function"]],
  ["declaration_command", ["builtin", "sets a variable"]],
  ["unset_command", ["builtin", "unsets a variable"]],
  ["test_command", ["builtin", "evaluates an expression"]],
  ["heredoc_redirect", ["heredoc", "carries its input"]],
  ["herestring_redirect", ["heredoc", "carries its input"]],
  ["command_substitution", ["expansion", "runs a command to make a word"]],
  ["process_substitution", ["expansion", "runs a command to make a file"]],
  ["simple_expansion", ["expansion", "has words that are expanded"]],
  ["expansion", ["expansion", "has words that are expanded"]],
  ["arithmetic_expansion", ["expansion", "has words that are expanded"]],
  ["brace_expression", ["expansion", "has words that are expanded"]],
  ["ansi_c_string", ["expansion", "has words that are expanded"]],
  ["translated_string", ["expansion", "has words that are expanded"]],
  ["extglob_pattern", ["expansion", "has words that are expanded"]],
  ["subshell", ["compound", "has a group"]],
  ["compound_statement", ["compound", "has a group"]],
  ["if_statement", ["compound", "has control flow"]],
  ["while_statement", ["compound", "has control flow"]],
  ["for_statement", ["compound", "has control flow"]],
  ["c_style_for_statement", ["compound", "has control flow"]],
  ["case_statement", ["compound", "has control flow"]],
]);

/** Kinds of node and tokens that stand for nothing but their children. */
const PLAIN: ReadonlySet<string> = new Set([
  ...["program", "list", "pipeline", "negated_command", "redirected_statement", "command", "command_name", "comment"],
  ...["word", "number", "string", "string_content", "raw_string", "concatenation", "file_redirect", "file_descriptor"],
  ...["&&", "||", ";", "|", "|&", "\n", '"', "!", ">", ">>", "<", "<>", ">&", "<&", ">|", "&>", "&>>"],
]);

let loading: Promise<ShellReader> | undefined;

/**
 * Loads the reader that is built on tree-sitter and its grammar of bash: one for the process, since a parser that is
 * collected as garbage breaks the memory that all of them share.
 */
export function createTreeSitterReader(): Promise<ShellReader> {
  loading ??= load();
  return loading;
}

async function load(): Promise<ShellReader> {
  const { Parser, Language } = await import("web-tree-sitter");
  await Parser.init();
  const grammar = fileURLToPath(import.meta.resolve("tree-sitter-bash/tree-sitter-bash.wasm"));
  const parser = new Parser().setLanguage(await Language.load(grammar));
  return (source) => {
    const tree = parser.parse(source);
    if (!tree) return { commands: [], doubts: [NOT_UNDERSTOOD], redirections: [] };
    try {
      return readTree(tree.rootNode);
    } finally {
      tree.delete();
    }
  };
}

const NOT_UNDERSTOOD: Doubt = { kind: "syntax", text: "is not understood" };

interface Found extends Reading {
  readonly commands: SimpleCommand[];
  readonly doubts: Doubt[];
  readonly redirections: string[];
}

function readTree(root: Node): Reading {
  const found = { commands: [] as SimpleCommand[], doubts: [] as Doubt[], redirections: [] as string[] };
  if (root.hasError) found.doubts.push(NOT_UNDERSTOOD);
  visit(root, found);
  return found;
}

function visit(node: Node, found: Found): void {
  const { type, children } = node;
  const doubt = doubtOf(type);
  if (doubt) found.doubts.push(doubt);
  if (type === "command") readCommand(children, found);
  if (type === "file_redirect") readRedirect(children, found);
  for (const child of children) visit(child, found);
}

function doubtOf(type: string): Doubt | undefined {
  if (PLAIN.has(type)) return undefined;
  if (type === "&") return { kind: "background", text: "goes on in the background" };
  const [kind, text] = DOUBTS.get(type) ?? [];
  // What only stands inside of what is doubted already, a keyword for instance, adds the same doubt again: no harm.
  return kind && text ? { kind, text } : { kind: "expansion", text: `has ${JSON.stringify(type)}` };
}

function readCommand(children: readonly Node[], found: Found): void {
  const words = wordTexts(children).map(literalWord);
  const [first] = words;
  if (!first) return;
  found.commands.push({ words: words.map(({ value }) => value) });
  found.doubts.push(...words.flatMap(({ doubt }) => doubt ?? []));
  if (first.doubt || first.value === "") found.doubts.push({ kind: "dynamic", text: "names no program" });
}

/** The texts of the words. The grammar takes some words for two; what touches is one. */
function wordTexts(children: readonly Node[]): string[] {
  const texts: string[] = [];
  let end = -1;
  for (const child of children.filter(({ type }) => !NO_WORDS.has(type))) {
    const before = child.startIndex === end ? (texts.pop() ?? "") : "";
    texts.push(before + child.text);
    end = child.endIndex;
  }
  return texts;
}

const NO_WORDS: ReadonlySet<string> = new Set([
  "variable_assignment",
  "file_redirect",
  "herestring_redirect",
  "comment",
]);

function readRedirect(children: readonly Node[], found: Found): void {
  const operator = children.find(({ isNamed }) => !isNamed)?.type ?? "";
  const targets = children.filter(({ isNamed, type }) => isNamed && type !== "file_descriptor");
  for (const target of targets) {
    const { value, doubt } = literalWord(target.text);
    if (doubt) found.doubts.push(targetDoubt(operator, value));
    const text = doubt ? `${operator} ${value}` : redirectionText(operator, value);
    if (text !== undefined) found.redirections.push(text);
  }
}
