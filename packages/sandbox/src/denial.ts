import { statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { isWithin, missingPlace } from "./guarded-places.ts";
import type { GuardedPlaces, Sandbox, SandboxAccess } from "./sandbox.ts";
import { realPath } from "./system-mounts.ts";

/** What a command needs more than it was given. */
export type Extension =
  | { readonly case: "read"; readonly path: string }
  | { readonly case: "write"; readonly path: string }
  | { readonly case: "network" }
  | { readonly case: "unconfined" };

/** A command that failed, as far as it tells why. */
export interface FailedCommand {
  /** The command line, as it was shown. */
  readonly command: string;
  readonly output: string;
  readonly workingDirectory: string;
  readonly access: SandboxAccess;
  /** What of the workspace it could only read. */
  readonly guarded: GuardedPlaces;
}

const NETWORK =
  /Could not resolve host|Temporary failure in name resolution|Name or service not known|Network is unreachable|Failed to resolve|\b(ENETUNREACH|EAI_AGAIN)\b/i;
const READ_ONLY = /Read-only file system|\bEROFS\b/i;
/** What needs a privilege, and what would move a mount: no wider access gives either. */
const BUSY = /Device or resource busy|\bEBUSY\b/i;
const PRIVILEGED = /Operation not permitted|Device or resource busy|\b(EPERM|EBUSY)\b/i;
const REFUSED = /Permission denied|\bEACCES\b/i;
const MISSING = /No such file or directory|\bENOENT\b/i;
const QUOTED = /['"‘“`]([^'"’”`]+)['"’”`]/;
const BEFORE_REASON =
  /([^\s:]+): (?:Read-only file system|Permission denied|No such file or directory|Device or resource busy|Operation not permitted)/i;
const BARE = /(?:^|[\s:=(])(\/[^\s:;,)]+)/;
/** What commands have of their own. */
const SCRATCH = ["/tmp", "/var/tmp"];
/** The number of lines at the end of an output that are searched. */
const MAX_LINES = 50;
/** Where only the system's programs write: a command that needs it needs no sandbox. */
const SYSTEM = ["/bin", "/boot", "/dev", "/lib", "/lib64", "/proc", "/sbin", "/sys"];

/** Guesses from what a command said what its sandbox kept from it; undefined when that does not look like the reason. */
export function findDenial(failed: FailedCommand, sandbox: Sandbox): Extension | undefined {
  const lines = failed.output.split("\n").slice(-MAX_LINES);
  for (const line of lines.reverse()) {
    const extension = denialIn(line, failed, sandbox);
    if (extension) return extension;
  }
  return undefined;
}

/** The access with the extension; undefined for the one that ends confinement. */
export function extendedAccess(access: SandboxAccess, extension: Extension): SandboxAccess | undefined {
  switch (extension.case) {
    case "read":
      return { ...access, readable: [...access.readable, extension.path] };
    case "write":
      return { ...access, writable: [...access.writable, extension.path] };
    case "network":
      return { ...access, network: "host" };
    case "unconfined":
      return undefined;
    default:
      return extension satisfies never;
  }
}

/** Says in words what an extension allows: `write access to "/data"`. */
export function extensionWords(extension: Extension): string {
  switch (extension.case) {
    case "read":
      return `read access to ${JSON.stringify(extension.path)}`;
    case "write":
      return `write access to ${JSON.stringify(extension.path)}`;
    case "network":
      return "access to the network, this machine's own ports included";
    case "unconfined":
      return "no sandbox: it can do what you can do";
    default:
      return extension satisfies never;
  }
}

function denialIn(line: string, failed: FailedCommand, sandbox: Sandbox): Extension | undefined {
  if (failed.access.network === "none" && NETWORK.test(line)) return { case: "network" };
  const path = pathIn(line, failed.workingDirectory);
  if (READ_ONLY.test(line)) return writeExtension(path, failed, sandbox);
  // What is only read is a mount, which nothing removes or replaces: git checkout tries.
  if (BUSY.test(line) && path !== undefined && isWithin(path, failed.guarded.present))
    return writeExtension(path, failed, sandbox);
  if (PRIVILEGED.test(line)) return unconfined(path, failed);
  if (path === undefined) return undefined;
  if (REFUSED.test(line)) return refusedExtension(path, failed, sandbox);
  if (MISSING.test(line)) return hiddenExtension(path, failed, sandbox);
  return undefined;
}

function pathIn(line: string, workingDirectory: string): string | undefined {
  const named = QUOTED.exec(line)?.[1] ?? BEFORE_REASON.exec(line)?.[1] ?? BARE.exec(line)?.[1];
  return named === undefined || (!isAbsolute(named) && named.includes(":"))
    ? undefined
    : resolve(workingDirectory, named);
}

function writeExtension(path: string | undefined, failed: FailedCommand, sandbox: Sandbox): Extension | undefined {
  const place = path === undefined ? undefined : writablePlace(path, failed);
  const grantable = place !== undefined && sandbox.canGrant(place, failed.guarded);
  return grantable ? { case: "write", path: place } : unconfined(path, failed);
}

/**
 * The end of confinement, which the output alone never offers, since anything can print a denial: the command line that
 * was shown must name the path itself, or a program that needs a privilege.
 */
function unconfined(path: string | undefined, { command, workingDirectory }: FailedCommand): Extension | undefined {
  const words = command.split(/[\s;|&()<>'"`]+/).filter(Boolean);
  const names = words.map((word) => word.slice(word.lastIndexOf("/") + 1));
  const isNamed = path !== undefined && words.some((word) => resolve(workingDirectory, word) === path);
  const isOfGit = path !== undefined && names.includes("git") && path.split("/").includes(".git");
  return isNamed || isOfGit || names.some((name) => NEED_PRIVILEGE.has(name.replace(/:$/, "")))
    ? { case: "unconfined" }
    : undefined;
}

