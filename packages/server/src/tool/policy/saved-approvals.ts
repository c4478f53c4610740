import { lstat, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { equals, type JsonObject, toJson } from "@bufbuild/protobuf";
import { type PolicyRule, PolicyRuleSchema } from "@devtool/schema";
import { stringify } from "smol-toml";
import { Code, DevtoolError } from "../../errors.ts";
import { type CompiledRule, compileRule } from "./compiled-rule.ts";
import { parsePolicyFile } from "./policy-file.ts";

/** The file of saved approvals, in the data directory. */
export const SAVED_APPROVALS_FILE = "saved-approvals.toml";
/** So many approvals are kept, the newest. */
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

  /** Opens the approvals in a directory. A file that cannot be read is set aside as `.bak`, and `onNotice` is told. */
  static async open(directory: string, onNotice: (text: string) => void): Promise<SavedApprovals> {
    const path = join(directory, SAVED_APPROVALS_FILE);
    try {
      return new SavedApprovals(directory, await readRules(path));
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
    const present = (await readRules(path)).map(({ rule }) => rule);
    const added = rules.filter((rule, index) => !isAmong(rule, [...present, ...rules.slice(0, index)]));
    const kept = [...present, ...added].slice(-MAX_APPROVALS);
    if (added.length > 0) await this.#replace(path, textOf(kept));
    this.#rules = kept.map(compiled);
  }

  async #replace(path: string, text: string): Promise<void> {
    const temporary = `${path}.${process.pid}.${this.#temporaries++}.tmp`;
    await rm(temporary, { force: true });
    try {
      await writeSynced(temporary, text);
      await rename(temporary, path);
      await syncDirectory(this.#directory);
    } catch (reason) {
      await rm(temporary, { force: true });
      throw new DevtoolError(`approval cannot be saved: ${codeOf(reason)}`, Code.Unavailable, { cause: reason });
    }
  }
}

async function readRules(path: string): Promise<CompiledRule[]> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return [];
  if (!found.isFile()) throw new DevtoolError(`${SAVED_APPROVALS_FILE} is no regular file`, Code.FailedPrecondition);
  return parsePolicyFile(await readFile(path, "utf8"), { tier: "user", file: SAVED_APPROVALS_FILE });
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

function compiled(rule: PolicyRule, index: number): CompiledRule {
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
