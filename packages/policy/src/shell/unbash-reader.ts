import type { SyntaxNode, Word } from "unbash";
import {
  type DoubtKind,
  isAnswer,
  isInput,
  type MutableReading,
  redirectionText,
  type ShellReader,
  type ShellWord,
  type SimpleCommand,
  targetDoubt,
} from "./reading.ts";

/**
 * The doubts that kinds of node raise. A kind that is neither here nor in
 * `PLAIN` raises a doubt by its name.
 */
const DOUBTS: ReadonlyMap<SyntaxNode["type"], DoubtKind> = new Map([
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

/**
 * The kinds of node that raise no doubt themselves. The parts of a word are
 * checked when its command is read.
 */
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

/** The words for a doubt that a kind of node raises. */
const DOUBT_TEXTS: ReadonlyMap<DoubtKind, string> = new Map([
  ["assignment", "sets a variable"],
  ["definition", "defines a function"],
  ["wrapper", "runs a program through another"],
  ["expansion", "has words that are expanded"],
  ["heredoc", "has a heredoc"],
  ["compound", "has control flow or a group"],
  ["builtin", "evaluates an expression"],
]);

/** Loads the reader that uses unbash. */
export async function createUnbashReader(): Promise<ShellReader> {
  const { parse, forEachChild } = await import("unbash");
  return (source) => {
    const reading: MutableReading = {
      commands: [],
      doubts: [],
      redirections: [],
    };
    const visit = (node: SyntaxNode, around: Input): void => {
      const input = opensInput(node) ? "fed" : around;
      readNode(node, input, reading);
      let before: SyntaxNode | undefined;
      forEachChild(node, (child) => {
        const isFed = node.type === "Pipeline" && feeds(before);
        visit(child, isFed ? "fed" : input);
        before = child;
      });
    };
    visit(parse(source), undefined);
    return reading;
  };
}

/** The input of the commands in a node. */
type Input = SimpleCommand["input"];

/** Whether a node redirects the input of what is in it. */
function opensInput(node: SyntaxNode): boolean {
  if (node.type === "ProcessSubstitution") return node.operator === ">";
  if (node.type !== "Command" && node.type !== "Redirected") return false;
  return node.redirects.some(
    (one) =>
      one.type !== "Redirect" || isInput(one.operator, one.target?.value ?? ""),
  );
}

/** Whether what stands before a part of a pipeline gives it more than an answer. */
function feeds(before: SyntaxNode | undefined): boolean {
  if (before === undefined || /^(Time|Negation)$/.test(before.type)) {
    return false;
  }
  if (before.type !== "Command") return true;
  const words = [before.name, ...before.args];
  return !isAnswer(words.map((word) => word?.text ?? ""));
}

/**
 * Adds the commands, doubts and redirections of a node itself to the reading,
 * without those of its descendants.
 */
function readNode(
  node: SyntaxNode,
  input: Input,
  reading: MutableReading,
): void {
  const { doubts } = reading;
  const kind = DOUBTS.get(node.type);
  if (kind !== undefined) {
    doubts.push({ kind, text: DOUBT_TEXTS.get(kind) ?? node.type });
  } else if (!PLAIN.has(node.type)) {
    doubts.push({ kind: "expansion", text: `has a ${node.type}` });
  }
  if (node.type === "Script" && node.errors?.length) {
    doubts.push({ kind: "syntax", text: "is not understood" });
  }
  if (node.type === "Statement" && node.background) {
    doubts.push({ kind: "background", text: "runs in the background" });
  }
  if (node.type === "Command" && node.name) {
    const args = node.args.flatMap((argument) =>
      argument.type === "Word" ? [argument] : [],
    );
    const words = [node.name, ...args].map(shellWord);
    const [program] = words;
    reading.commands.push({ words: words.map(({ value }) => value), input });
    doubts.push(...words.flatMap(({ doubt }) => doubt ?? []));
    if (program?.doubt || program?.value === "") {
      doubts.push({
        kind: "dynamic",
        text: `does not name its program at ${node.pos}`,
      });
    }
  }
  if (node.type !== "Redirect") return;
  const { operator, descriptor } = node;
  const word = node.target && shellWord(node.target);
  if (word?.doubt) doubts.push(targetDoubt(operator, word.value));
  const isPlain =
    word && !word.doubt && descriptor?.type !== "FileDescriptorVariable";
  const text = isPlain
    ? redirectionText(operator, word.value)
    : `${operator} ${word?.value ?? ""}`;
  if (text !== undefined) reading.redirections.push(text);
}

function shellWord(word: Word): ShellWord {
  const isExpanded = word.parts?.some((part) => {
    if (part.type === "DoubleQuoted") {
      return part.parts.some(({ type }) => type !== "Literal");
    }
    return part.type !== "Literal" && part.type !== "SingleQuoted";
  });
  if (!isExpanded) return { value: word.value, doubt: undefined };
  return {
    value: word.text,
    doubt: {
      kind: "expansion",
      text: `${JSON.stringify(word.text)} is expanded`,
    },
  };
}