/** Programs that cannot do what they are for without a privilege. */
const NEED_PRIVILEGE: ReadonlySet<string> = new Set(
  (
    "sudo doas su mount umount chown chgrp chroot mknod unshare nsenter bwrap docker podman ping traceroute tcpdump strace " +
    "ltrace gdb perf apt apt-get dpkg dnf yum rpm pacman apk zypper snap flatpak systemctl service ip iptables nft " +
    "modprobe sysctl setcap useradd usermod groupadd passwd"
  ).split(" "),
);

/** What is refused in the workspace, or where it may be written, is refused by the files' own modes. */
function refusedExtension(path: string, failed: FailedCommand, sandbox: Sandbox): Extension | undefined {
  const { workspace, writable } = failed.access;
  return isWithin(path, [workspace, ...writable]) ? undefined : writeExtension(path, failed, sandbox);
}

/** What is there for us, or would be in a directory that is, and not for the command, was hidden from it. */
function hiddenExtension(path: string, failed: FailedCommand, sandbox: Sandbox): Extension | undefined {
  const { workspace, readable, writable } = failed.access;
  if (isWithin(path, [workspace, "/usr", "/etc", ...SYSTEM, ...readable, ...writable])) return undefined;
  const place = realPath(path) ?? realPath(dirname(path));
  if (place === undefined || SCRATCH.includes(place) || !sandbox.canGrant(place, failed.guarded)) return undefined;
  return { case: "read", path: place };
}

/**
 * What to make writable for a path: all of the repository, a file that is there, or else the directory that is.
 * Undefined when that can be written already: then the path was meant from another directory.
 */
function writablePlace(path: string, { access, guarded }: FailedCommand): string | undefined {
  const { workspace, writable } = access;
  const git = join(workspace, ".git");
  if (isWithin(path, [git])) return writable.includes(git) ? undefined : git;
  const missing = missingPlace(path, guarded);
  if (missing !== undefined) return writable.includes(missing) ? undefined : missing;
  const place = existingPlace(path);
  const own = isWithin(place, [workspace]) && !isWithin(place, guarded.present);
  return own || place === "/" || isWithin(place, [...writable, ...SYSTEM]) ? undefined : place;
}

/** The path by its real name, or the nearest directory above it that is there. */
function existingPlace(path: string): string {
  const real = realPath(path);
  if (real === undefined) return existingPlace(dirname(path));
  return statSync(real).isFile() || statSync(real).isDirectory() ? real : dirname(real);
}
