import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { isInside } from "@devtool/internal/real-path";
import { isPlaceholder } from "@devtool/sandbox";
import { clientError } from "../client-error.ts";
import { Workspace } from "../tool/workspace.ts";
import {
  hasConfig,
  MEMORY_FILE_NAMES,
  namesIn,
} from "../trust/config-files.ts";
import { trustProblem, type WorkspaceTrust } from "../trust/trust.ts";

/** A file that instructs the agent: `AGENTS.md` or `GEMINI.md`. */
export interface MemoryFile {
  /** An absolute path. */
  readonly path: string;
  /**
   * Whether the operator wrote it for all workspaces, or it belongs to a
   * workspace.
   */
  readonly scope: "operator" | "workspace";
  /** The content, cut at `MAX_MEMORY_FILE_BYTES`. */
  readonly text: string;
  /** The size of the whole file in bytes. */
  readonly bytes: number;
}

/** The memory files for one workspace. */
export interface Memory {
  /**
   * From the most general to the most specific: the operator's, then those of
   * the directories down to the workspace.
   */
  readonly files: readonly MemoryFile[];
  /** Messages for the user about files that were left out or cut. */
  readonly notices: readonly string[];
}

/** Dependencies of `loadMemory`. */
export interface MemoryOptions {
  /**
   * The operator's directory, whose memory files apply to every workspace.
   * Undefined when there is none.
   */
  readonly configDirectory: string | undefined;
  /**
   * The directories that contain workspaces. No memory file above them is read.
   */
  readonly workspaceRoots: readonly string[];
  readonly trust: WorkspaceTrust;
  /** Receives notices for the operator, as plain text. */
  readonly onNotice: (text: string) => void;
}

/**
 * The maximum size of one memory file in bytes. The rest of a larger file is
 * cut off.
 */
export const MAX_MEMORY_FILE_BYTES: number = 64 * 1024;

/**
 * The maximum total size of the memory files in bytes. Files beyond it are left
 * out.
 */
const MAX_MEMORY_BYTES = 256 * 1024;

/**
 * Reads the memory files for a workspace.
 *
 * Always reads the operator's files. Reads those of the workspace, and of each
 * directory between it and its root, only where the operator trusts that
 * directory (S4).
 */
export async function loadMemory(
  options: MemoryOptions,
  workspacePath: string,
): Promise<Memory> {
  const ofOperator = readOperatorFiles(options);
  const found = [...ofOperator.files];
  const notices = [...ofOperator.notices];
  for (const directory of directoriesDownTo(
    workspacePath,
    options.workspaceRoots,
  )) {
    const trust = await options.trust.trustOf(directory);
    if (trust.case === "trusted") {
      for (const name of MEMORY_FILE_NAMES) {
        const content = trust.files.get(name);
        if (content) {
          found.push(memoryFile(join(directory, name), content, "workspace"));
        }
      }
    } else if (
      trust.case === "changed" ||
      (directory === workspacePath && hasConfig(directory, isPlaceholder))
    ) {
      notices.push(trustProblem(directory, trust));
    }
  }
  // Files beyond `MAX_MEMORY_BYTES` are left out. The notices say which ones
  // were left out or cut.
  const files: MemoryFile[] = [];
  let total = 0;
  for (const file of found) {
    const name = JSON.stringify(file.path);
    const size = Math.min(file.bytes, MAX_MEMORY_FILE_BYTES);
    if (total + size > MAX_MEMORY_BYTES) {
      notices.push(
        `memory file ${name} is left out: all together have more than ${MAX_MEMORY_BYTES} bytes`,
      );
      continue;
    }
    total += size;
    files.push(file);
    if (file.bytes > size) {
      notices.push(
        `memory file ${name} has ${file.bytes} bytes: limit is ${size}, the rest is cut`,
      );
    }
  }
  return { files, notices };
}

function readOperatorFiles({
  configDirectory: directory,
  onNotice,
}: MemoryOptions): Memory {
  if (directory === undefined) return { files: [], notices: [] };
  try {
    const names = namesIn(directory, MEMORY_FILE_NAMES);
    if (names.length === 0) return { files: [], notices: [] };
    using workspace = new Workspace(directory);
    const files = names.flatMap((name) => {
      const content = workspace.readFile(name);
      return content
        ? [memoryFile(join(directory, name), content, "operator")]
        : [];
    });
    return { files, notices: [] };
  } catch (reason) {
    const { message } = clientError(
      reason,
      "reading memory",
      { directory },
      onNotice,
    );
    return {
      files: [],
      notices: [
        `the memory in ${JSON.stringify(directory)} is not read: ${message}`,
      ],
    };
  }
}

/**
 * Cuts the content at the end of the last line that fits, or in the middle of a
 * line that is too long.
 */
function memoryFile(
  path: string,
  content: Buffer,
  scope: MemoryFile["scope"],
): MemoryFile {
  const bytes = content.length;
  if (bytes <= MAX_MEMORY_FILE_BYTES) {
    return { path, scope, bytes, text: content.toString("utf8") };
  }
  const newline = content.lastIndexOf("\n", MAX_MEMORY_FILE_BYTES - 1);
  const end = newline < 0 ? MAX_MEMORY_FILE_BYTES : newline + 1;
  return {
    path,
    scope,
    bytes,
    text: content.subarray(0, end).toString("utf8"),
  };
}

/**
 * Lists the directories from the outermost root that contains a workspace down
 * to the workspace itself.
 */
function directoriesDownTo(
  workspacePath: string,
  roots: readonly string[],
): string[] {
  const containing = roots
    .flatMap((root) => {
      try {
        return [realpathSync(root)];
      } catch {
        // A root that does not exist contains nothing.
        return [];
      }
    })
    .filter((root) => isInside(root, workspacePath));
  const outermost = containing.reduce(
    (one, other) => (one.length <= other.length ? one : other),
    workspacePath,
  );
  const directories: string[] = [];
  for (let directory = workspacePath; ; directory = dirname(directory)) {
    directories.unshift(directory);
    if (directory === outermost || directory === dirname(directory)) {
      return directories;
    }
  }
}
