import { lstat, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { equals, type JsonObject, toJson } from "@bufbuild/protobuf";
import { type PolicyRule, PolicyRuleSchema } from "@devtool/schema";
import { objectOrEmpty } from "@devtool/schema/json";
import { stringify } from "smol-toml";
import { type CompiledRule, compileRule } from "./compiled-rule.ts";
import { failpoint } from "./failpoint.ts";
import { PolicyError } from "./policy-error.ts";
import { assertOnlyOwnerWrites, parsePolicyFile } from "./policy-file.ts";

/** The name of the file of saved approvals, in the data directory. */
export const SAVED_APPROVALS_FILE = "saved-approvals.toml";
/** The maximum number of approvals. When there are more, the oldest are dropped. */
const MAX_APPROVALS = 500;
/** Temporary files of `#replace`: the name holds the id of the process that writes it. */
const TEMPORARY_FILE = /^saved-approvals\.toml\.(\d+)\.\d+\.tmp$/;

/**
 * The approvals that the user gave for good, as rules in a file that the user may read, edit and delete.
 *
 * An approval is durable when `save` returns. A crash leaves the file as it was before the save or as it is after it.
 */
export class SavedApprovals {
  readonly #directory: string;
  #rules: readonly CompiledRule[];
  #lastSave: Promise<unknown> = Promise.resolve();
  #temporaryFiles = 0;

  /**
   * Opens the approvals in a directory. There are none when the file does not exist.
   *
   * A file that cannot be used is renamed to `saved-approvals.toml.bak`, and `onNotice` gets the reason as a sentence.
   */
  static async open(directory: string, onNotice: (text: string) => void): Promise<SavedApprovals> {
    const path = join(directory, SAVED_APPROVALS_FILE);
    await removeLeftovers(directory);
    try {
      const rules = await readRules(path);
      const narrowed = rules
        .filter(({ wasOpen }) => wasOpen)
        .map(({ compiled }) => compiled.rule.commandPrefix.join(", "));
      if (narrowed.length > 0)
        onNotice(
          `saved approvals now cover commands with all their words: ${narrowed.join("; ")} no longer allow other words to follow. ` +
            "To allow them, write a rule in policy.toml",
        );
      return new SavedApprovals(
        directory,
        rules.map(({ compiled }) => compiled),
      );
    } catch (reason) {
      await rename(path, `${path}.bak`);
      const why = reason instanceof Error ? reason.message : String(reason);
      onNotice(`saved approvals are not used: ${why}; the file is now ${SAVED_APPROVALS_FILE}.bak`);
      return new SavedApprovals(directory, []);
    }
  }

  private constructor(directory: string, rules: readonly CompiledRule[]) {
    this.#directory = directory;
    this.#rules = rules;
  }

  /** The approvals, oldest first. All of them allow. */
  get rules(): readonly CompiledRule[] {
    return this.#rules;
  }

  /**
   * Adds the rules that are not in the file yet. Saves run one after the other, in the order of the calls.
   *
   * Rejects with a `PolicyError` when the file cannot be written; later saves are not affected.
   */
  save(rules: readonly PolicyRule[]): Promise<void> {
    const saved = this.#lastSave.then(() => this.#add(rules));
    this.#lastSave = saved.catch(() => undefined);
    return saved;
  }

  async #add(rules: readonly PolicyRule[]): Promise<void> {
    const path = join(this.#directory, SAVED_APPROVALS_FILE);
    // Another process may have saved meanwhile, and the user may have edited the file: it is read again before each save.
    const all = (await readRules(path)).map(({ compiled }) => compiled.rule);
    const present = all.length;
    for (const rule of rules) if (!all.some((other) => equals(PolicyRuleSchema, other, rule))) all.push(rule);
    const newest = all.slice(-MAX_APPROVALS);
    if (all.length > present) await this.#replace(path, formatRules(newest));
    this.#rules = newest.map(compileSaved);
  }

  /** Replaces the file atomically: writes a temporary file that only its owner may read, then renames it. */
  async #replace(path: string, text: string): Promise<void> {
    const temporary = `${path}.${process.pid}.${this.#temporaryFiles++}.tmp`;
    failpoint("devtool:approvals.write.before");
    await rm(temporary, { force: true });
    try {
      await writeNewFile(temporary, text);
      failpoint("devtool:approvals.rename.before");
      await rename(temporary, path);
      await using directory = await open(this.#directory, "r");
      await directory.sync();
      failpoint("devtool:approvals.rename.after");
    } catch (reason) {
      await rm(temporary, { force: true });
      throw new PolicyError(`approval cannot be saved: ${errorCode(reason)}`, "not-written", { cause: reason });
    }
  }
}

/** A rule as it was read from the file. */
interface SavedRule {
  readonly compiled: CompiledRule;
  /** Whether the rule let other words follow, as earlier versions saved approvals. `compiled` covers its own words only. */
  readonly wasOpen: boolean;
}

async function readRules(path: string): Promise<SavedRule[]> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats) return [];
  if (!stats.isFile()) throw new PolicyError(`${SAVED_APPROVALS_FILE} is not a regular file`, "cannot-save");
  assertOnlyOwnerWrites(SAVED_APPROVALS_FILE, stats);
  const rules = parsePolicyFile(await readFile(path, "utf8"), { tier: "user", file: SAVED_APPROVALS_FILE });
  return rules.map(({ rule }, index) => {
    const wasOpen = rule.commandPrefix.length > 0 && !rule.exactCommand;
    return { compiled: compileSaved(wasOpen ? { ...rule, exactCommand: true } : rule, index), wasOpen };
  });
}

function compileSaved(rule: PolicyRule, index: number): CompiledRule {
  return compileRule(rule, { tier: "user", file: SAVED_APPROVALS_FILE, number: index + 1 });
}

function formatRules(rules: readonly PolicyRule[]): string {
  const tables = rules.map((rule): JsonObject => {
    const json = toJson(PolicyRuleSchema, rule, { useProtoFieldName: true });
    return { ...objectOrEmpty(json), decision: "allow" };
  });
  return `# Tool calls that were approved for good. Delete a rule to be asked again.\n\n${stringify({ rule: tables })}`;
}

/** Writes a file that must not exist yet, so that no link is followed, and waits until it is durable. */
async function writeNewFile(path: string, text: string): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(text);
  await file.sync();
}

/** Removes the temporary files of processes that ended during a save. Those of running processes stay. */
async function removeLeftovers(directory: string): Promise<void> {
  failpoint("devtool:approvals.sweep.before");
  for (const name of await readdir(directory).catch(() => [])) {
    const pid = TEMPORARY_FILE.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(directory, name), { force: true });
  }
  failpoint("devtool:approvals.sweep.after");
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (reason) {
    // A process of another user exists, but may not be signalled.
    return errorCode(reason) === "EPERM";
  }
}

function errorCode(reason: unknown): string {
  return reason instanceof Error && "code" in reason ? String(reason.code) : "unknown";
}
