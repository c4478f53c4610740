import { isUtf8 } from "node:buffer";
import { extname, posix } from "node:path";
import type { Workspace } from "../../tool/workspace.ts";
import { languageOf } from "./language.ts";
import { type Manifest, readManifest } from "./manifest.ts";

/** What a quick look at a workspace finds. */
export interface Survey {
  /** The name of the project: that of a manifest, else of the directory. */
  readonly name: string;
  /** Files by language, the most first. */
  readonly languages: readonly { readonly name: string; readonly files: number }[];
  /** The directories at the top, without hidden ones. */
  readonly directories: readonly string[];
  readonly manifests: readonly Manifest[];
  /** Files that say how the project is checked or shipped, for instance CI workflows. */
  readonly automation: readonly string[];
  /** Whether there were more files than it looked at. */
  readonly partial: boolean;
}

/** It looks at so many directory entries. */
const MAX_ENTRIES = 5000;

const SKIPPED: ReadonlySet<string> = new Set([
  ".git",
  "node_modules",
  "dist",
  "build",
  "target",
  "vendor",
  ".venv",
  "venv",
]);

const AUTOMATION =
  /^(\.github\/workflows\/[^/]+\.ya?ml|\.gitlab-ci\.yml|Jenkinsfile|Dockerfile|compose\.ya?ml|docker-compose\.ya?ml)$/;

/** Looks at the names in a workspace and reads the manifests at its top; runs nothing. */
export function surveyWorkspace(workspace: Workspace): Survey {
  const { files, directories, partial } = listFiles(workspace);
  const manifests = files.flatMap((path) => {
    const text = path.includes("/") ? undefined : textOf(workspace, path);
    const manifest = text === undefined ? undefined : readManifest(path, text, files);
    return manifest ? [manifest] : [];
  });
  return {
    name: manifests.find(({ name }) => name !== "")?.name ?? posix.basename(workspace.root),
    languages: languagesOf(files),
    directories: directories.filter((path) => !path.includes("/") && !path.startsWith(".")),
    manifests,
    automation: files.filter((path) => AUTOMATION.test(path)),
    partial,
  };
}

interface Listing {
  readonly files: string[];
  readonly directories: string[];
  readonly partial: boolean;
}

/** Lists level by level, so that what is near the top is seen before a limit is reached. */
function listFiles(workspace: Workspace): Listing {
  const files: string[] = [];
  const directories: string[] = [];
  const open = [""];
  for (let directory = open.shift(); directory !== undefined; directory = open.shift()) {
    for (const entry of workspace.readDirectory(directory) ?? []) {
      if (files.length + directories.length >= MAX_ENTRIES) return { files, directories, partial: true };
      const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
      if (entry.isFile()) files.push(path);
      if (!entry.isDirectory() || SKIPPED.has(entry.name)) continue;
      directories.push(path);
      open.push(path);
    }
  }
  return { files, directories, partial: false };
}

function textOf(workspace: Workspace, path: string): string | undefined {
  if (!/\.(json|toml|mod|gradle|kts|xml|txt)$|^(Makefile|Gemfile|justfile)$/.test(path)) return undefined;
  try {
    const content = workspace.readFile(path);
    return content && isUtf8(content) ? content.toString("utf8") : undefined;
  } catch {
    // A manifest that cannot be read is one that is not there.
    return undefined;
  }
}

function languagesOf(files: readonly string[]): Survey["languages"] {
  const known = files.flatMap((path) => languageOf(extname(path)) ?? []);
  const counted = [...Map.groupBy(known, (name) => name)].map(([name, all]) => ({ name, files: all.length }));
  return counted.sort((one, other) => other.files - one.files).slice(0, 6);
}
