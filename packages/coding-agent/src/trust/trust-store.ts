import { hash } from "node:crypto";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  TrustedFileSchema,
  TrustFileSchema,
  type TrustGrant,
  TrustGrantSchema,
} from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import { clientError } from "../client-error.ts";
import {
  type ConfigDirectory,
  changesSince,
  fingerprintsOf,
  readConfigFiles,
} from "./config-files.ts";
import type { ApprovedChange, Trust, TrustKeeper } from "./trust.ts";
import { changeTrustFile, readTrustFile } from "./trust-file.ts";

/** Dependencies of `TrustStore`. */
export interface TrustStoreOptions {
  /**
   * The directory of `trust.json`: an absolute path outside every workspace.
   */
  readonly dataDirectory: string;
  /** Opens a directory by its real path, for instance as a `Workspace`. */
  readonly openDirectory: (path: string) => ConfigDirectory;
  readonly now: () => Date;
  /**
   * Receives a notice for the operator when `trustOf` fails with an internal
   * error. Default: ignores it.
   */
  readonly onNotice?: (text: string) => void;
}

/**
 * Stores which directories the operator trusts to configure agents (S4).
 *
 * A grant binds the real path of one directory to the hash of each of its
 * configuration files. Git metadata of a directory plays no part. Every method
 * reads the grants from disk, so that a grant by another process takes effect
 * at once.
 */
export class TrustStore implements TrustKeeper {
  readonly #options: TrustStoreOptions;
  readonly #path: string;
  /**
   * The last change in progress. Changes by this process run one after the
   * other.
   */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(options: TrustStoreOptions) {
    this.#options = options;
    this.#path = join(options.dataDirectory, "trust.json");
  }

  async trustOf(directory: string): Promise<Trust> {
    try {
      const grants = await this.list();
      if (grants.length === 0) return { case: "untrusted", reason: "" };
      const path = realDirectory(directory);
      const grant = grants.find((candidate) => candidate.path === path);
      if (!grant) return { case: "untrusted", reason: "" };
      // Only from here on are files in the directory opened.
      const files = this.#readConfig(grant.path);
      const changes = changesSince(grant.files, files);
      return changes.length === 0
        ? { case: "trusted", files }
        : { case: "changed", changes };
    } catch (reason) {
      const { onNotice = () => undefined } = this.#options;
      const { message } = clientError(
        reason,
        "reading trusted configuration",
        { directory },
        onNotice,
      );
      return { case: "untrusted", reason: message };
    }
  }

  /**
   * Lists the grants, sorted by path. Throws `Code.FailedPrecondition` when
   * `trust.json` cannot be read, is not valid or may be written by others.
   */
  async list(): Promise<readonly TrustGrant[]> {
    return (await readTrustFile(this.#path)).grants;
  }

  /**
   * Returns the grant that would trust the current configuration of a
   * directory, for the operator to review.
   *
   * Throws `Code.NotFound` for a directory that does not exist, and
   * `Code.ResourceExhausted` for one with more than 500 files of configuration,
   * or more than 1 MiB in one of them or 4 MiB in all.
   */
  async preview(directory: string): Promise<TrustGrant> {
    const path = realDirectory(directory);
    const files = fingerprintsOf(this.#readConfig(path));
    return create(TrustGrantSchema, {
      path,
      time: timestampFromDate(this.#options.now()),
      files,
    });
  }

  /**
   * Stores a grant, which replaces an earlier one of the same directory. Throws
   * `Code.Unavailable` while another process changes the grants.
   */
  async grant(grant: TrustGrant): Promise<void> {
    await this.#change((grants) => [
      ...grants.filter(({ path }) => path !== grant.path),
      grant,
    ]);
  }

  /**
   * Removes the grant of a directory, which need not exist any more. Returns
   * whether there was one. Throws as `grant` does.
   */
  async revoke(directory: string): Promise<boolean> {
    let path = directory;
    try {
      path = realDirectory(directory);
    } catch {
      // The directory does not exist any more: its grant has the path as it was
      // given.
    }
    let found = false;
    await this.#change((grants) => {
      found = grants.some((grant) => grant.path === path);
      return grants.filter((grant) => grant.path !== path);
    });
    return found;
  }

  async follow({
    directory,
    path,
    before,
    after,
  }: ApprovedChange): Promise<boolean> {
    const real = realDirectory(directory);
    if (!(await this.list()).some((grant) => grant.path === real)) return false;
    const trusted = create(TrustedFileSchema, {
      path,
      sha256: hash("sha256", after, "buffer"),
    });
    const time = timestampFromDate(this.#options.now());
    let followed = false;
    await this.#change((grants) =>
      grants.map((grant) => {
        if (grant.path !== real) return grant;
        followed = trusts(grant, path, before) || trusts(grant, path, after);
        if (!followed) return grant;
        const files = [
          ...grant.files.filter((file) => file.path !== path),
          trusted,
        ].sort(byPath);
        return create(TrustGrantSchema, { ...grant, time, files });
      }),
    );
    return followed;
  }

  #readConfig(path: string): ReadonlyMap<string, Buffer> {
    using directory = this.#options.openDirectory(path);
    return readConfigFiles(directory);
  }

  #change(
    change: (grants: readonly TrustGrant[]) => readonly TrustGrant[],
  ): Promise<void> {
    const changed = this.#changing.then(() =>
      changeTrustFile(
        this.#path,
        (before) =>
          create(TrustFileSchema, {
            grants: [...change(before.grants)].sort(byPath),
          }),
        this.#options.now,
      ),
    );
    this.#changing = changed.catch(() => undefined);
    return changed;
  }
}

/**
 * Whether a grant trusts a file with the given content. Undefined stands for a
 * file that does not exist.
 */
function trusts(
  { files }: TrustGrant,
  path: string,
  content: string | undefined,
): boolean {
  const file = files.find((known) => known.path === path);
  if (content === undefined || !file) return content === undefined && !file;
  return hash("sha256", content, "buffer").equals(file.sha256);
}

function realDirectory(directory: string): string {
  try {
    return realpathSync(directory);
  } catch (reason) {
    throw new DevtoolError(
      `directory ${JSON.stringify(directory)} does not exist`,
      Code.NotFound,
      { cause: reason },
    );
  }
}

function byPath(
  one: { readonly path: string },
  other: { readonly path: string },
): number {
  return one.path < other.path ? -1 : 1;
}
