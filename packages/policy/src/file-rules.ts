import { create, type JsonObject } from "@bufbuild/protobuf";
import { ToolCallSchema } from "@devtool/schema";
import { type CompiledRule, isAbout } from "./compiled-rule.ts";
import {
  isOfProcess,
  NO_LINKS,
  type PolicyPlace,
  type PolicySubject,
  policySubject,
} from "./policy-subject.ts";
import { runsRepositoryFilters } from "./repository-filters.ts";
import { findDecidingRule, sortRules } from "./rule-order.ts";
import type { SimpleCommand } from "./shell/reading.ts";
import { showsUnnamedFiles } from "./shell/unnamed-files.ts";

/**
 * The tool whose rules about a file apply to every other way to show the
 * content of that file.
 */
const READER = "read_file";
/** The tools that show the content of files. */
const READERS: readonly string[] = [
  READER,
  "read_many_files",
  "search_file_content",
];

/**
 * A call of a tool that shows files which its arguments do not name one by one,
 * for instance a search.
 */
export interface WalkingCall {
  readonly toolName: string;
  readonly args: JsonObject;
  /**
   * The paths that the arguments name, relative to the workspace. The policy
   * has decided about these.
   */
  readonly named: readonly string[];
  /** Whether the tool shows the content of files, or only their names. */
  readonly shows: "content" | "names";
}

/**
 * Returns the function that says whether a call may show a file, by the file's
 * path relative to the workspace.
 */
export type FileAccess = (call: WalkingCall) => (path: string) => boolean;

/**
 * Returns what the rules decide about reading a file, by its path relative to
 * the workspace.
 */
export type ReadDecision = (path: string) => "allow" | "ask" | "deny";

/**
 * Creates the access check for tools that walk over files. It compares every
 * file with the rules that have a `path`.
 *
 * A file that is denied is never shown. A file that asks is shown only if the
 * call names it, or a directory above it, and that path asks too: then the user
 * has been asked. Content is shown only where `read_file` may show it as well.
 */
export function createFileAccess(
  rules: readonly CompiledRule[],
  place: PolicyPlace,
): FileAccess {
  if (!rules.some(isRestriction)) return () => () => true;
  const sorted = sortRules(rules);
  return ({ toolName, args, named, shows }) => {
    const decide = (path: string): CompiledRule["decision"] =>
      decideFile(sorted, fileSubject(toolName, args, path, place));
    const asked = named.filter((path) => decide(path) === "ask");
    return (path) => {
      const decision = decide(path);
      const wasAsked = asked.some(
        (above) =>
          above === "" || path === above || path.startsWith(`${above}/`),
      );
      if (decision === "deny" || (decision === "ask" && !wasAsked)) {
        return false;
      }
      if (shows === "names") return true;
      const reading = decideFile(
        sorted,
        fileSubject(READER, args, path, place),
      );
      return reading === "allow" || (reading === "ask" && decision === "ask");
    };
  };
}

/**
 * Creates the function that decides about reading one file, for tools whose
 * result depends on the content of a file.
 *
 * The rules for `read_file` that have a `path` decide; a file that none of them
 * names may be read.
 */
export function createReadDecision(
  rules: readonly CompiledRule[],
  place: PolicyPlace,
): ReadDecision {
  const sorted = sortRules(rules);
  return (path) =>
    decideFile(sorted, fileSubject(READER, { file_path: path }, path, place));
}

/**
 * Returns whether a rule keeps the user from seeing a file that the call
 * changes: the change would show its content.
 */
export function showsRestrictedFile(
  sorted: readonly CompiledRule[],
  subject: PolicySubject,
): boolean {
  const reading = { ...subject, call: { ...subject.call, toolName: READER } };
  return subject.paths.some(
    (path) => decideFile(sorted, narrowToFile(reading, path)) !== "allow",
  );
}

/** The rule because of which a command that only reads still asks. */
export interface Withholding {
  readonly compiled: CompiledRule;
  /**
   * Whether the rule applies to commands themselves, or only to tools that read
   * files.
   */
  readonly ofCommands: boolean;
}

/**
 * Finds a rule that restricts a file which the command may show.
 *
 * The command mentions that file, or it shows the content of files that it does
 * not name. Undefined when there is no such rule.
 */
export function findWithholding(
  { words }: SimpleCommand,
  about: PolicySubject,
  sorted: readonly CompiledRule[],
): Withholding | undefined {
  for (const toolName of [about.call.toolName, ...READERS]) {
    const subject = { ...about, call: { ...about.call, toolName } };
    const [restriction] = sorted.filter(
      (compiled) => isRestriction(compiled) && isAbout(compiled, subject),
    );
    if (!restriction) continue;
    const isShown =
      showsUnnamedFiles(words) ||
      runsRepositoryFilters(words, about.workspace) ||
      about.mentioned.some(
        (path) =>
          isOfProcess(path) ||
          decideFile(sorted, narrowToFile(subject, path)) !== "allow",
      );
    if (isShown) {
      return {
        compiled: restriction,
        ofCommands: toolName === about.call.toolName,
      };
    }
  }
  return undefined;
}

/**
 * Returns what the rules with a `path` decide about one file. A rule without
 * `path` is about the call as a whole.
 */
function decideFile(
  sorted: readonly CompiledRule[],
  subject: PolicySubject,
): CompiledRule["decision"] {
  const found = findDecidingRule(sorted, subject);
  return found && found.compiled.rule.path.length > 0
    ? found.decision
    : "allow";
}

function isRestriction({ rule, decision }: CompiledRule): boolean {
  return decision !== "allow" && rule.path.length > 0;
}

function fileSubject(
  toolName: string,
  args: JsonObject,
  path: string,
  place: PolicyPlace,
): PolicySubject {
  const call = create(ToolCallSchema, { toolName, inputParameters: args });
  return narrowToFile(
    policySubject({ call, facts: undefined, details: undefined }, place),
    path,
  );
}

function narrowToFile(subject: PolicySubject, path: string): PolicySubject {
  return {
    ...subject,
    paths: [path],
    mentioned: [],
    linked: NO_LINKS,
    command: undefined,
    bareCommands: [],
  };
}
