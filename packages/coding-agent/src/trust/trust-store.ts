import { realpathSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type TrustedFile,
  TrustedFileSchema,
  TrustFileSchema,
  type TrustGrant,
  TrustGrantSchema,
} from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import { type ConfigDirectory, changesSince, fingerprintsOf, readConfigFiles, sha256 } from "./config-files.ts";
import type { ApprovedChange, Trust, TrustKeeper } from "./trust.ts";
import { changeTrustFile, readTrustFile } from "./trust-file.ts";

/** What a trust store needs. */
export interface TrustStoreOptions {
  /** The directory that holds `trust.json`: an absolute path outside every workspace. */
  readonly dataDirectory: string;
  /** Opens a directory by its real path, for instance as a `Workspace`. */
  readonly openDirectory: (path: string) => ConfigDirectory;
  readonly now: () => Date;
}

/**
 * Which directories the operator trusts to configure agents (S4). A grant binds the real path of one directory to the
 * hash of each of its configuration files; what git says about a directory counts for nothing. Grants are read anew each
 * time, so that one made by another process holds at once.
 */
export class TrustStore implements TrustKeeper {
  readonly #options: TrustStoreOptions;
  #changing: Promise<unknown> = Promise.resolve();

  constructor(options: TrustStoreOptions) {
    this.#options = options;
  }

  async trustOf(directory: string): Promise<Trust> {
    try {
      const grant = await this.#findGrant(directory);
      // Up to here no file of the directory was opened; past here only files of a directory that was granted.
      return grant ? this.#compare(grant) : { case: "untrusted", reason: "" };
    } catch (reason) {
      return { case: "untrusted", reason: DevtoolError.from(reason).message };
    }
  }

  /** Lists the grants, by path. */
  async list(): Promise<readonly TrustGrant[]> {
    return (await readTrustFile(this.#path)).grants;
  }

  /** Reads what a grant of a directory would trust, for the operator to see. Gives the directory's real path with it. */
  async preview(directory: string): Promise<TrustGrant> {
    const path = await realDirectory(directory);
    const files = fingerprintsOf(this.#read(path));
    return create(TrustGrantSchema, { path, time: timestampFromDate(this.#options.now()), files });
  }

  /** Trusts a directory's configuration as a preview has it; it replaces an earlier grant. */
  async grant(grant: TrustGrant): Promise<void> {
    await this.#change((grants) => [...grants.filter(({ path }) => path !== grant.path), grant]);
  }

  /** Takes a directory's grant away. Tells whether there was one. The directory need not exist any more. */
  async revoke(directory: string): Promise<boolean> {
    const path = await realDirectory(directory).catch(() => directory);
    let found = false;
    await this.#change((grants) => {
      found = grants.some((grant) => grant.path === path);
      return grants.filter((grant) => grant.path !== path);
    });
    return found;
  }

  async follow({ directory, path, before, after }: ApprovedChange): Promise<boolean> {
    const real = await realDirectory(directory);
    if (!(await this.list()).some((grant) => grant.path === real)) return false;
    const time = timestampFromDate(this.#options.now());
    let followed = false;
    await this.#change((grants) =>
      grants.map((grant) => {
        if (grant.path !== real) return grant;
        followed = [before, after].some((content) => isTrusted(grant.files, path, content));
        if (!followed) return grant;
        return create(TrustGrantSchema, { ...grant, time, files: withFile(grant.files, path, after) });
      }),
    );
    return followed;
  }

  get #path(): string {
    return join(this.#options.dataDirectory, "trust.json");
  }

  async #findGrant(directory: string): Promise<TrustGrant | undefined> {
    const grants = await this.list();
    if (grants.length === 0) return undefined;
    const path = await realDirectory(directory);
    return grants.find((grant) => grant.path === path);
  }

  #compare(grant: TrustGrant): Trust {
    const files = this.#read(grant.path);
    const changes = changesSince(grant.files, files);
    return changes.length === 0 ? { case: "trusted", files } : { case: "changed", changes };
  }

  #read(path: string): ReadonlyMap<string, Buffer> {
    using directory = this.#options.openDirectory(path);
    return readConfigFiles(directory);
  }

  /** Changes of one process wait for each other. */
  #change(change: (grants: readonly TrustGrant[]) => readonly TrustGrant[]): Promise<void> {
    const changed = this.#changing.then(() =>
      changeTrustFile(
        this.#path,
        (before) => create(TrustFileSchema, { grants: [...change(before.grants)].sort(byPath) }),
        this.#options.now,
      ),
    );
    this.#changing = changed.catch(() => undefined);
    return changed;
  }
}

function isTrusted(files: readonly TrustedFile[], path: string, content: string | undefined): boolean {
  const file = files.find((known) => known.path === path);
  if (content === undefined || !file) return content === undefined && !file;
  return sha256(content).equals(file.sha256);
}

function withFile(files: readonly TrustedFile[], path: string, content: string): TrustedFile[] {
  const file = create(TrustedFileSchema, { path, sha256: sha256(content) });
  return [...files.filter((known) => known.path !== path), file].sort(byPath);
}

async function realDirectory(directory: string): Promise<string> {
  try {
    return realpathSync(directory);
  } catch (reason) {
    throw new DevtoolError(`directory ${JSON.stringify(directory)} does not exist`, Code.NotFound, { cause: reason });
  }
}

function byPath(one: { readonly path: string }, other: { readonly path: string }): number {
  return one.path < other.path ? -1 : 1;
}
