import { isAbsolute, relative, sep } from "node:path";

/**
 * Whether a path is a directory or lies in it. Compares the paths segment by
 * segment, without a look at the disk: resolve symbolic links first.
 */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path);
  return (
    way === "" ||
    (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way))
  );
}
