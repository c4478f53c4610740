import {
  chmodSync,
  type FSWatcher,
  lstatSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  statSync,
  watch,
} from "node:fs";
import { basename, dirname } from "node:path";
import { inOpenedDirectory, isPlaceholder } from "./placeholder.ts";
import { statsOf } from "./regular-file.ts";
import type { Holding, TakenPlace } from "./sandbox.ts";

/** How often a place is looked for where no change is announced, in ms. */
const LOOK_MS = 50;
/**
 * The number of times that a place may appear before the commands that watch it
 * are ended: a program that reads it at any time would find it sooner or later.
 */
const MAX_APPEARANCES = 3;
/**
 * The number of names that are tried in order, before a new directory with a
 * name by chance: a command can take any number of names, and the place would
 * stay while we look for a free one.
 */
const MAX_NUMBER = 100;
const NUMBERS = Array.from({ length: MAX_NUMBER }, (_, index) => index + 1);

/** Places that are watched until it is disposed of. */
export interface Watch extends Holding {
  /** Watches one place more, from the next change of its directory on. */
  add(path: string): void;
}

/**
 * Keeps commands from making guarded places that are missing, without an entry
 * in the workspace.
 *
 * A place that appears is renamed at once, by an event of its directory, and at
 * the latest when the command has ended. Who made it cannot be known, so each
 * command that runs in that workspace reports it.
 */
export class WatchedPlaces {
  readonly #watches = new Set<{
    readonly paths: ReadonlySet<string>;
    readonly taken: TakenPlace[];
    readonly end: () => void;
  }>();
  readonly #onTaken: (path: string) => void;

  /** `onTaken` is called with each place that was renamed. */
  constructor(onTaken: (path: string) => void) {
    this.#onTaken = onTaken;
  }

  /**
   * Watches places. `end` is called when one of them appears again and again.
   */
  watch(watched: readonly string[], end: () => void): Watch {
    const paths = new Set(watched);
    const one = { paths, taken: [] as TakenPlace[], end };
    this.#watches.add(one);
    let timer: NodeJS.Timeout | undefined;
    const look = (): void => {
      const placeholders = this.#takeAll(paths);
      // What is put into one changes no directory that is watched.
      if (placeholders > 0) timer ??= setInterval(look, LOOK_MS).unref();
    };
    const stops = [watchDirectories(new Set(watched.map(dirname)), look)];
    look();
    return {
      taken: one.taken,
      add: (path) => {
        if (paths.has(path)) return;
        paths.add(path);
        stops.push(watchDirectories(new Set([dirname(path)]), look));
      },
      [Symbol.dispose]: () => {
        for (const stop of stops) stop();
        look();
        clearInterval(timer);
        this.#watches.delete(one);
      },
    };
  }

  /** Returns the number of empty placeholders, which stay. */
  #takeAll(paths: Iterable<string>): number {
    let placeholders = 0;
    for (const path of paths) {
      if (!statsOf(path)) continue;
      if (isEmptyPlaceholder(path)) {
        placeholders++;
        continue;
      }
      const keptAs = setAside(path);
      if (keptAs === undefined) continue;
      this.#onTaken(path);
      for (const { paths: watched, taken, end } of this.#watches) {
        if (!watched.has(path)) continue;
        taken.push({ path, keptAs });
        const times = taken.filter((place) => place.path === path).length;
        if (times >= MAX_APPEARANCES) end();
      }
    }
    return placeholders;
  }
}

/**
 * Returns whether a path is a placeholder that another command needs. A command
 * can give its own directory the time that marks one, but not empty it then.
 */
function isEmptyPlaceholder(path: string): boolean {
  try {
    return isPlaceholder(path) && readdirSync(path).length === 0;
  } catch {
    return false;
  }
}

/**
 * Calls back after changes in directories, at most once for all the changes that
 * wait at a time: a command may make a million files. Returns a function that
 * stops.
 */
function watchDirectories(
  directories: ReadonlySet<string>,
  look: () => void,
): () => void {
  let waiting: NodeJS.Immediate | undefined;
  const soon = (): void => {
    waiting ??= setImmediate(() => {
      waiting = undefined;
      look();
    });
  };
  const watchers: FSWatcher[] = [];
  const timers: NodeJS.Timeout[] = [];
  const lookOften = (): void => {
    timers.push(setInterval(look, LOOK_MS).unref());
  };
  for (const directory of directories) {
    try {
      const watcher = watch(directory, { persistent: false }, soon);
      watchers.push(watcher.on("error", lookOften));
    } catch {
      // The user's watches are used up, perhaps by another command.
      lookOften();
    }
  }
  return () => {
    for (const watcher of watchers) watcher.close();
    for (const timer of timers) clearInterval(timer);
    clearImmediate(waiting);
  };
}

/**
 * Renames what is at a path, in a directory that a command may have made
 * unwritable. Returns the new path; undefined when nothing is there.
 */
export function setAside(path: string): string | undefined {
  try {
    return renameAside(path);
  } catch {
    try {
      chmodSync(dirname(path), statSync(dirname(path)).mode | 0o700);
      return renameAside(path);
    } catch {
      // Another process has removed it, or moved the directory.
      return undefined;
    }
  }
}

function renameAside(path: string): string | undefined {
  let suffix: string | undefined;
  inOpenedDirectory(path, (held) => {
    const find = (name: string) => lstatSync(name, { throwIfNoEntry: false });
    if (!find(held)) return;
    const free = NUMBERS.find((number) => !find(`${held}.replaced-${number}`));
    const place =
      free === undefined
        ? `${mkdtempSync(`${held}.replaced-`)}/${basename(path)}`
        : `${held}.replaced-${free}`;
    renameSync(held, place);
    suffix = place.slice(held.length);
  });
  return suffix === undefined ? undefined : `${path}${suffix}`;
}
