import { realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { isPlaceholder } from "@devtool/sandbox";
import { clientError } from "../tool/hidden-fault.ts";
import { Workspace } from "../tool/workspace.ts";
import { hasConfig, MEMORY_FILE_NAMES, namesIn } from "../trust/config-files.ts";
import { trustProblem, type WorkspaceTrust } from "../trust/trust.ts";

/** A file that tells the agent what to know: `AGENTS.md` or `GEMINI.md`. */
export interface MemoryFile {
  /** Where it lies: an absolute path. */
  readonly path: string;
  /** Who wrote it: the operator for all workspaces, or the people of a workspace. */
  readonly scope: "operator" | "workspace";
  /** What it says, cut at a limit. */
  readonly text: string;
  /** How many bytes it has; more than `text` when it was cut. */
  readonly bytes: number;
}

/** What an agent is told of its workspace. */
export interface Memory {
  /** From the most general to the nearest: the operator's, then those of the directories down to the workspace. */
  readonly files: readonly MemoryFile[];
  /** Why something is missing or cut, for a person. */
  readonly notices: readonly string[];
}

/** Where memory comes from. */
export interface MemoryOptions {
  /** The operator's own directory, whose memory files hold for every workspace; undefined when there is none. */
  readonly configDirectory: string | undefined;
  /** The directories in which workspaces may lie: no memory is read above them. */
  readonly workspaceRoots: readonly string[];
  readonly trust: WorkspaceTrust;
  /** Takes what the operator should know, in words. */
  readonly onNotice: (text: string) => void;
}

/** A file tells so many bytes; the rest is cut off. */
export const MAX_MEMORY_FILE_BYTES: number = 64 * 1024;

/** All files together tell so many bytes; those that come after are left out. */
export const MAX_MEMORY_BYTES: number = 256 * 1024;

/**
 * Reads the memory for a workspace: the operator's own files always; those of the workspace and of each directory above
 * it, up to the root it lies in, only where that directory is trusted by a grant of its own (S4).
 */
export async function loadMemory(options: MemoryOptions, workspacePath: string): Promise<Memory> {
  const levels = [operatorLevel(options)];
  for (const directory of directoriesDownTo(workspacePath, options.workspaceRoots)) {
    levels.push(await workspaceLevel(directory, { ...options, workspacePath }));
  }
  return bounded({
    files: levels.flatMap(({ files }) => files),
    notices: levels.flatMap(({ notices }) => notices),
  });
}

function operatorLevel({ configDirectory: directory, onNotice }: MemoryOptions): Memory {
  if (directory === undefined) return { files: [], notices: [] };
  try {
    const names = namesIn(directory, MEMORY_FILE_NAMES);
    if (names.length === 0) return { files: [], notices: [] };
    using workspace = new Workspace(directory);
    const files = names.flatMap((name) => {
      const content = workspace.readFile(name);
      return content ? [memoryFile(join(directory, name), content, "operator")] : [];
    });
    return { files, notices: [] };
  } catch (reason) {
    const { message } = clientError(reason, { what: "reading memory", place: { directory }, onNotice });
    return { files: [], notices: [`the memory in ${JSON.stringify(directory)} is not read: ${message}`] };
  }
}

async function workspaceLevel(
  directory: string,
  { trust, workspacePath }: MemoryOptions & { readonly workspacePath: string },
): Promise<Memory> {
  const answer = await trust.trustOf(directory);
  if (answer.case === "trusted") {
    const files = MEMORY_FILE_NAMES.flatMap((name) => {
      const content = answer.files.get(name);
      return content ? [memoryFile(join(directory, name), content, "workspace")] : [];
    });
    return { files, notices: [] };
  }
  const silent = answer.case === "untrusted" && (directory !== workspacePath || !hasConfig(directory, isPlaceholder));
  return { files: [], notices: silent ? [] : [trustProblem(directory, answer)] };
}

function memoryFile(path: string, content: Buffer, scope: MemoryFile["scope"]): MemoryFile {
  return { path, scope, bytes: content.length, text: cut(content, MAX_MEMORY_FILE_BYTES) };
}

/** The text of at most so many bytes, up to the end of a line where there is one. */
function cut(content: Buffer, maxBytes: number): string {
  if (content.length <= maxBytes) return content.toString("utf8");
  const end = content.lastIndexOf(0x0a, maxBytes - 1);
  return content.subarray(0, end < 0 ? maxBytes : end + 1).toString("utf8");
}

function bounded({ files, notices }: Memory): Memory {
  const kept: MemoryFile[] = [];
  const said = [...notices];
  let total = 0;
  for (const file of files) {
    const size = Math.min(file.bytes, MAX_MEMORY_FILE_BYTES);
    if (total + size > MAX_MEMORY_BYTES) {
      said.push(
        `memory file ${JSON.stringify(file.path)} is left out: all together have more than ${MAX_MEMORY_BYTES} bytes`,
      );
      continue;
    }
    total += size;
    kept.push(file);
    if (file.bytes > size) {
      said.push(`memory file ${JSON.stringify(file.path)} has ${file.bytes} bytes: limit is ${size}, the rest is cut`);
    }
  }
  return { files: kept, notices: said };
}

/** The directories from the outermost root that holds a workspace down to the workspace itself. */
function directoriesDownTo(workspacePath: string, roots: readonly string[]): string[] {
  const above = roots.flatMap(realPath).filter((root) => isInside(root, workspacePath));
  const outermost = above.reduce((one, other) => (one.length <= other.length ? one : other), workspacePath);
  const directories: string[] = [];
  for (let directory = workspacePath; ; directory = dirname(directory)) {
    directories.unshift(directory);
    if (directory === outermost || directory === dirname(directory)) return directories;
  }
}

/** The real path of a directory; none when it does not exist. */
function realPath(directory: string): string[] {
  try {
    return [realpathSync(directory)];
  } catch {
    return [];
  }
}

/** Compares by path segments, never by prefix. */
function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
