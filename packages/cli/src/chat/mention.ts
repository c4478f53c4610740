import { readdir, realpath, stat } from "node:fs/promises";
import {
  basename,
  dirname,
  isAbsolute,
  join,
  relative,
  resolve,
} from "node:path";
import type { Part } from "@devtool/schema";
import type { ServerInfo } from "@devtool/schema/operator";
import {
  attachedBytes,
  imageType,
  MAX_ATTACHED_BYTES,
  readAttachment,
} from "../attachment.ts";
import { assertDirectory } from "../workspace-directory.ts";

/** Maximum number of files that are offered at once. */
const MAX_OFFERED = 50;

/**
 * Returns the path behind the `@` that the cursor stands at the end of;
 * undefined when there is none.
 */
export function mentionBefore(text: string): string | undefined {
  return /(?:^|\s)@([^\s@]*)$/.exec(text)?.[1];
}

/**
 * Lists the paths below a directory that continue a path. Directories end with
 * `/`. Hidden files are offered to a dot alone.
 */
export async function completePath(
  root: string,
  typed: string,
): Promise<string[]> {
  const directory = typed.endsWith("/") ? typed : dirname(typed);
  const name = typed.endsWith("/") ? "" : basename(typed);
  const place = await placeInside(root, directory);
  if (place === undefined) return [];
  const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
  return entries
    .filter(
      (entry) =>
        entry.name.startsWith(name) &&
        (name.startsWith(".") || !entry.name.startsWith(".")),
    )
    .filter((entry) => !/\s|\p{C}/u.test(entry.name))
    .map(
      (entry) => join(directory, entry.name) + (entry.isDirectory() ? "/" : ""),
    )
    .toSorted()
    .slice(0, MAX_OFFERED);
}

/**
 * Returns the workspace of a chat, with links resolved, as servers know it.
 * Undefined if it is not known to be on this machine. Throws if the directory
 * of the command line does not exist there.
 *
 * @param named the directory of the command line
 */
export async function localWorkspace(
  info: ServerInfo | undefined,
  named: string | undefined,
): Promise<string | undefined> {
  if (!info) return undefined;
  if (named !== undefined) await assertDirectory("workspace", resolve(named));
  const path = named ?? info.workspace;
  // A workspace that was removed since the server started stays as it is.
  return realpath(resolve(path)).catch(() => path);
}

/** The files that a message mentions. */
export interface Attachments {
  readonly parts: readonly Part[];
  /** Why files were not attached. */
  readonly problems: readonly string[];
}

/**
 * Returns why a slash command or shell command is not sent: it would lose the
 * images that it mentions. Empty if it mentions none. The words of a shell
 * command are its own.
 */
export function imageProblem(command: string): string {
  if (/^(!|\/shell\s)/.test(command)) return "";
  const images = mentionedPaths(command)
    .map((path) => path.replace(PUNCTUATION, ""))
    .filter((path) => imageType(path) !== undefined)
    .map((path) => `@${path}`);
  return images.length === 0
    ? ""
    : `a slash command takes no images: leave out ${images.join(", ")}`;
}

/**
 * Reads the files that a text mentions as `@path`, relative to a directory.
 * What is not the path of a file is text.
 *
 * Files outside the directory, also behind a link, are not attached, nor are
 * files that are too large, alone or with those before them.
 *
 * @param root undefined if the directory is on another machine: nothing is read
 */
export async function readMentions(
  text: string,
  root: string | undefined,
): Promise<Attachments> {
  const parts: Part[] = [];
  const problems: string[] = [];
  if (root === undefined) return { parts, problems };
  let free = MAX_ATTACHED_BYTES;
  for (const path of mentionedPaths(text)) {
    const read = await readMention(root, path);
    if (read === undefined) continue;
    if (typeof read === "string") {
      problems.push(read);
    } else if (attachedBytes(read) > free) {
      problems.push(
        `"${path}" is too much with the files before it, the limit is ${MAX_ATTACHED_BYTES} bytes in all`,
      );
    } else {
      parts.push(read);
      free -= attachedBytes(read);
    }
  }
  const missing = (await missingMentions(text, root)).map(
    (path) => `"${path}" does not exist: it was not attached`,
  );
  return { parts, problems: [...problems, ...missing] };
}

/**
 * Returns the paths with an extension that a text mentions and that do not
 * exist. A word like `@someone` is not one.
 *
 * @param root undefined if the directory is on another machine: none
 */
export async function missingMentions(
  text: string,
  root: string | undefined,
): Promise<readonly string[]> {
  if (root === undefined) return [];
  const paths = mentionedPaths(text)
    .map((path) => path.replace(PUNCTUATION, ""))
    .filter((path) => /\.\w+$/.test(path));
  const found = await Promise.all(
    paths.map((path) =>
      stat(isAbsolute(path) ? path : join(root, path)).catch(() => undefined),
    ),
  );
  return paths.filter((_path, index) => found[index] === undefined);
}

/** The punctuation that may follow a path in a sentence. */
const PUNCTUATION = /[.,;:!?)\]]+$/;

function mentionedPaths(text: string): string[] {
  return [
    ...new Set(
      [...text.matchAll(/(?<=^|\s)@(\S+)/g)].map(([, path = ""]) => path),
    ),
  ];
}

/**
 * Returns the part of a file, or why it was not attached; undefined when there
 * is no such file.
 */
async function readMention(
  root: string,
  path: string,
): Promise<Part | string | undefined> {
  const named = isAbsolute(path) ? path : join(root, path);
  const stats = await stat(named).catch(() => undefined);
  if (!stats) {
    const shorter = path.replace(PUNCTUATION, "");
    return path === shorter ? undefined : readMention(root, shorter);
  }
  if (!stats.isFile()) return undefined;
  const place = await placeInside(root, path);
  if (place === undefined) {
    return `"${path}" is outside the workspace: it was not attached`;
  }
  const read = await readAttachment(place, path);
  return typeof read === "string" ? `${read}: it was not attached` : read;
}

/**
 * Returns the real path of a path inside a directory; undefined when it is
 * outside, or does not exist.
 */
async function placeInside(
  root: string,
  path: string,
): Promise<string | undefined> {
  try {
    const [inside, place] = await Promise.all([
      realpath(root),
      realpath(isAbsolute(path) ? path : join(root, path)),
    ]);
    const way = relative(inside, place);
    return way === ".." || way.startsWith("../") || isAbsolute(way)
      ? undefined
      : place;
  } catch {
    return undefined;
  }
}
