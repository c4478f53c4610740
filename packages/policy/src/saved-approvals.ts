import { hash } from "node:crypto";
import { create, equals, toBinary } from "@bufbuild/protobuf";
import {
  PolicyFileSchema,
  type PolicyRule,
  PolicyRuleSchema,
  RuleDecision,
} from "@devtool/schema";
import { ApprovalFile, SAVED_APPROVALS_FILE } from "./approval-file.ts";
import type { ApprovalStorage } from "./approval-storage.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { PolicyError } from "./policy-error.ts";

/**
 * The maximum number of approvals. When there are more, the oldest are dropped.
 */
const MAX_APPROVALS = 500;

/**
 * The approvals that the user gave for good, as rules in a file that the user
 * may read, edit and delete, or in a database.
 *
 * They are read for each decision, so one that was withdrawn, or given at
 * another server, counts at once. An approval is durable when `save` returns.
 */
export class SavedApprovals {
  readonly #storage: ApprovalStorage;
  readonly #onNotice: (text: string) => void;
  #compiled:
    | { readonly version: string; readonly rules: readonly CompiledRule[] }
    | undefined;
  #lastChange: Promise<unknown> = Promise.resolve();
  #lastNotice = "";

  /**
   * Opens the approvals in a directory. There are none when the file does not
   * exist.
   *
   * A file that cannot be used is renamed to `saved-approvals.toml.bak`, and
   * `onNotice` gets the reason as a sentence.
   */
  static async open(
    directory: string,
    onNotice: (text: string) => void,
  ): Promise<SavedApprovals> {
    const storage = new ApprovalFile(directory);
    await storage.removeLeftovers();
    try {
      const { file } = await storage.read();
      const narrowed = file.rule
        .filter(allowsMoreWords)
        .map((rule) => rule.commandPrefix.join(", "));
      if (narrowed.length > 0) {
        onNotice(
          `saved approvals now cover commands with all their words: ${narrowed.join("; ")} no longer allow other words to follow. ` +
            "To allow them, write a rule in policy.toml",
        );
      }
    } catch (reason) {
      await storage.setAside();
      const why = reason instanceof Error ? reason.message : String(reason);
      onNotice(
        `saved approvals are not used: ${why}; the file is now ${SAVED_APPROVALS_FILE}.bak`,
      );
    }
    return new SavedApprovals(storage, onNotice);
  }

  /**
   * @param onNotice gets the reason as a sentence when the approvals cannot be
   * used; none counts until they can
   */
  constructor(storage: ApprovalStorage, onNotice: (text: string) => void) {
    this.#storage = storage;
    this.#onNotice = onNotice;
  }

  /**
   * Returns the approvals as they are now, oldest first. All of them allow.
   * Rejects when a database cannot be reached.
   */
  async current(): Promise<readonly CompiledRule[]> {
    try {
      const { file, version } = await this.#storage.read();
      this.#lastNotice = "";
      if (this.#compiled?.version !== version) {
        // A newer release may have stored a rule with a condition that this one
        // does not know: without it the rule would cover more.
        const understood = file.rule.filter(
          ({ $unknown = [] }) => $unknown.length === 0,
        );
        this.#compiled = { version, rules: await compileAll(understood) };
      }
      return this.#compiled.rules;
    } catch (reason) {
      if (!(reason instanceof PolicyError)) throw reason;
      if (this.#lastNotice !== reason.message) {
        this.#onNotice(`saved approvals are not used: ${reason.message}`);
      }
      this.#lastNotice = reason.message;
      return [];
    }
  }

  /**
   * Adds the rules that are not there yet. Changes run one after the other, in
   * the order of the calls. Above 500 approvals the oldest are dropped.
   *
   * Rejects with a `PolicyError` when the file cannot be written; later changes
   * are not affected.
   */
  async save(rules: readonly PolicyRule[]): Promise<void> {
    await this.#change((present) => [
      ...present,
      ...rules.filter(
        (rule) =>
          !present.some((other) => equals(PolicyRuleSchema, other, rule)),
      ),
    ]);
  }

  /**
   * Withdraws the approval with an id (`approvalId`), and returns its rule.
   * Undefined when there is none. Rejects as `save` does.
   */
  async withdraw(id: string): Promise<PolicyRule | undefined> {
    let withdrawn: PolicyRule | undefined;
    await this.#change((present) => {
      withdrawn = present.find((rule) => approvalId(rule) === id);
      return present.filter((rule) => rule !== withdrawn);
    });
    return withdrawn;
  }

  #change(
    next: (present: readonly PolicyRule[]) => readonly PolicyRule[],
  ): Promise<void> {
    const changed = this.#lastChange.then(async () => {
      for (;;) {
        // Another server may have stored approvals meanwhile, and the user may
        // have edited the file.
        const { file, version } = await this.#storage.read();
        const present = file.rule.map(narrow);
        const rule = [...next(present)];
        if (
          rule.length === present.length &&
          rule.every((one, index) => one === present[index])
        ) {
          return;
        }
        // The oldest approvals are dropped. A rule of the user that denies or
        // asks stays.
        let excess =
          rule.filter(({ decision }) => decision === RuleDecision.ALLOW)
            .length - MAX_APPROVALS;
        const kept = rule.filter(
          ({ decision }) => decision !== RuleDecision.ALLOW || excess-- <= 0,
        );
        const stored = create(PolicyFileSchema, { rule: kept });
        if (await this.#storage.replace(stored, version)) return;
      }
    });
    this.#lastChange = changed.catch(() => undefined);
    return changed;
  }
}

/**
 * Compiles approvals. Most users have none, and servers do without what
 * compiles them then.
 */
async function compileAll(
  rules: readonly PolicyRule[],
): Promise<readonly CompiledRule[]> {
  if (rules.length === 0) return [];
  const { compileRule } = await import("./compile-rule.ts");
  return rules.map((rule, index) =>
    compileRule(narrow(rule), {
      tier: "user",
      file: SAVED_APPROVALS_FILE,
      number: index + 1,
    }),
  );
}

/**
 * Returns the id of an approval: 12 hexadecimal digits, the same at all
 * servers.
 */
export function approvalId(rule: PolicyRule): string {
  return hash("sha256", toBinary(PolicyRuleSchema, rule)).slice(0, 12);
}

/**
 * Returns whether a rule for commands allows other words to follow, as in
 * approvals that earlier versions saved.
 */
function allowsMoreWords({ commandPrefix, exactCommand }: PolicyRule): boolean {
  return commandPrefix.length > 0 && !exactCommand;
}

/**
 * Returns a rule without the permission that other words follow its commands.
 */
function narrow(rule: PolicyRule): PolicyRule {
  return allowsMoreWords(rule) ? { ...rule, exactCommand: true } : rule;
}
