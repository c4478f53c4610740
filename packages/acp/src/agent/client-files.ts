import { constants } from "node:fs";
import { access, type FileHandle, lstat, open } from "node:fs/promises";
import type { ClientApp } from "@agentclientprotocol/sdk";
import type { DirectoryAccess } from "@devtool/internal/directory-access";
import { failpoint } from "@devtool/internal/failpoint";
import { replaceFile } from "@devtool/internal/replace-file";
import type { Semaphore } from "@devtool/internal/semaphore";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import type { ClientMethods } from "./acp-agent-options.ts";
import type { ClientGate } from "./client-action.ts";
import { answerOf } from "./client-answer.ts";
import { systemCodeOf, WorkspacePlace } from "./workspace-path.ts";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY, W_OK } = constants;

/** The part of a file that an agent wants to read. */
interface LineRange {
  /** The first line, from 1. Default: 1. */
  readonly line?: number | null;
  /** The maximum number of lines. Default: all. */
  readonly limit?: number | null;
}

/** The options of `ClientFiles`. */
export interface ClientFilesOptions {
  readonly workspacePath: string;
  /**
   * The maximum size of a file that is read, in bytes, and of the JSON of what
   * is sent of it.
   */
  readonly maxBytes: number;
  readonly gate: ClientGate;
  /**
   * Held while a file is written: two writers of one file would disturb each
   * other.
   */
  readonly writing: Semaphore;
  /** How directories are reached. Default: the strongest access there is. */
  readonly access?: DirectoryAccess;
}

/**
 * The methods `fs/*` for an agent: text files inside the workspace of its
 * session.
 */
export class ClientFiles {
  readonly #options: ClientFilesOptions;

  constructor(options: ClientFilesOptions) {
    this.#options = options;
  }

  register(
    app: ClientApp,
    { readTextFile = false, writeTextFile = true }: ClientMethods,
  ): void {
    if (readTextFile) {
      app.onRequest("fs/read_text_file", ({ params, signal }) =>
        answerOf(async () => ({
          content: await this.#read(params.path, params, signal),
        })),
      );
    }
    if (writeTextFile) {
      app.onRequest("fs/write_text_file", ({ params, signal }) =>
        answerOf(async () => {
          await this.#write(params.path, params.content, signal);
          return {};
        }),
      );
    }
  }

  async #read(
    path: string,
    range: LineRange,
    signal: AbortSignal,
  ): Promise<string> {
    const { workspacePath, maxBytes, gate, access } = this.#options;
    await using place = await WorkspacePlace.open(workspacePath, path, access);
    // A pipe without a writer is opened, too, and refused then.
    await using file = await open(
      place.path,
      O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
    ).catch((reason: unknown) => {
      throw fileError(path, reason);
    });
    place.verify(file);
    if (!(await file.stat()).isFile()) throw notAFile(path);
    const content = await gate.run(
      { case: "read", path: place.shownPath },
      async () => linesOf(await readText(file, path, maxBytes), path, range),
      signal,
    );
    // Escaped control characters take up to six bytes each.
    if (JSON.stringify(content).length > maxBytes) {
      throw tooLarge(path, maxBytes);
    }
    return content;
  }

  async #write(
    path: string,
    content: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { workspacePath, maxBytes, writing, gate, access } = this.#options;
    // It would be written as other characters than those that were shown.
    if (!content.isWellFormed()) {
      throw new DevtoolError(
        `the content for ${quoted(path)} has a surrogate without a partner`,
        Code.InvalidArgument,
        { remedy: "send whole characters" },
      );
    }
    const { shownPath, oldContent, isHidden } = await this.#look(path);
    // An agent that was started again repeats what it had done.
    if (oldContent === content) return;
    const perform = async (): Promise<void> => {
      using _turn = await writing.acquire(signal);
      await using place = await WorkspacePlace.open(
        workspacePath,
        path,
        access,
      );
      const present = await presentFile(place, path, maxBytes);
      // The file may have changed while the user decided.
      const isSame =
        present.oldContent === oldContent && present.isHidden === isHidden;
      if (place.shownPath !== shownPath || !isSame) {
        throw new DevtoolError(
          `file ${quoted(path)} was changed since it was shown`,
          Code.FailedPrecondition,
          { remedy: "read it again" },
        );
      }
      failpoint("devtool:acp.write.before");
      await replaceFile(place.path, content, present.mode, (file, name) =>
        place.verify(file, name),
      ).catch((reason: unknown) => {
        throw reason instanceof DevtoolError ? reason : fileError(path, reason);
      });
      place.verify();
      failpoint("devtool:acp.write.after");
    };
    await gate.run(
      { case: "write", path: shownPath, content, oldContent, isHidden },
      perform,
      signal,
    );
  }

  async #look(
    path: string,
  ): Promise<PresentFile & { readonly shownPath: string }> {
    const { workspacePath, maxBytes, access } = this.#options;
    await using place = await WorkspacePlace.open(workspacePath, path, access);
    return {
      ...(await presentFile(place, path, maxBytes)),
      shownPath: place.shownPath,
    };
  }
}

