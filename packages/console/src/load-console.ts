import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The console as a site of `createServer`:
 * `createServer({ site: await loadConsole() })`.
 */
interface ConsoleSite {
  /** The path at which browsers find the console: `/console`. */
  readonly path: string;
  /** The files by their paths below `path`: `/` is the page. */
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

/** A file of the console. */
interface ConsoleFile {
  readonly bytes: Uint8Array;
  /** The media type, with the character set of a text. */
  readonly mediaType: string;
  /** SHA-256 of the bytes in base64url. */
  readonly hash: string;
  /**
   * Whether the path has a hash of the content, so that browsers may keep the
   * file for ever.
   */
  readonly isImmutable: boolean;
}

/**
 * The kinds of files that the page consists of. A file of another kind is not
 * served.
 */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webmanifest": "application/manifest+json",
  ".md": "text/markdown; charset=utf-8",
};

/**
 * Reads the files of the console. They are read once: what changes on the disk
 * later is not served.
 *
 * Throws when the files are missing, as in a clone that was not built.
 */
export async function loadConsole(): Promise<ConsoleSite> {
  // The files lie beside this module as it is built, and in `dist` beside its
  // source.
  const own = new URL(import.meta.url);
  const page = own.pathname.endsWith("/src/load-console.ts")
    ? "../dist/page/"
    : "page/";
  const directory = fileURLToPath(new URL(page, own));
  const files = new Map<string, ConsoleFile>();
  for (const path of filesIn(directory)) {
    const mediaType = MEDIA_TYPES[extname(path)];
    if (mediaType === undefined) continue;
    const name = `/${relative(directory, path).split(sep).join("/")}`;
    const bytes = readFileSync(path);
    files.set(name === "/index.html" ? "/" : name, {
      bytes,
      mediaType,
      hash: hash("sha256", bytes, "base64url"),
      isImmutable: name.startsWith("/assets/"),
    });
  }
  return { path: "/console", files };
}

// Together these few files are read in less time than one by one beside others,
// and a server starts after that.
function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
  } catch (cause) {
    throw new Error(`the console is not built: there is no "${directory}"`, {
      cause,
    });
  }
}
