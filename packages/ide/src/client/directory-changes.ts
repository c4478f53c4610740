import { existsSync, type FSWatcher, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { abortable } from "@devtool/internal/abortable";
import { faultOfDirectory } from "../discovery/own-directory.ts";

/** The time after which a directory is read without a change, too. */
const ANYWAY_MS = 30_000;

/** The same where the directory is not watched. */
const POLL_MS = 2000;

/**
 * Yields at once, and then whenever something may have changed in a directory,
 * which need not exist yet. Yields each 30 seconds anyway, as some file systems
 * report no changes. Ends when the signal aborts. A directory that is a link, or
 * another user's, may change all the time and is not watched.
 *
 * What the caller reads after one yield is never older than that: changes are
 * heard from before it on.
 */
export async function* directoryChanges(
  path: string,
  signal: AbortSignal,
): AsyncGenerator<void> {
  while (!signal.aborted) {
    const changed = Promise.withResolvers<void>();
    const fault = await faultOfDirectory(path);
    const watcher = fault ? undefined : watchNearest(path, changed.resolve);
    try {
      yield;
      const late = AbortSignal.timeout(watcher ? ANYWAY_MS : POLL_MS);
      const limit = AbortSignal.any([signal, late]);
      await abortable(changed.promise, limit).catch(() => undefined);
    } finally {
      watcher?.close();
    }
  }
}

/**
 * Watches a directory, or the nearest one above it until there is one below
 * that. Undefined where that is not possible.
 */
function watchNearest(
  path: string,
  onChange: () => void,
): FSWatcher | undefined {
  let [directory, awaited] = [path, ""];
  while (!existsSync(directory) && dirname(directory) !== directory) {
    [directory, awaited] = [dirname(directory), basename(directory)];
  }
  try {
    const isOurs = (name: string | null): boolean =>
      awaited === "" || name === null || name === awaited;
    const watcher = watch(directory, { persistent: false }, (_event, name) => {
      if (isOurs(name) || !existsSync(directory)) onChange();
    });
    watcher.on("error", onChange);
    // Made in the meantime: what happens in it would not be heard here.
    if (awaited !== "" && existsSync(join(directory, awaited))) onChange();
    return watcher;
  } catch {
    return undefined;
  }
}
