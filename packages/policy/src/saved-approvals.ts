import { lstat, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { equals, type JsonObject, toJson } from "@bufbuild/protobuf";
import { type PolicyRule, PolicyRuleSchema } from "@devtool/schema";
import { stringify } from "smol-toml";
import { type CompiledRule, compileRule } from "./compiled-rule.ts";
import { failpoint } from "./failpoint.ts";
import { PolicyError } from "./policy-error.ts";
import { assertOperatorsOwn, parsePolicyFile } from "./policy-file.ts";

/** The file of saved approvals, in the data directory. */
export const SAVED_APPROVALS_FILE = "saved-approvals.toml";
/** The maximum number of approvals; the newest are kept. */
const MAX_APPROVALS = 500;

/**
 * What the user approved for good: rules of their own in a file that they may read, change and delete. Each approval is
 * on the disk before `save` returns; a crash leaves the file as it was before or after, never in between.
 */
export class SavedApprovals {
  readonly #directory: string;
  #rules: readonly CompiledRule[];
  #writing: Promise<unknown> = Promise.resolve();
  #temporaries = 0;

  /** Opens the approvals in a directory. A file that cannot be read is set aside as `.bak`, and `onNotice` gets the reason. */
  static async open(directory: string, onNotice: (text: string) => void): Promise<SavedApprovals> {
    const path = join(directory, SAVED_APPROVALS_FILE);
    await removeLeftovers(directory);
    try {
      const rules = await readRules(path);
      const narrowed = rules
        .filter(({ wasOpen }) => wasOpen)
        .map(({ compiled: { rule } }) => rule.commandPrefix.join(", "));
      if (narrowed.length > 0) onNotice(narrowedNotice(narrowed));
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

  /** Adds rules that are not there yet. One save follows the other, in the order of the calls. */
  save(rules: readonly PolicyRule[]): Promise<void> {
    const saved = this.#writing.then(() => this.#add(rules));
    this.#writing = saved.catch(() => undefined);
    return saved;
  }

  async #add(rules: readonly PolicyRule[]): Promise<void> {
    const path = join(this.#directory, SAVED_APPROVALS_FILE);
    // Another process may have saved since, and the user may have edited: what is in the file now is what is added to.
    const present = (await readRules(path)).map(({ compiled }) => compiled.rule);
    const added = rules.filter((rule, index) => !isAmong(rule, [...present, ...rules.slice(0, index)]));
    const kept = [...present, ...added].slice(-MAX_APPROVALS);
    if (added.length > 0) await this.#replace(path, textOf(kept));
    this.#rules = kept.map(compile);
  }

  async #replace(path: string, text: string): Promise<void> {
    const temporary = `${path}.${process.pid}.${this.#temporaries++}.tmp`;
    failpoint("devtool:approvals.write.before");
    await rm(temporary, { force: true });
    try {
      await writeSynced(temporary, text);
      failpoint("devtool:approvals.rename.before");
      await rename(temporary, path);
      await syncDirectory(this.#directory);
      failpoint("devtool:approvals.rename.after");
    } catch (reason) {
      await rm(temporary, { force: true });
      throw new PolicyError(`approval cannot be saved: ${codeOf(reason)}`, "not-written", { cause: reason });
    }
  }
}

/** A rule of the file. */
interface ReadRule {
  readonly compiled: CompiledRule;
  /** Whether it let any words follow its own, as earlier versions saved approvals: it holds for its own words alone. */
  readonly wasOpen: boolean;
}

function narrowedNotice(commands: readonly string[]): string {
  return (
    `saved approvals now cover commands with all their words: ${commands.join("; ")} no longer let other words follow. ` +
    "Write a rule in policy.toml where that is wanted"
  );
}

async function readRules(path: string): Promise<ReadRule[]> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return [];
  if (!found.isFile()) throw new PolicyError(`${SAVED_APPROVALS_FILE} is not a regular file`, "cannot-save");
  assertOperatorsOwn(SAVED_APPROVALS_FILE, found);
  const rules = parsePolicyFile(await readFile(path, "utf8"), { tier: "user", file: SAVED_APPROVALS_FILE });
  return rules.map(({ rule }, index) => {
    const wasOpen = rule.commandPrefix.length > 0 && !rule.exactCommand;
    return { compiled: compile(wasOpen ? { ...rule, exactCommand: true } : rule, index), wasOpen };
  });
}

const LEFTOVER = /^saved-approvals\.toml\.(\d+)\.\d+\.tmp$/;

/** Removes what saves left behind that a crash of their process cut; those of living processes stay. */
async function removeLeftovers(directory: string): Promise<void> {
  failpoint("devtool:approvals.sweep.before");
  for (const name of await readdir(directory).catch(() => [])) {
    const pid = LEFTOVER.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    await rm(join(directory, name), { force: true });
  }
  failpoint("devtool:approvals.sweep.after");
}

/** Whether a process has this id. What has the id of this one may be a save in progress. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (reason) {
    return codeOf(reason) === "EPERM";
  }
}

/** Makes a file that was not there, through no link, readable by its owner only. */
async function writeSynced(path: string, text: string): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(text);
  await file.sync();
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, "r");
  await directory.sync();
}

function isAmong(rule: PolicyRule, others: readonly PolicyRule[]): boolean {
  return others.some((other) => equals(PolicyRuleSchema, other, rule));
}

function compile(rule: PolicyRule, index: number): CompiledRule {
  return compileRule(rule, { tier: "user", file: SAVED_APPROVALS_FILE, number: index + 1 });
}

function textOf(rules: readonly PolicyRule[]): string {
  const written = rules.map((rule): JsonObject => {
    const json = toJson(PolicyRuleSchema, rule, { useProtoFieldName: true });
    return { ...(typeof json === "object" && !Array.isArray(json) ? json : {}), decision: "allow" };
  });
  return `# Tool calls that were approved for good. Delete a rule to be asked again.\n\n${stringify({ rule: written })}`;
}

function codeOf(reason: unknown): string {
  return reason instanceof Error && "code" in reason ? String(reason.code) : "unknown";
}
