import { createRequire } from "node:module";
import type { Node } from "web-tree-sitter";
import { literalWord } from "./literal-word.ts";
import {
  type DoubtKind,
  isAnswer,
  isInput,
  type MutableReading,
  redirectionText,
  type ShellReader,
  type SimpleCommand,
  targetDoubt,
} from "./reading.ts";

/**
 * The doubts that kinds of node raise. A kind that is neither here nor in
 * `PLAIN` raises a doubt by its name.
 */
const DOUBTS: ReadonlyMap<string, readonly [DoubtKind, string]> = new Map([
  ["variable_assignment", ["assignment", "sets a variable"]],
  ["variable_assignments", ["assignment", "sets a variable"]],
  ["array", ["assignment", "sets a variable"]],
  ["function_definition", ["definition", "defines a function"]],
  ["declaration_command", ["builtin", "sets a variable"]],
  ["unset_command", ["builtin", "unsets a variable"]],
  ["test_command", ["builtin", "evaluates an expression"]],
  ["heredoc_redirect", ["heredoc", "has a heredoc"]],
  ["herestring_redirect", ["heredoc", "has a heredoc"]],
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

/** The kinds of node, and the tokens, that raise no doubt themselves. */
const PLAIN: ReadonlySet<string> = new Set([
  "program",
  "list",
  "pipeline",
  "negated_command",
  "redirected_statement",
  "command",
  "command_name",
  "comment",
  "word",
  "number",
  "string",
  "string_content",
  "raw_string",
  "concatenation",
  "file_redirect",
  "file_descriptor",
  "&&",
  "||",
  ";",
  "|",
  "|&",
  "\n",
  '"',
  "!",
  ">",
  ">>",
  "<",
  "<>",
  ">&",
  "<&",
  ">|",
  "&>",
  "&>>",
]);

/** The children of a command that are not its words. */
const NO_WORDS: ReadonlySet<string> = new Set([
  "variable_assignment",
  "file_redirect",
  "herestring_redirect",
  "comment",
]);

let loading: Promise<ShellReader> | undefined;

/**
 * Loads the reader that uses tree-sitter and its grammar of bash.
 *
 * There is one for the process: all parsers share one WebAssembly memory, which
 * breaks when a parser is garbage collected.
 */
export function createTreeSitterReader(): Promise<ShellReader> {
  loading ??= load().catch((reason: unknown) => {
    loading = undefined;
    throw reason;
  });
  return loading;
}

async function load(): Promise<ShellReader> {
  const { Parser, Language } = await import("web-tree-sitter");
  await Parser.init();
  const grammar = createRequire(import.meta.url).resolve(
    "tree-sitter-bash/tree-sitter-bash.wasm",
  );
  const parser = new Parser().setLanguage(await Language.load(grammar));
  return (source) => {
    const reading: MutableReading = {
      commands: [],
      doubts: [],
      redirections: [],
    };
    const tree = parser.parse(source);
    try {
      if (!tree || tree.rootNode.hasError) {
        reading.doubts.push({ kind: "syntax", text: "is not understood" });
      }
      if (tree) readNode(tree.rootNode, undefined, reading);
    } finally {
      tree?.delete();
    }
    return reading;
  };
}

/**
 * Adds the commands, doubts and redirections of a node and its descendants to
 * the reading.
 */
function readNode(node: Node, around: Input, reading: MutableReading): void {
  const { type, children } = node;
  const input = opensInput(node) ? "fed" : around;
  const [kind, text] = DOUBTS.get(type) ?? [];
  if (kind && text) {
    reading.doubts.push({ kind, text });
  } else if (type === "&") {
    reading.doubts.push({ kind: "background", text: "runs in the background" });
  }
  // A token inside a node that is in doubt, such as a keyword, repeats the
  // doubt: that does no harm.
  else if (!PLAIN.has(type)) {
    reading.doubts.push({
      kind: "expansion",
      text: `has ${JSON.stringify(type)}`,
    });
  }
  if (type === "command") readCommand(node, input, reading);
  if (type === "file_redirect") {
    const operator = children.find(({ isNamed }) => !isNamed)?.type ?? "";
    const targets = children.filter(
      (child) => child.isNamed && child.type !== "file_descriptor",
    );
    for (const target of targets) {
      const { value, doubt } = literalWord(target.text);
      if (doubt) reading.doubts.push(targetDoubt(operator, value));
      const redirection = doubt
        ? `${operator} ${value}`
        : redirectionText(operator, value);
      if (redirection !== undefined) reading.redirections.push(redirection);
    }
  }
  let before: Node | undefined;
  for (const child of children) {
    // The grammar has what follows `<<E` on its line within the redirection.
    const own = child.type === "heredoc_redirect" ? around : input;
    const isFed =
      (type === "pipeline" && feeds(before)) ||
      (type === "heredoc_redirect" && child.type === "pipeline");
    readNode(child, isFed ? "fed" : own, reading);
    if (child.isNamed) before = child;
  }
}

/** The input of the commands in a node. */
type Input = SimpleCommand["input"];

/** Whether a node redirects the input of what is in it. */
function opensInput({ type, text, children }: Node): boolean {
  if (type === "process_substitution") return text.startsWith(">");
  if (type !== "command" && type !== "redirected_statement") return false;
  return children.some((child) => {
    if (child.type !== "file_redirect") return /^here/.test(child.type);
    const operator = child.children.find(({ isNamed }) => !isNamed);
    return isInput(
      operator?.type ?? "",
      child.childForFieldName("destination")?.text ?? "",
    );
  });
}

/** Whether what stands before a part of a pipeline gives it more than an answer. */
function feeds(before: Node | undefined): boolean {
  return before !== undefined && !isAnswer(before.text.split(" "));
}

function readCommand(
  { children, endIndex, nextSibling }: Node,
  input: Input,
  reading: MutableReading,
): void {
  const texts: string[] = [];
  let end = -1;
  for (const child of children.filter(({ type }) => !NO_WORDS.has(type))) {
    // The grammar splits some words in two: nodes without a space between them
    // are one word.
    const before = child.startIndex === end ? (texts.pop() ?? "") : "";
    texts.push(before + child.text);
    end = child.endIndex;
  }
  // The grammar leaves out a last word `-` in front of a heredoc.
  if (nextSibling?.type === "heredoc_redirect") {
    const all = nextSibling.tree.rootNode.text;
    const lost = all.slice(endIndex, nextSibling.startIndex).trim();
    if (lost === "-") texts.push(lost);
  }
  const words = texts.map(literalWord);
  const [program] = words;
  if (!program) return;
  reading.commands.push({ words: words.map(({ value }) => value), input });
  reading.doubts.push(...words.flatMap(({ doubt }) => doubt ?? []));
  if (program.doubt || program.value === "") {
    reading.doubts.push({ kind: "dynamic", text: "does not name its program" });
  }
}
