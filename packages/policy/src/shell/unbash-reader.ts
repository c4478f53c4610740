import type { Command, Redirect, SyntaxNode, Word, WordPart } from "unbash";
import {
  type Doubt,
  type DoubtKind,
  type Reading,
  redirectionText,
  type ShellReader,
  type ShellWord,
  type SimpleCommand,
  targetDoubt,
} from "./reading.ts";

/** What kinds of node mean beside the commands in them; one that is missing here and in `PLAIN` is not understood. */
const DOUBTS: ReadonlyMap<SyntaxNode["type"], DoubtKind> = new Map<SyntaxNode["type"], DoubtKind>([
  ["Assignment", "assignment"],
  ["ArrayValue", "assignment"],
  ["Function", "definition"],
  ["Coproc", "wrapper"],
  ["Time", "wrapper"],
  ["CommandExpansion", "expansion"],
  ["ProcessSubstitution", "expansion"],
  ["ArithmeticCommandExpansion", "expansion"],
  ["HereDoc", "heredoc"],
  ["HereString", "heredoc"],
  ["If", "compound"],
  ["For", "compound"],
  ["While", "compound"],
  ["Case", "compound"],
  ["Select", "compound"],
  ["Subshell", "compound"],
  ["BraceGroup", "compound"],
  ["ArithmeticFor", "compound"],
  ["ArithmeticCommand", "builtin"],
  ["TestCommand", "builtin"],
  ["Redirected", "compound"],
]);

/** Kinds of node that stand for nothing but their children. Words are judged as a whole, by their parts. */
const PLAIN: ReadonlySet<SyntaxNode["type"]> = new Set<SyntaxNode["type"]>([
  "Script",
  "Statement",
  "AndOr",
  "Pipeline",
  "Negation",
  "Command",
  "Word",
  "Redirect",
  "FileDescriptor",
  "Literal",
  "Glob",
  "SingleQuoted",
  "DoubleQuoted",
]);

/** Loads the reader that is built on unbash. */
export async function createUnbashReader(): Promise<ShellReader> {
  const { parse, forEachChild } = await import("unbash");
  return (source) => {
    const found = { commands: [] as SimpleCommand[], doubts: [] as Doubt[], redirections: [] as string[] };
    const visit = (node: SyntaxNode): void => {
      read(node, found);
      forEachChild(node, visit);
    };
    visit(parse(source));
    return found;
  };
}

interface Found extends Reading {
  readonly commands: SimpleCommand[];
  readonly doubts: Doubt[];
  readonly redirections: string[];
}

function read(node: SyntaxNode, found: Found): void {
  const kind = DOUBTS.get(node.type);
  if (kind !== undefined) found.doubts.push({ kind, text: NAMES.get(kind) ?? node.type });
  else if (!PLAIN.has(node.type)) found.doubts.push({ kind: "expansion", text: `has a ${node.type}` });
  if (node.type === "Script" && node.errors?.length) found.doubts.push({ kind: "syntax", text: "is not understood" });
  if (node.type === "Statement" && node.background)
    found.doubts.push({ kind: "background", text: "goes on in the background" });
  if (node.type === "Command") readCommand(node, found);
  if (node.type === "Redirect") readRedirect(node, found);
}

const NAMES: ReadonlyMap<DoubtKind, string> = new Map([
  ["assignment", "sets a variable"],
  ["definition", "defines a function"],
  ["wrapper", "runs a program through another"],
  ["expansion", "has words that are expanded"],
  ["heredoc", "carries its input"],
  ["compound", "has control flow or a group"],
  ["builtin", "evaluates an expression"],
]);

function readCommand({ name, args, pos }: Command, found: Found): void {
  if (!name) return;
  const words = [name, ...args.flatMap((argument) => (argument.type === "Word" ? [argument] : []))].map(shellWord);
  found.commands.push({ words: words.map(({ value }) => value) });
  found.doubts.push(...words.flatMap(({ doubt }) => doubt ?? []));
  const [first] = words;
  if (first?.doubt || first?.value === "") found.doubts.push({ kind: "dynamic", text: `names no program at ${pos}` });
}

function readRedirect({ operator, descriptor, target }: Redirect, found: Found): void {
  const word = target && shellWord(target);
  const isPlain = word && !word.doubt && descriptor?.type !== "FileDescriptorVariable";
  if (word?.doubt) found.doubts.push(targetDoubt(operator, word.value));
  const text = isPlain ? redirectionText(operator, word.value) : `${operator} ${word?.value ?? ""}`;
  if (text !== undefined) found.redirections.push(text);
}

function shellWord(word: Word): ShellWord {
  const part = word.parts?.find(isExpanded);
  if (!part) return { value: word.value, doubt: undefined };
  return { value: word.text, doubt: { kind: "expansion", text: `${JSON.stringify(word.text)} is expanded` } };
}

function isExpanded(part: WordPart): boolean {
  if (part.type === "DoubleQuoted") return part.parts.some(({ type }) => type !== "Literal");
  return part.type !== "Literal" && part.type !== "SingleQuoted";
}
