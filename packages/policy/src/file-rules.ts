import { create } from "@bufbuild/protobuf";
import { ToolCallSchema } from "@devtool/schema";
import { type CompiledRule, isAbout } from "./compiled-rule.ts";
import type { FileAccess, ReadDecision, WalkingCall } from "./file-access.ts";
import { type PolicyPlace, type PolicySubject, policySubject } from "./policy-subject.ts";
import { runsRepositoryFilters } from "./repository-filters.ts";
import { decidingRule, inOrder } from "./rule-order.ts";
import type { SimpleCommand } from "./shell/reading.ts";
import { showsUnnamedFiles } from "./shell/unnamed-files.ts";

/** The tool whose rules about a file hold for every other way to see what is in it. */
const READER = "read_file";
/** The tools that show what is in files. */
const READERS: readonly string[] = [READER, "read_many_files", "search_file_content"];

/**
 * Holds the rules that name paths against each file that a call comes upon. A file that is denied is never shown; one that
 * is asked about only where it is, or lies in, a place that the call names and the user was asked about. What is in a file
 * is shown only where `read_file` would show it, too.
 */
export function createFileAccess(rules: readonly CompiledRule[], place: PolicyPlace): FileAccess {
  if (!rules.some(isRestriction)) return () => () => true;
  const ordered = inOrder(rules);
  return (call) => {
    const decide = (path: string): Decision => fileDecision(ordered, subjectOf(call, path, place));
    const asked = call.named.filter((path) => decide(path) === "ask");
    return (path) => {
      const own = decide(path);
      const isApproved = own === "ask" && asked.some((named) => isIn(named, path));
      if (own !== "allow" && !isApproved) return false;
      if (call.shows === "names") return true;
      const read = fileDecision(ordered, subjectOf({ ...call, toolName: READER }, path, place));
      return read === "allow" || (read === "ask" && isApproved);
    };
  };
}

/** Makes what the rules that name paths decide about reading a file, whatever the tool that shows it. */
export function createReadDecision(rules: readonly CompiledRule[], place: PolicyPlace): ReadDecision {
  const ordered = inOrder(rules);
  return (path) => fileDecision(ordered, subjectOf({ toolName: READER, args: { file_path: path } }, path, place));
}

/** Whether a rule about reading asks about or denies one of the files that a call changes: the change shows what is in it. */
export function keepsBack(rules: readonly CompiledRule[], about: PolicySubject): boolean {
  const reading = { ...about, call: { ...about.call, toolName: READER } };
  return about.paths.some((path) => fileDecision(rules, inFile(reading, path)) !== "allow");
}

/**
 * Finds the rule because of which a command may not run just since it only reads: it mentions a file that a rule asks about
 * or denies, or shows files that it does not name while there are such rules.
 */
export function withholdingRule(
  { words }: SimpleCommand,
  about: PolicySubject,
  rules: readonly CompiledRule[],
): Withholding | undefined {
  for (const toolName of [about.call.toolName, ...READERS]) {
    const subject = { ...about, call: { ...about.call, toolName } };
    const ofCommands = toolName === about.call.toolName;
    const restrictions = rules.filter((compiled) => isRestriction(compiled) && isAbout(compiled, subject));
    const showsMore = (): boolean => showsUnnamedFiles(words) || runsRepositoryFilters(words, about.workspace);
    const compiled =
      restrictions.length > 0 && showsMore()
        ? restrictions[0]
        : restrictions.find(() =>
            about.mentioned.some((path) => fileDecision(rules, inFile(subject, path)) !== "allow"),
          );
    if (compiled) return { compiled, ofCommands };
  }
  return undefined;
}

/** A rule that keeps files back. */
export interface Withholding {
  readonly compiled: CompiledRule;
  /** Whether the rule speaks of commands themselves, or of tools that read. */
  readonly ofCommands: boolean;
}

type Decision = CompiledRule["decision"];

/** What the rules that name paths say about one file. A rule without paths is about the call as a whole. */
function fileDecision(ordered: readonly CompiledRule[], subject: PolicySubject): Decision {
  const found = decidingRule(ordered, subject);
  return found && found.compiled.rule.path.length > 0 ? found.decision : "allow";
}

function isRestriction({ rule, decision }: CompiledRule): boolean {
  return decision !== "allow" && rule.path.length > 0;
}

function subjectOf(
  { toolName, args }: Pick<WalkingCall, "toolName" | "args">,
  path: string,
  place: PolicyPlace,
): PolicySubject {
  const call = create(ToolCallSchema, { toolName, inputParameters: args });
  return inFile(policySubject({ call, facts: undefined, details: undefined }, place), path);
}

function inFile(subject: PolicySubject, path: string): PolicySubject {
  return { ...subject, paths: [path], mentioned: [], command: undefined, bareCommands: [] };
}

function isIn(directory: string, path: string): boolean {
  return directory === "" || path === directory || path.startsWith(`${directory}/`);
}