/** The content and mode of a path that is about to be written. */
interface PresentFile {
  /** Undefined for no file, and for one that is too large or not text. */
  readonly oldContent: string | undefined;
  /** Whether there is a file that is too large or not text. */
  readonly isHidden: boolean;
  readonly mode: number;
}

/** Throws for anything but a file that can be replaced. */
async function presentFile(
  place: WorkspacePlace,
  path: string,
  maxBytes: number,
): Promise<PresentFile> {
  try {
    const existing = await lstat(place.path).catch((reason: unknown) => {
      if (systemCodeOf(reason) !== "ENOENT") throw reason;
    });
    if (!existing) {
      return { oldContent: undefined, isHidden: false, mode: 0o644 };
    }
    if (existing.isSymbolicLink()) throw isALink(path);
    if (!existing.isFile()) throw notAFile(path);
    // The file is replaced, which its own mode would not prevent.
    await access(place.path, W_OK);
    const mode = existing.mode & 0o777;
    try {
      await using file = await open(
        place.path,
        O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
      );
      place.verify(file);
      return {
        oldContent: await readText(file, path, maxBytes),
        isHidden: false,
        mode,
      };
    } catch {
      return { oldContent: undefined, isHidden: true, mode };
    }
  } catch (reason) {
    throw reason instanceof DevtoolError ? reason : fileError(path, reason);
  }
}

/** Reads a text. A file that grows meanwhile is read up to the limit. */
async function readText(
  file: FileHandle,
  path: string,
  maxBytes: number,
): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.createReadStream({
    end: maxBytes,
    autoClose: false,
  })) {
    chunks.push(Buffer.from(chunk));
  }
  const bytes = Buffer.concat(chunks);
  if (bytes.length > maxBytes) throw tooLarge(path, maxBytes);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      bytes,
    );
  } catch (cause) {
    // Written back, its other bytes would be lost.
    throw new DevtoolError(
      `file ${quoted(path)} is not text in UTF-8`,
      Code.FailedPrecondition,
      { cause },
    );
  }
}

function linesOf(
  content: string,
  path: string,
  { line, limit }: LineRange,
): string {
  const first = Math.max(1, line ?? 1);
  if (first === 1 && (limit ?? undefined) === undefined) return content;
  const lines = content.split("\n");
  if (first > lines.length) {
    const count = lines.at(-1) === "" ? lines.length - 1 : lines.length;
    throw new DevtoolError(
      `line ${first} is out of range: file ${quoted(path)} has ${count} lines`,
      Code.OutOfRange,
    );
  }
  return lines.slice(first - 1, first - 1 + (limit ?? lines.length)).join("\n");
}

function tooLarge(path: string, maxBytes: number): DevtoolError {
  return new DevtoolError(
    `file ${quoted(path)} is too large: limit is ${maxBytes} bytes`,
    Code.ResourceExhausted,
  );
}

function notAFile(path: string): DevtoolError {
  return new DevtoolError(
    `path ${quoted(path)} is not a file`,
    Code.InvalidArgument,
  );
}

function isALink(path: string): DevtoolError {
  return new DevtoolError(
    `path ${quoted(path)} is a symbolic link`,
    Code.InvalidArgument,
    { remedy: "name the place that it points to" },
  );
}

/** Returns the error for a file that the system did not open or write. */
function fileError(path: string, reason: unknown): DevtoolError {
  const code = systemCodeOf(reason);
  const cause = { cause: reason };
  switch (code) {
    case "ENOENT":
      return new DevtoolError(
        `file ${quoted(path)} does not exist`,
        Code.NotFound,
        cause,
      );
    case "ELOOP":
      return isALink(path);
    case "EISDIR":
    case "ENXIO":
      return notAFile(path);
    case "EEXIST":
      return new DevtoolError(
        `file ${quoted(path)} is being written: try again`,
        Code.FailedPrecondition,
        cause,
      );
    case "EACCES":
    case "EPERM":
    case "ENAMETOOLONG":
      return new DevtoolError(
        `file ${quoted(path)} cannot be opened: ${code}`,
        Code.InvalidArgument,
        cause,
      );
    default:
      return new DevtoolError(
        `file ${quoted(path)}: ${code}`,
        Code.Internal,
        cause,
      );
  }
}
