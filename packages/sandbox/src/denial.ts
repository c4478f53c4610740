import { statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { realPath } from "@devtool/internal/real-path";
import type { Extension } from "./extension.ts";
import { isWithin, missingPlace } from "./guarded-places.ts";
import type { GuardedPlaces, Sandbox, SandboxAccess } from "./sandbox.ts";

import { workTreesAround } from "./work-trees.ts";

/** A failed command, with what is needed to find out why. */
export interface FailedCommand {
  /** The command line, as it was shown for approval. */
  readonly command: string;
  /** What it printed. The last 50 lines are searched. */
  readonly output: string;
  /** The directory in which it started: an absolute path. */
  readonly workingDirectory: string;
  readonly access: SandboxAccess;
  /**
   * The places in the workspace that it could only read, as the sandbox gave
   * them (`SandboxedCommand.guarded`).
   */
  readonly guarded: GuardedPlaces;
}

const NETWORK =
  /Could not resolve host|Temporary failure in name resolution|Name or service not known|Network is unreachable|Failed to resolve|\b(ENETUNREACH|EAI_AGAIN)\b/i;
const READ_ONLY = /Read-only file system|\bEROFS\b/i;
/** Errors of moving or removing a mount. */
const BUSY = /Device or resource busy|\bEBUSY\b/i;
/**
 * Errors of operations that need a privilege, which no further access gives,
 * and of moving a mount.
 */
const PRIVILEGED =
  /Operation not permitted|Device or resource busy|\b(EPERM|EBUSY)\b/i;
/** What git says where the sandbox hides the repository around a workspace. */
const NO_REPOSITORY = /not a git repository/i;
const REFUSED = /Permission denied|\bEACCES\b/i;
const MISSING = /No such file or directory|\bENOENT\b/i;
const QUOTED = /['"‘“`]([^'"’”`]+)['"’”`]/;
const BEFORE_REASON =
  /([^\s:]+): (?:Read-only file system|Permission denied|No such file or directory|Device or resource busy|Operation not permitted)/i;
const BARE = /(?:^|[\s:=(])(\/[^\s:;,)]+)/;
/** Directories that each command has of its own. */
const SCRATCH = ["/tmp", "/var/tmp"];
/** Number of lines at the end of the output that are searched. */
const MAX_LINES = 50;
/**
 * Directories that are never granted: a command that has to write there can
 * only run without a sandbox.
 */
const SYSTEM = [
  "/bin",
  "/boot",
  "/dev",
  "/lib",
  "/lib64",
  "/proc",
  "/sbin",
  "/sys",
];

/**
 * Guesses from the output of a failed command what its sandbox denied it, for a
 * question to the user. Undefined when that does not look like the reason, or
 * when `sandbox` can grant nothing that would help.
 *
 * Anything can print a denial: a run without a sandbox is only suggested when
 * the command line itself names what was denied.
 */
export function findDenial(
  failed: FailedCommand,
  sandbox: Sandbox,
): Extension | undefined {
  const lines = failed.output.split("\n").slice(-MAX_LINES);
  for (const line of lines.reverse()) {
    const extension = denialIn(line, failed, sandbox);
    if (extension) return extension;
  }
  return undefined;
}

function denialIn(
  line: string,
  failed: FailedCommand,
  sandbox: Sandbox,
): Extension | undefined {
  const { access, guarded, workingDirectory } = failed;
  if (access.network === "none" && NETWORK.test(line)) {
    return { case: "network" };
  }
  if (NO_REPOSITORY.test(line)) {
    const [tree] = workTreesAround(access.workspace);
    const [root] = tree?.roots ?? [];
    return root === undefined
      ? undefined
      : readExtension(root, failed, sandbox);
  }
  const named =
    QUOTED.exec(line)?.[1] ??
    BEFORE_REASON.exec(line)?.[1] ??
    BARE.exec(line)?.[1];
  const isPath =
    named !== undefined && (isAbsolute(named) || !named.includes(":"));
  const path = isPath ? resolve(workingDirectory, named) : undefined;
  if (READ_ONLY.test(line)) return writeExtension(path, failed, sandbox);
  // A read-only place is a mount, which cannot be removed or replaced, as
  // `git checkout` tries.
  if (
    BUSY.test(line) &&
    path !== undefined &&
    isWithin(path, guarded.present)
  ) {
    return writeExtension(path, failed, sandbox);
  }
  if (PRIVILEGED.test(line)) return unconfined(path, failed);
  if (path === undefined) return undefined;
  // Where a command may write, it was the mode of a file that denied access,
  // and not the sandbox.
  const isWritable = isWithin(path, [access.workspace, ...access.writable]);
  if (REFUSED.test(line)) {
    return isWritable ? undefined : writeExtension(path, failed, sandbox);
  }
  return MISSING.test(line) ? readExtension(path, failed, sandbox) : undefined;
}

/**
 * Returns read access to a path that a command did not find, or to its
 * directory: the sandbox may hide what exists outside.
 */
function readExtension(
  path: string,
  { access, guarded }: FailedCommand,
  sandbox: Sandbox,
): Extension | undefined {
  const { workspace, readable, writable } = access;
  if (
    isWithin(path, [
      workspace,
      "/usr",
      "/etc",
      ...SYSTEM,
      ...readable,
      ...writable,
    ])
  ) {
    return undefined;
  }
  const place = realPath(path) ?? realPath(dirname(path));
  // In a repository around the workspace, what no grant makes writable may
  // still be read.
  const guardedForReading = { ...guarded, gitDirectories: [] };
  if (
    place === undefined ||
    SCRATCH.includes(place) ||
    !sandbox.canGrant(place, guardedForReading)
  ) {
    return undefined;
  }
  return { case: "read", path: place };
}

function writeExtension(
  path: string | undefined,
  failed: FailedCommand,
  sandbox: Sandbox,
): Extension | undefined {
  const place = path === undefined ? undefined : writablePlace(path, failed);
  const grantable =
    place !== undefined && sandbox.canGrant(place, failed.guarded);
  return grantable ? { case: "write", path: place } : unconfined(path, failed);
}

/**
 * Returns a run without a sandbox, unless only the output suggests that:
 * anything can print a denial.
 *
 * The command line that was shown must contain the path itself, or the name of
 * a program that needs a privilege.
 */
function unconfined(
  path: string | undefined,
  { command, workingDirectory }: FailedCommand,
): Extension | undefined {
  const words = command.split(/[\s;|&()<>'"`]+/).filter(Boolean);
  const names = words.map((word) => word.slice(word.lastIndexOf("/") + 1));
  const isNamed =
    path !== undefined &&
    words.some((word) => resolve(workingDirectory, word) === path);
  const isOfGit =
    path !== undefined &&
    names.includes("git") &&
    path.split("/").includes(".git");
  return isNamed ||
    isOfGit ||
    names.some((name) => NEED_PRIVILEGE.has(name.replace(/:$/, "")))
    ? { case: "unconfined" }
    : undefined;
}

