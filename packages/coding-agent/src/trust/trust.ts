/** What is known about the configuration that lies in a directory. */
export type Trust =
  /** It is as the operator granted it. */
  | {
      readonly case: "trusted";
      /** The bytes whose hashes were compared, by path relative to the directory: read configuration from nowhere else. */
      readonly files: ReadonlyMap<string, Buffer>;
    }
  /** There is no grant: not a byte of it was read. `reason` is empty unless the grants could not be read. */
  | { readonly case: "untrusted"; readonly reason: string }
  /** There is a grant, and the files are not those that it was given for. */
  | { readonly case: "changed"; readonly changes: readonly ConfigChange[] };

/** How a configuration file differs from the one that was trusted. */
export interface ConfigChange {
  /** Relative to the directory, with `/`. */
  readonly path: string;
  readonly how: "added" | "changed" | "removed";
}

/** The one way to the configuration that lies in workspaces: memory files, command files (S4). */
export interface WorkspaceTrust {
  /** Says whether a directory's configuration may be used, and gives it. Never throws for what lies in the directory. */
  trustOf(directory: string): Promise<Trust>;
}

/** A change of one configuration file that its user approved. */
export interface ApprovedChange {
  /** The directory that is trusted. */
  readonly directory: string;
  /** The file, relative to it. */
  readonly path: string;
  /** Its content before the change; undefined when there was none. */
  readonly before: string | undefined;
  readonly after: string;
}

/** Trust that goes along with what its user approves. */
export interface TrustKeeper extends WorkspaceTrust {
  /**
   * Takes an approved change of one file over into the directory's grant, so that it need not be granted anew. Does so
   * only when the grant trusts the file as it was before. Tells whether the file is trusted as it is after.
   */
  follow(change: ApprovedChange): Promise<boolean>;
}

/** Says for a person why a directory's configuration is not used; empty when it is. */
export function trustProblem(directory: string, trust: Trust): string {
  const remedy = `look at it, then run: devtool trust add ${shellWord(directory)}`;
  switch (trust.case) {
    case "trusted":
      return "";
    case "untrusted":
      return trust.reason === ""
        ? `configuration in ${JSON.stringify(directory)} is not read: nobody trusted it: ${remedy}`
        : `configuration in ${JSON.stringify(directory)} is not read: ${trust.reason}`;
    case "changed":
      return `configuration in ${JSON.stringify(directory)} is not read: it differs from what was trusted (${listed(trust.changes)}): ${remedy}`;
    default:
      return trust satisfies never;
  }
}

/** So many files are named; the rest are counted. */
const MAX_NAMED = 10;

function listed(changes: readonly ConfigChange[]): string {
  const named = changes.slice(0, MAX_NAMED).map(({ path, how }) => `${nameOf(path)} ${how}`);
  const rest = changes.length - named.length;
  return [...named, ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
}

/** A name that a repository chose, which must not read as words of ours. */
function nameOf(path: string): string {
  return /^[\w@+./-]+$/.test(path) ? path : JSON.stringify(path);
}

/** Quotes a word for a POSIX shell, unless it needs none. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
