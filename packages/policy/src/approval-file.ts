import { lstatSync } from "node:fs";
import {
  lstat,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import { objectOrEmpty } from "@devtool/internal/json";
import { syncDirectory } from "@devtool/internal/sync-directory";
import {
  type PolicyFile,
  PolicyFileSchema,
  PolicyRuleSchema,
  RuleDecision,
} from "@devtool/schema";
import type { ApprovalStorage, StoredApprovals } from "./approval-storage.ts";
import { errorCode, PolicyError } from "./policy-error.ts";
import { assertOnlyOwnerWrites } from "./policy-file.ts";

/** The name of the file of saved approvals, in the data directory. */
export const SAVED_APPROVALS_FILE = "saved-approvals.toml";
/**
 * Temporary files of `replace`: the name holds the id of the process that
 * writes it.
 */
const TEMPORARY_FILE = /^saved-approvals\.toml\.(\d+)\.\d+\.tmp$/;

/**
 * Keeps approvals in `saved-approvals.toml`, which the user may read, edit and
 * delete.
 *
 * A crash leaves the file as it was before `replace` or as it is after it.
 */
export class ApprovalFile implements ApprovalStorage {
  readonly #directory: string;
  readonly #path: string;
  #last: StoredApprovals | undefined;
  #temporaryFiles = 0;

  /** @param directory must exist before the first approval is stored */
  constructor(directory: string) {
    this.#directory = directory;
    this.#path = join(directory, SAVED_APPROVALS_FILE);
  }

  /**
   * Reads the file; no approvals when it does not exist. Rejects with a
   * `PolicyError` for a file that cannot be used.
   */
  async read(): Promise<StoredApprovals> {
    const version = this.#version();
    if (version === this.#last?.version) return this.#last;
    let file = create(PolicyFileSchema);
    const stats = await lstat(this.#path).catch(() => undefined);
    if (stats) {
      if (!stats.isFile()) {
        throw new PolicyError(
          `${SAVED_APPROVALS_FILE} is not a regular file`,
          "cannot-save",
        );
      }
      assertOnlyOwnerWrites(SAVED_APPROVALS_FILE, stats);
      const source = { tier: "user", file: SAVED_APPROVALS_FILE } as const;
      const { parsePolicyFile } = await import("./parse-policy-file.ts");
      const rules = parsePolicyFile(await readFile(this.#path, "utf8"), source);
      file = create(PolicyFileSchema, { rule: rules.map(({ rule }) => rule) });
    }
    this.#last = { version, file };
    return this.#last;
  }

  /**
   * Writes the file, which only its owner may read. Returns false when it has
   * changed since it had the version. Rejects with a `PolicyError` when it
   * cannot be written.
   */
  async replace(file: PolicyFile, version: string): Promise<boolean> {
    const { stringify } = await import("smol-toml");
    if (this.#version() !== version) return false;
    const tables = file.rule.map((rule): JsonObject => {
      const json = toJson(PolicyRuleSchema, rule, { useProtoFieldName: true });
      return {
        ...objectOrEmpty(json),
        decision: RuleDecision[rule.decision].toLowerCase(),
      };
    });
    const heading =
      "# Tool calls that were approved for good. Delete a rule to be asked again.";
    const text = `${heading}\n\n${stringify({ rule: tables })}`;
    // The file is replaced atomically, by a temporary file that only its owner
    // may read.
    const temporary = `${this.#path}.${process.pid}.${this.#temporaryFiles++}.tmp`;
    failpoint("devtool:approvals.write.before");
    await rm(temporary, { force: true });
    try {
      // The flag "wx" requires a file that does not exist yet, so no link is
      // followed.
      await writeFile(temporary, text, {
        flag: "wx",
        mode: 0o600,
        flush: true,
      });
      failpoint("devtool:approvals.rename.before");
      await rename(temporary, this.#path);
      await using directory = await open(this.#directory, "r");
      syncDirectory(directory.fd);
      failpoint("devtool:approvals.rename.after");
    } catch (reason) {
      await rm(temporary, { force: true });
      throw new PolicyError(
        `approval cannot be saved: ${errorCode(reason)}`,
        "not-written",
        { cause: reason },
      );
    }
    return true;
  }

  /** Sets a file that cannot be used aside, as `saved-approvals.toml.bak`. */
  async setAside(): Promise<void> {
    await rename(this.#path, `${this.#path}.bak`);
  }

  /**
   * Removes the temporary files of processes that ended during a write. Those
   * of running processes stay.
   */
  async removeLeftovers(): Promise<void> {
    failpoint("devtool:approvals.sweep.before");
    for (const name of await readdir(this.#directory).catch(() => [])) {
      const pid = TEMPORARY_FILE.exec(name)?.[1];
      if (pid !== undefined && !isRunning(Number(pid))) {
        await rm(join(this.#directory, name), { force: true });
      }
    }
    failpoint("devtool:approvals.sweep.after");
  }

  /**
   * Changes with every write: a write creates a new file, which has another
   * inode, and an edit in place changes the time. Synchronous, because each
   * decision asks and the call takes microseconds, less than a round trip
   * through a thread.
   */
  #version(): string {
    try {
      const stats = lstatSync(this.#path, {
        bigint: true,
        throwIfNoEntry: false,
      });
      if (!stats) return "";
      const { dev, ino, size, mtimeNs, ctimeNs } = stats;
      return [dev, ino, size, mtimeNs, ctimeNs].join();
    } catch {
      return "";
    }
  }
}

/** Returns whether a process runs. One of another user may not be signalled. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (reason) {
    return errorCode(reason) === "EPERM";
  }
}
