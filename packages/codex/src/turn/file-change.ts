import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { defined, objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { isInside } from "@devtool/internal/real-path";
import { type FileDiff, FileDiffSchema } from "@devtool/schema";
import { elementsOf } from "./odd-value.ts";

/** The maximum size of a file that is read to show a change, in bytes. */
const MAX_FILE_BYTES: number = 1024 * 1024;

/** One change of a `fileChange` item. */
export interface FileChange {
  /** An absolute path. */
  readonly path: string;
  /** `add`, `delete` or `update`; empty for a change that cannot be read. */
  readonly kind: string;
  /** Where the file is moved to; empty when it stays. */
  readonly movePath: string;
  /**
   * The hunks of an update; the content of a file that is added or deleted; the
   * JSON of a change that cannot be read.
   */
  readonly diff: string;
}

/** Reads the changes of a `fileChange` item. */
export function readChanges(changes: JsonValue | undefined): FileChange[] {
  return elementsOf(changes).map((change) => {
    const { path, kind, diff } = objectOrEmpty(change);
    const { type, move_path: to = null } = objectOrEmpty(kind);
    const isReadable =
      typeof path === "string" &&
      path !== "" &&
      KINDS.has(stringOrEmpty(type)) &&
      typeof diff === "string" &&
      (to === null || typeof to === "string");
    return {
      path: stringOrEmpty(path),
      kind: isReadable ? stringOrEmpty(type) : "",
      movePath: stringOrEmpty(to),
      diff: isReadable ? diff : JSON.stringify(change),
    };
  });
}

const KINDS: ReadonlySet<string> = new Set(["add", "delete", "update"]);

/** Returns the arguments of a call that makes changes. */
export function changesArgs(changes: readonly FileChange[]): JsonObject {
  return {
    changes: changes.map(({ path, kind, movePath, diff }) => ({
      path,
      kind,
      diff,
      ...(movePath === "" ? {} : { move_path: movePath }),
    })),
  };
}

/** Returns a one-line description of changes. */
export function describeChanges(changes: readonly FileChange[]): string {
  return changes
    .map(
      ({ path, kind, movePath }) =>
        `${kind || "change"} ${path || "an unknown file"}${movePath === "" ? "" : ` and move it to ${movePath}`}`,
    )
    .join(", ");
}

/** Returns changes as one unified diff. */
export function unifiedDiff(changes: readonly FileChange[]): string {
  return changes.map(formatChange).join("");
}

/**
 * Returns a change with the whole content of its file before and after. Must be
 * called before the change is made.
 *
 * Undefined when that cannot be shown: the file is outside of the workspace,
 * moved, too large or not as the change expects it.
 */
export async function fileDiffOf(
  change: FileChange,
  workspace: string,
): Promise<FileDiff | undefined> {
  const { path, kind, movePath, diff } = change;
  if (kind === "" || !isInside(workspace, path) || movePath !== "") {
    return undefined;
  }
  const fields = {
    fileName: basename(path),
    filePath: path,
    formattedDiff: formatChange(change),
  };
  if (kind === "add") {
    return create(FileDiffSchema, { ...fields, newContent: diff });
  }
  let oldContent: string;
  try {
    if ((await stat(path)).size > MAX_FILE_BYTES) return undefined;
    oldContent = await readFile(path, "utf8");
  } catch {
    return undefined;
  }
  const newContent = kind === "delete" ? "" : applyHunks(oldContent, diff);
  return newContent === undefined
    ? undefined
    : create(FileDiffSchema, defined({ ...fields, oldContent, newContent }));
}

function formatChange({ path, kind, movePath, diff }: FileChange): string {
  if (kind === "") return `A change that cannot be read: ${diff}\n`;
  const before = kind === "add" ? "/dev/null" : path;
  const after = kind === "delete" ? "/dev/null" : movePath || path;
  const header = `--- ${before}\n+++ ${after}\n`;
  if (diff === "") return header;
  if (kind === "update") {
    return `${header}${diff.endsWith("\n") ? diff : `${diff}\n`}`;
  }
  // One hunk adds or deletes the whole file.
  const lines = diff.replace(/\n$/, "").split("\n");
  const [sign, range] =
    kind === "add"
      ? ["+", `-0,0 +1,${lines.length}`]
      : ["-", `-1,${lines.length} +0,0`];
  return `${header}@@ ${range} @@\n${lines.map((line) => `${sign}${line}\n`).join("")}`;
}

const HUNK = /^@@ -(?<start>\d+)(?:,\d+)? \+\d+(?:,\d+)? @@/;

/**
 * Applies the hunks of a unified diff to a text. Undefined when they do not fit
 * exactly.
 */
function applyHunks(text: string, diff: string): string | undefined {
  const old = text.split("\n");
  const result: string[] = [];
  let at = 0;
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const start = HUNK.exec(line)?.groups?.start;
    if (start !== undefined) {
      const next = Math.max(0, Number(start) - 1);
      if (next < at) return undefined;
      result.push(...old.slice(at, next));
      at = next;
    } else if (line.startsWith("+")) {
      result.push(line.slice(1));
    } else if (line.startsWith("-") || line.startsWith(" ")) {
      if (old[at] !== line.slice(1)) return undefined;
      if (line.startsWith(" ")) result.push(line.slice(1));
      at++;
    } else if (!line.startsWith("\\")) {
      return undefined;
    }
  }
  return [...result, ...old.slice(at)].join("\n");
}
