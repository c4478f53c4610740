import {
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
} from "node:fs";
import { dirname } from "node:path";
import { realPath } from "@devtool/internal/real-path";
import { readMountTable } from "./mount-table.ts";
import {
  giveUpPlaceholder,
  inOpenedDirectory,
  makeFilePlaceholder,
  makePlaceholder,
  newHolder,
  removePlaceholder,
} from "./placeholder.ts";
import type { Redirect } from "./redirects.ts";
import type { GuardedLink, Holding } from "./sandbox.ts";
import { replacedError } from "./sandbox-error.ts";
import { setAside, WatchedPlaces } from "./watched-places.ts";

/** The changes to a workspace that are undone when a command has ended. */
export interface Held {
  /** Placeholder directories. */
  readonly directories: readonly string[];
  /** Placeholder files. */
  readonly redirects: readonly Redirect[];
  /**
   * Links that the command may replace, since nothing can be mounted over them.
   */
  readonly links: readonly GuardedLink[];
  /** Missing places for which no placeholder is made. Default: none. */
  readonly watched?: readonly string[];
}

/**
 * How often, and after how many milliseconds each, the removal of placeholders
 * that are still mounted is tried again.
 */
const RETRIES = 20;
const RETRY_MS = 100;

/**
 * Makes the placeholders that commands need, and removes each when the last
 * command that needs it has ended.
 */
export class Placeholders {
  /** Told from other servers, whose commands may run in the same workspace. */
  readonly #self = newHolder();
  /** The commands that need a placeholder, by its path: told when it is lost. */
  readonly #holders = new Map<string, Set<(path: string) => void>>();
  readonly #watched = new WatchedPlaces((path) => {
    for (const lose of this.#holders.get(path) ?? []) lose(path);
  });

  /**
   * Makes what a command needs. Disposing of the result puts links back and
   * releases the placeholders.
   *
   * Throws a `SandboxError` where a directory has become a link: bwrap would
   * mount, and make, where that leads. `end` ends the command; default: nothing.
   */
  hold(
    { directories, redirects, links, watched = [] }: Held,
    end: () => void = () => undefined,
  ): Holding {
    const paths = [...directories, ...redirects.map(({ path }) => path)];
    for (const directory of paths.map(dirname)) {
      if (realPath(directory) !== directory) throw replacedError(directory);
    }
    for (const path of directories) makePlaceholder(path, this.#self);
    for (const { path, content } of redirects) {
      makeFilePlaceholder(path, content, this.#self);
    }
    const watch = this.#watched.watch(watched, end);
    // What is mounted over a placeholder moves with it: a command that needs one
    // which another command has filled is no longer kept from its path.
    const lose = (path: string): void => {
      watch.add(path);
      end();
    };
    for (const path of paths) {
      const holders = this.#holders.get(path) ?? new Set();
      this.#holders.set(path, holders.add(lose));
    }
    return {
      taken: watch.taken,
      [Symbol.dispose]: () => {
        watch[Symbol.dispose]();
        for (const link of links) restoreLink(link);
        const free = paths.filter((path) => {
          const holders = this.#holders.get(path);
          holders?.delete(lose);
          return !holders || holders.size === 0;
        });
        for (const path of free) this.#holders.delete(path);
        this.#removeUnused(free, RETRIES);
      },
    };
  }

  /**
   * Removes placeholders that nothing uses. Tries again later, as processes of
   * an ended command may keep its mounts for a moment.
   */
  #removeUnused(paths: readonly string[], retries: number): void {
    const free = paths.filter((path) => !this.#holders.has(path));
    if (free.length === 0) return;
    const used = usedElsewhere(free);
    for (const path of free) {
      const letGo = used.has(path) ? giveUpPlaceholder : removePlaceholder;
      letGo(path, this.#self);
    }
    const kept = free.filter((path) => used.has(path));
    if (retries > 0) {
      setTimeout(() => this.#removeUnused(kept, retries - 1), RETRY_MS).unref();
    }
  }
}

/**
 * Puts back a link that a command replaced. What is in its place is renamed to
 * `<name>.replaced-1`, which nothing reads.
 */
function restoreLink({ path, target }: GuardedLink): void {
  try {
    inOpenedDirectory(path, (held) => {
      const stats = lstatSync(held, { throwIfNoEntry: false });
      if (stats?.isSymbolicLink() && readlinkSync(held) === target) return;
      if (stats) setAside(path);
      symlinkSync(target, held);
    });
  } catch {
    // Another process is changing it.
  }
}

/**
 * Returns those of the paths that other processes of this user have mounted
 * something over, or are about to.
 *
 * Removing a directory takes away what is mounted over it in every namespace,
 * so a command of another server in the same workspace would no longer be kept
 * from that path. A bwrap that has not mounted it yet names it in its
 * arguments.
 */
function usedElsewhere(paths: readonly string[]): ReadonlySet<string> {
  const own = namespaceOf("self");
  const namespaces = new Set<string>();
  const used = new Set<string>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    let args = "";
    try {
      args = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    } catch {
      // The process has ended.
    }
    for (const path of paths) {
      if (/(--tmpfs|--ro-bind)$/.test(args.split(`\0${path}\0`, 1)[0] ?? "")) {
        used.add(path);
      }
    }
    const namespace = namespaceOf(pid);
    if (
      namespace === undefined ||
      namespace === own ||
      namespaces.has(namespace)
    ) {
      continue;
    }
    const mounts = readMountTable(Number(pid));
    for (const { path } of mounts) used.add(path);
    // A process that has just ended shows none: others of its namespace may
    // still run.
    if (mounts.length > 0) namespaces.add(namespace);
  }
  return used;
}

function namespaceOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`);
  } catch {
    return undefined;
  }
}
