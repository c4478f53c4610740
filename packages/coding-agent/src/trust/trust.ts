/** The trust state of the configuration in a directory. */
export type Trust =
  /** The configuration is the one that the operator trusted. */
  | {
      readonly case: "trusted";
      /**
       * The contents whose hashes were compared, by path relative to the
       * directory. Read configuration only from here: a file on disk may have
       * changed since.
       */
      readonly files: ReadonlyMap<string, Buffer>;
    }
  /**
   * The operator did not trust the directory, and none of its files was read.
   * `reason` is empty unless reading the grants failed.
   */
  | { readonly case: "untrusted"; readonly reason: string }
  /**
   * The operator trusted the directory, but its configuration has changed
   * since.
   */
  | { readonly case: "changed"; readonly changes: readonly ConfigChange[] };

/** A configuration file that differs from the trusted one. */
export interface ConfigChange {
  /** The path relative to the directory, with `/` as separator. */
  readonly path: string;
  readonly how: "added" | "changed" | "removed";
}

/**
 * Gives access to the configuration of workspaces: memory files and command
 * files (S4).
 *
 * All code that uses such configuration reads it through this interface.
 */
export interface WorkspaceTrust {
  /**
   * Returns whether the configuration of a directory may be used, and the
   * configuration itself if it may.
   *
   * Never throws for anything in the directory.
   */
  trustOf(directory: string): Promise<Trust>;
}

/** A change of one configuration file that the user approved. */
export interface ApprovedChange {
  /** The trusted directory. */
  readonly directory: string;
  /** The path of the file, relative to the directory. */
  readonly path: string;
  /** The content before the change. Undefined when the file did not exist. */
  readonly before: string | undefined;
  readonly after: string;
}

/**
 * A `WorkspaceTrust` that can be updated when the user approves a change of a
 * configuration file.
 */
export interface TrustKeeper extends WorkspaceTrust {
  /**
   * Updates the grant of a directory with an approved change, so that the
   * operator does not have to trust it again.
   *
   * Updates it only when the grant trusts the file as it was before the change.
   * Returns whether the file is trusted in its new state.
   */
  follow(change: ApprovedChange): Promise<boolean>;
}

/**
 * The maximum number of changed files that a message names. It counts the
 * others.
 */
const MAX_NAMED = 10;

/**
 * Explains to a user why the configuration of a directory is not used. Empty
 * when it is used.
 */
export function trustProblem(directory: string, trust: Trust): string {
  const isPlainWord = /^[\w@%+=:,./-]+$/.test(directory);
  const shellWord = isPlainWord
    ? directory
    : `'${directory.replaceAll("'", `'\\''`)}'`;
  const remedy = `look at it, then run: devtool trust add ${shellWord}`;
  switch (trust.case) {
    case "trusted":
      return "";
    case "untrusted":
      return trust.reason === ""
        ? `configuration in ${JSON.stringify(directory)} is not read: nobody trusted it: ${remedy}`
        : `configuration in ${JSON.stringify(directory)} is not read: ${trust.reason}`;
    case "changed": {
      const named = trust.changes.slice(0, MAX_NAMED).map(({ path, how }) => {
        // A repository chooses its file names, so one that could be taken for
        // part of the message is quoted.
        const name = /^[\w@+./-]+$/.test(path) ? path : JSON.stringify(path);
        return `${name} ${how}`;
      });
      const rest = trust.changes.length - named.length;
      const changes = [...named, ...(rest > 0 ? [`${rest} more`] : [])].join(
        ", ",
      );
      return `configuration in ${JSON.stringify(directory)} is not read: it differs from what was trusted (${changes}): ${remedy}`;
    }
    default:
      return trust satisfies never;
  }
}
