import { readFileSync } from "node:fs";

/**
 * One mount of a process's file system, as a line of `/proc/PID/mountinfo`
 * describes it (proc_pid_mountinfo(5)).
 */
export interface Mount {
  readonly id: string;
  /** The id of the mount that this one is mounted on. */
  readonly parent: string;
  /**
   * Major and minor number of the file system, which tell it from all others.
   */
  readonly device: string;
  /**
   * The path within that file system that is mounted; it ends with `//deleted`
   * when it has been removed or replaced.
   */
  readonly root: string;
  /** Where it is mounted: a path as the process sees it. */
  readonly path: string;
  readonly isReadOnly: boolean;
}

/**
 * Reads the mounts of a process; empty when it has ended or may not be looked
 * at.
 */
export function readMountTable(pid: number | "self"): Mount[] {
  try {
    return parseMountTable(readFileSync(`/proc/${pid}/mountinfo`, "utf8"));
  } catch {
    return [];
  }
}

/** Parses the text of a `mountinfo` file. */
export function parseMountTable(text: string): Mount[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [
      id = "",
      parent = "",
      device = "",
      root = "",
      path = "",
      options = "",
    ] = line.split(" ");
    const isReadOnly = options.split(",").includes("ro");
    return {
      id,
      parent,
      device,
      root: unescapeOctal(root),
      path: unescapeOctal(path),
      isReadOnly,
    };
  });
}

/**
 * Finds the mount that a path leads to, through no symbolic link: starts at the
 * root and enters whatever is mounted on each directory on the way, so mounts
 * that others cover do not count. Undefined when the table has no root.
 */
export function mountAt(
  path: string,
  mounts: readonly Mount[],
): Mount | undefined {
  const ids = new Set(mounts.map(({ id }) => id));
  const names = path.split("/").filter((name) => name !== "");
  const directories = [
    "/",
    ...names.map((_name, index) => `/${names.slice(0, index + 1).join("/")}`),
  ];
  let current = mounts.find(
    (mount) => mount.path === "/" && !ids.has(mount.parent),
  );
  for (const directory of directories) {
    for (let upper = current; upper !== undefined; ) {
      current = upper;
      const { id } = upper;
      upper = mounts.find(
        (mount) =>
          mount.parent === id && mount.path === directory && mount.id !== id,
      );
    }
  }
  return current;
}

/**
 * Blanks, line breaks and backslashes are written as `\040`, `\012` and `\134`.
 */
function unescapeOctal(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_all, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}
