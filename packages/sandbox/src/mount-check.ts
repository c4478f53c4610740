import { dirname, posix } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Mount, mountAt, readMountTable } from "./mount-table.ts";
import { ownPid, visibilityOf } from "./process-state.ts";
import { replacedError, SandboxError } from "./sandbox-error.ts";

/** A mount that bwrap was asked for. */
export interface IntendedMount {
  /**
   * Where it is to be seen: an absolute path, the same inside and outside but
   * for a few files of the system.
   */
  readonly path: string;
  /**
   * The real path of what is to be seen there; undefined for an empty
   * directory.
   */
  readonly source: string | undefined;
  readonly isReadOnly: boolean;
}

/** Device files that bwrap shows in each `/dev` (`--dev`). */
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"].map(
  (name) => `/dev/${name}`,
);
/**
 * Interval between two reads of the mounts while bwrap sets a sandbox up, in
 * milliseconds.
 */
const LOOK_MS = 1;
/** The maximum time for setting a sandbox up, in milliseconds. */
const SETUP_MS = 10_000;

/**
 * Lists the mounts that arguments of bwrap ask for; a later one for the same
 * path replaces the earlier one.
 *
 * `resolve` returns the real path of a source. By default sources are expected
 * to contain no links: a path that has become a link is not what it meant when
 * the mounts were planned.
 */
export function intendedMounts(
  args: readonly string[],
  resolve: (path: string) => string = (path) => path,
): Map<string, IntendedMount> {
  const intended = new Map<string, IntendedMount>();
  for (const [index, arg] of args.entries()) {
    const [first = "", second = ""] = args.slice(index + 1, index + 3);
    const emptied = intended.get(first);
    if (arg === "--bind" || arg === "--ro-bind") {
      intended.set(second, {
        path: second,
        source: resolve(first),
        isReadOnly: arg === "--ro-bind",
      });
    } else if (arg === "--tmpfs") {
      intended.set(first, {
        path: first,
        source: undefined,
        isReadOnly: false,
      });
    } else if (arg === "--remount-ro" && emptied) {
      intended.set(first, { ...emptied, isReadOnly: true });
    }
  }
  return intended;
}

/**
 * Waits until bwrap has mounted everything for its child, and compares the
 * result with what it was asked for.
 *
 * bwrap mounts by path, and another command may rename a directory or replace
 * it with a link at that moment, so the sources and targets that bwrap used may
 * differ from those that were planned. The kernel's mount table shows the
 * result. It is read from outside the sandbox, since an attacker may control
 * the programs inside, while the child waits (`--block-fd`). Rejects with a
 * `SandboxError` for the first difference.
 */
export async function checkMounts(
  pid: number,
  all: ReadonlyMap<string, IntendedMount>,
  guarded: ReadonlyMap<string, IntendedMount>,
): Promise<void> {
  const inside = await finishedMounts(pid);
  // A bwrap that could not mount something has ended, and says why in its
  // output.
  if (inside === undefined) return;
  const path = findDifference(inside, readMountTable("self"), all, guarded);
  if (path !== undefined) throw replacedError(path);
}

/**
 * Returns the path of a mount that is not as intended, or undefined.
 *
 * Each of the guarded mounts must be what its path leads to inside, with its
 * source and its mode. Beyond that nothing may be mounted in the sandbox but
 * file systems of its own and what lies at the same path outside.
 */
export function findDifference(
  inside: readonly Mount[],
  outside: readonly Mount[],
  all: ReadonlyMap<string, IntendedMount>,
  guarded: ReadonlyMap<string, IntendedMount>,
): string | undefined {
  // A mount with none of these devices is a file system of the sandbox's own.
  const devices = new Set(outside.map(({ device }) => device));
  for (const { path, source, isReadOnly } of guarded.values()) {
    const mount = mountAt(path, inside);
    if (mount?.path !== path || (isReadOnly && !mount.isReadOnly)) return path;
    const isShown =
      source === undefined
        ? !devices.has(mount.device)
        : isSource(mount, source, outside);
    if (!isShown) return path;
  }
  const unexplained = inside.find((mount) => {
    if (!devices.has(mount.device)) return false;
    const intended = all.get(mount.path);
    if (intended) return !isSource(mount, intended.source ?? "", outside);
    if (!isSource(mount, mount.path, outside)) return true;
    return !DEVICES.includes(mount.path) && !isSubmount(mount, outside, all);
  });
  return unexplained?.path;
}

/** Whether a mount shows what lies at a real path outside. */
function isSource(
  mount: Mount,
  source: string,
  outside: readonly Mount[],
): boolean {
  const holder = mountAt(source, outside);
  if (holder?.device !== mount.device) return false;
  return (
    posix.join(holder.root, posix.relative(holder.path, source)) === mount.root
  );
}

/**
 * Whether a mount came along with the intended one around it, since it is
 * mounted outside as well.
 */
function isSubmount(
  mount: Mount,
  outside: readonly Mount[],
  all: ReadonlyMap<string, IntendedMount>,
): boolean {
  if (!outside.some(({ path }) => path === mount.path)) return false;
  for (let path = dirname(mount.path); path !== "/"; path = dirname(path)) {
    const around = all.get(path);
    if (around) {
      return around.source === path && (mount.isReadOnly || !around.isReadOnly);
    }
  }
  return false;
}

/**
 * Reads the mounts of bwrap's child when they are complete: then its root is
 * the new one, a directory of a file system of bwrap's own.
 *
 * Undefined when it has ended. Rejects with a `SandboxError` for a process that
 * this user cannot look at.
 */
async function finishedMounts(
  pid: number,
): Promise<readonly Mount[] | undefined> {
  const foreign = foreignProc();
  if (foreign) throw foreign;
  const outside = new Set(readMountTable("self").map(({ device }) => device));
  const deadline = performance.now() + SETUP_MS;
  while (performance.now() < deadline) {
    const mounts = readMountTable(pid);
    const root = mounts.find(({ path }) => path === "/");
    if (root && root.root !== "/" && !outside.has(root.device)) return mounts;
    const visibility = visibilityOf(pid);
    if (visibility === "ended") return undefined;
    if (visibility === "hidden") {
      const problem =
        "the mounts of the sandbox cannot be checked, since this machine hides processes from their own user";
      const remedy = 'mount /proc without hidepid, or choose sandbox "none"';
      throw new SandboxError(problem, "cannot-confine", { remedy });
    }
    await delay(LOOK_MS);
  }
  const problem = `the mounts of the sandbox were not complete after ${SETUP_MS} ms`;
  throw new SandboxError(problem, "cannot-confine", {
    remedy: "run the command again when the machine is less busy",
  });
}

/**
 * Why no mounts can be checked when `/proc` is that of another pid namespace,
 * where a process id names another process.
 */
export function foreignProc(): SandboxError | undefined {
  if (ownPid() === process.pid) return undefined;
  const problem =
    "the mounts of the sandbox cannot be checked, since /proc is missing or belongs to another pid namespace";
  return new SandboxError(problem, "cannot-confine", {
    remedy:
      'mount /proc in the namespace of this process (unshare --mount-proc), or choose sandbox "none"',
  });
}
