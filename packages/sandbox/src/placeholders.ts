import { lstatSync, readdirSync, readlinkSync, renameSync, rmdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";
import { readMountTable } from "./mount-table.ts";
import { isFilePlaceholder, makeFilePlaceholder, makePlaceholder } from "./placeholder.ts";
import type { Redirect } from "./redirects.ts";
import type { GuardedLink } from "./sandbox.ts";
import { realPath } from "./system-mounts.ts";

/** What is to be as it was when a command has ended. */
export interface Held {
  /** Directories to mount something over. */
  readonly directories: readonly string[];
  /** Files to mount something over. */
  readonly redirects: readonly Redirect[];
  /** Links that nothing can be mounted over. */
  readonly links: readonly GuardedLink[];
}

/**
 * The empty directories and files that a sandbox makes in workspaces to mount something over names that are not there. They
 * go when the last command that needs them has ended.
 */
export class Placeholders {
  readonly #holders = new Map<string, number>();

  /** Makes places that a command needs, and keeps them until what this gives is disposed of. */
  hold({ directories, redirects, links }: Held): Disposable {
    for (const path of directories) makePlaceholder(path);
    for (const { path, content } of redirects) makeFilePlaceholder(path, content);
    const paths = [...directories, ...redirects.map(({ path }) => path)];
    for (const path of paths) this.#holders.set(path, (this.#holders.get(path) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        for (const link of links) restoreLink(link);
        this.#release(paths);
      },
    };
  }

  #release(paths: readonly string[]): void {
    const free = paths.filter((path) => {
      const left = (this.#holders.get(path) ?? 1) - 1;
      if (left > 0) this.#holders.set(path, left);
      else this.#holders.delete(path);
      return left === 0;
    });
    this.#removeUnused(free, RETRIES);
  }

  /** The processes of a command that has ended may still be on their way out, with its mounts. */
  #removeUnused(paths: readonly string[], retries: number): void {
    const free = paths.filter((path) => !this.#holders.has(path));
    if (free.length === 0) return;
    const mounted = mountPointsElsewhere();
    for (const path of free) if (!mounted.has(path)) removePlaceholder(path);
    const kept = free.filter((path) => mounted.has(path));
    if (retries > 0) setTimeout(() => this.#removeUnused(kept, retries - 1), RETRY_MS).unref();
  }
}

const RETRY_MS = 100;
const RETRIES = 20;

/** Puts a link back that a command replaced; what took its place is moved aside, under a name that nothing reads. */
function restoreLink({ path, target }: GuardedLink): void {
  try {
    if (realPath(dirname(path)) !== dirname(path)) return;
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() && readlinkSync(path) === target) return;
    if (stats) renameSync(path, freeName(path));
    symlinkSync(target, path);
  } catch {
    // Somebody else is changing it.
  }
}

function freeName(path: string): string {
  for (let number = 1; ; number++) {
    const name = `${path}.replaced-${number}`;
    if (!lstatSync(name, { throwIfNoEntry: false })) return name;
  }
}

/** What somebody has put something into meanwhile is theirs. */
function removePlaceholder(path: string): void {
  try {
    if (isFilePlaceholder(path)) rmSync(path);
    else rmdirSync(path);
  } catch {
    // It is not empty, or has gone.
  }
}

/**
 * The mount points of this user's processes that see other mounts than this one. Removing a directory takes away what is
 * mounted over it everywhere: a command that another server runs in the same workspace would no longer be kept from it.
 */
function mountPointsElsewhere(): ReadonlySet<string> {
  const own = namespaceOf("self");
  const found = new Map<string, readonly string[]>();
  for (const pid of readdirSync("/proc")) {
    const namespace = /^\d+$/.test(pid) ? namespaceOf(pid) : undefined;
    if (namespace === undefined || namespace === own || found.has(namespace)) continue;
    const points = readMountTable(Number(pid)).map(({ path }) => path);
    // A process that has just ended shows none: others of its namespace may still run.
    if (points.length > 0) found.set(namespace, points);
  }
  return new Set([...found.values()].flat());
}

function namespaceOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`);
  } catch {
    return undefined;
  }
}
