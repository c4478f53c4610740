import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, isAbsolute, join, relative } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type Part, PartSchema } from "@devtool/schema";

/** Maximum number of files that are offered at once. */
const MAX_OFFERED = 50;
/** Maximum size of an attached file in bytes. */
const MAX_ATTACHED = { text: 256 * 1024, image: 5 * 1024 * 1024 } as const;

const IMAGES: ReadonlyMap<string, string> = new Map([
  [".png", "image/png"],
  [".jpg", "image/jpeg"],
  [".jpeg", "image/jpeg"],
  [".gif", "image/gif"],
  [".webp", "image/webp"],
]);

/** Returns the path behind the `@` that the cursor stands at the end of; undefined when there is none. */
export function mentionBefore(text: string): string | undefined {
  return /(?:^|\s)@([^\s@]*)$/.exec(text)?.[1];
}

/** Lists the paths below a directory that continue a path. Directories end with `/`. Hidden files are offered to a dot alone. */
export async function completePath(root: string, typed: string): Promise<string[]> {
  const directory = typed.endsWith("/") ? typed : dirname(typed);
  const name = typed.endsWith("/") ? "" : basename(typed);
  const place = await placeInside(root, directory);
  if (place === undefined) return [];
  const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.name.startsWith(name) && (name.startsWith(".") || !entry.name.startsWith(".")))
    .filter((entry) => !/\s|\p{C}/u.test(entry.name))
    .map((entry) => join(directory, entry.name) + (entry.isDirectory() ? "/" : ""))
    .toSorted()
    .slice(0, MAX_OFFERED);
}

/** The files that a message mentions. */
export interface Attachments {
  readonly parts: readonly Part[];
  /** Why files were not attached. */
  readonly problems: readonly string[];
}

/**
 * Reads the files that a text mentions as `@path`, relative to a directory. What is not the path of a file is text.
 *
 * Files outside the directory, also behind a link, are not attached, nor are files that are too large.
 */
export async function readMentions(text: string, root: string): Promise<Attachments> {
  const paths = new Set([...text.matchAll(/(?<=^|\s)@(\S+)/g)].map(([, path = ""]) => path));
  const read = await Promise.all([...paths].map((path) => readMention(root, path)));
  return {
    parts: read.flatMap((found) => (found !== undefined && typeof found !== "string" ? [found] : [])),
    problems: read.flatMap((found) => (typeof found === "string" ? [found] : [])),
  };
}

/** Returns the part of a file, or why it was not attached; undefined when there is no such file. */
async function readMention(root: string, path: string): Promise<Part | string | undefined> {
  const named = isAbsolute(path) ? path : join(root, path);
  const stats = await stat(named).catch(() => undefined);
  if (!stats)
    return path === path.replace(/[.,;:!?)\]]+$/, "")
      ? undefined
      : readMention(root, path.replace(/[.,;:!?)\]]+$/, ""));
  if (!stats.isFile()) return undefined;
  const place = await placeInside(root, path);
  if (place === undefined) return `"${path}" is outside the workspace: it was not attached`;
  const mediaType = IMAGES.get(extname(path).toLowerCase());
  const limit = mediaType === undefined ? MAX_ATTACHED.text : MAX_ATTACHED.image;
  if (stats.size > limit) return `"${path}" has ${stats.size} bytes, the limit is ${limit}: it was not attached`;
  const bytes = await readFile(place);
  if (mediaType !== undefined) {
    const file = { name: path, mediaType, source: { case: "bytes" as const, value: new Uint8Array(bytes) } };
    return create(PartSchema, { content: { case: "file", value: file } });
  }
  if (bytes.includes(0)) return `"${path}" is neither text nor an image: it was not attached`;
  return create(PartSchema, { content: { case: "text", value: bytes.toString("utf8") }, fileName: path });
}

/** Returns the real path of a path inside a directory; undefined when it is outside, or does not exist. */
async function placeInside(root: string, path: string): Promise<string | undefined> {
  try {
    const [inside, place] = await Promise.all([realpath(root), realpath(isAbsolute(path) ? path : join(root, path))]);
    const way = relative(inside, place);
    return way === ".." || way.startsWith("../") || isAbsolute(way) ? undefined : place;
  } catch {
    return undefined;
  }
}