/** Programs that need a privilege for their main purpose. */
const NEED_PRIVILEGE: ReadonlySet<string> = new Set(
  (
    "sudo doas su mount umount chown chgrp chroot mknod unshare nsenter bwrap docker podman ping traceroute tcpdump strace " +
    "ltrace gdb perf apt apt-get dpkg dnf yum rpm pacman apk zypper snap flatpak systemctl service ip iptables nft " +
    "modprobe sysctl setcap useradd usermod groupadd passwd"
  ).split(" "),
);

/**
 * Returns what to make writable for a path: the whole repository, an existing
 * file, or the nearest existing directory.
 *
 * Undefined when that can be written already: then the path was relative to
 * another directory.
 */
function writablePlace(
  path: string,
  { access, guarded }: FailedCommand,
): string | undefined {
  const { workspace, writable } = access;
  const gitDirectories = [
    join(workspace, ".git"),
    ...guarded.gitDirectories,
  ].filter((git) => isWithin(path, [git]));
  // The git directory of a linked work tree lies in that of its repository, so
  // the deepest one counts.
  const [git] = gitDirectories.toSorted(
    (one, other) => other.length - one.length,
  );
  if (git !== undefined) return writable.includes(git) ? undefined : git;
  const missing = missingPlace(path, guarded);
  if (missing !== undefined) {
    return writable.includes(missing) ? undefined : missing;
  }
  const place = existingPlace(path);
  const own = isWithin(place, [workspace]) && !isWithin(place, guarded.present);
  return own || place === "/" || isWithin(place, [...writable, ...SYSTEM])
    ? undefined
    : place;
}

/**
 * Returns the real path of a file or directory, or of the nearest existing
 * directory above it.
 */
function existingPlace(path: string): string {
  const real = realPath(path);
  if (real === undefined) return existingPlace(dirname(path));
  return statSync(real).isFile() || statSync(real).isDirectory()
    ? real
    : dirname(real);
}
