import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { failpoint } from "@devtool/internal/failpoint";
import {
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/internal/json";
import { type Checkpoint, CheckpointSchema } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import {
  type GitCommand,
  ShadowGit,
  type ShadowGitOptions,
} from "./shadow-git.ts";
import type { TrackedFile, TrackedFiles } from "./tracked-files.ts";

/** The files of a checkpoint, and the id of their git tree. */
export interface CheckpointTree {
  readonly tree: string;
  readonly files: TrackedFiles;
}

/** The content of a new checkpoint. */
export interface Commit {
  readonly checkpoint: Checkpoint;
  /** The content of the previous checkpoint. Undefined for the first one. */
  readonly before: CheckpointTree | undefined;
  readonly files: TrackedFiles;
}

/**
 * Stores checkpoints in a bare git repository.
 *
 * Each checkpoint is a commit without parents, with a reference that contains
 * its workspace and id. The first line of its message is the checkpoint, the
 * rest the permissions of its files: a tree of git knows only whether the owner
 * may run a file.
 */
export class CheckpointRepository {
  readonly #directory: string;
  readonly #git: ShadowGit;
  #opened: Promise<void> | undefined;

  constructor(options: ShadowGitOptions) {
    this.#directory = options.directory;
    this.#git = new ShadowGit(options);
  }

  /** Whether git has created the repository, which only it can read. */
  get exists(): boolean {
    return existsSync(join(this.#directory, "HEAD"));
  }

  /**
   * Lists the checkpoints of a workspace, newest first, or those of all
   * workspaces.
   */
  async list(
    workspacePath: string | undefined,
    signal: AbortSignal,
  ): Promise<Checkpoint[]> {
    await this.#open(signal);
    const refs = refOf(workspacePath);
    const output = await this.#git.run(
      ["for-each-ref", "--format=%(contents:subject)", refs],
      "",
      signal,
    );
    const lines = output.toString("utf8").split("\n").filter(Boolean);
    return lines
      .map((line) =>
        fromJsonString(CheckpointSchema, line, { ignoreUnknownFields: true }),
      )
      .sort((one, other) => Number(other.id) - Number(one.id));
  }

  /** Reads the content of a checkpoint. */
  async read(
    workspacePath: string,
    id: string,
    signal: AbortSignal,
  ): Promise<CheckpointTree> {
    const ref = refOf(workspacePath, id);
    const tree = await this.#git.run(
      ["rev-parse", "--verify", `${ref}^{tree}`],
      "",
      signal,
    );
    const output = await this.#git.run(
      ["ls-tree", "-r", "-z", "--full-tree", ref],
      "",
      signal,
    );
    const body = await this.#git.run(
      ["for-each-ref", "--format=%(contents:body)", ref],
      "",
      signal,
    );
    const permissionsOf = decodePermissions(body.toString("utf8"));
    const files = new Map<string, TrackedFile>();
    for (const line of output.toString("utf8").split("\0")) {
      // A line has the mode, the type, the id and, after a tab, the path. The
      // last line is empty.
      const [, mode, blob = "", path = ""] =
        /^(100644|100755) blob ([0-9a-f]{40})\t(.*)$/s.exec(line) ?? [];
      if (mode === "100644" || mode === "100755") {
        files.set(path, {
          blob,
          mode,
          permissions: permissionsOf(path),
          stamp: undefined,
          birthNs: 0n,
        });
      }
    }
    return { tree: tree.toString("utf8").trim(), files };
  }

  /** Reads the contents of blobs, in order. */
  async *contents(
    blobs: readonly string[],
    signal: AbortSignal,
  ): AsyncIterable<Buffer> {
    for (let first = 0; first < blobs.length; first += BLOBS_AT_ONCE) {
      const some = blobs.slice(first, first + BLOBS_AT_ONCE);
      let output = await this.#git.run(
        ["cat-file", "--batch"],
        some.map((blob) => `${blob}\n`).join(""),
        signal,
      );
      for (const _blob of some) {
        const headerEnd = output.indexOf("\n");
        const [blob, kind, size] = output
          .subarray(0, headerEnd)
          .toString("latin1")
          .split(" ");
        if (kind !== "blob") {
          throw new DevtoolError(
            `content ${blob} is missing: the checkpoint is damaged`,
            Code.DataLoss,
          );
        }
        const end = headerEnd + 1 + Number(size);
        yield output.subarray(headerEnd + 1, end);
        output = output.subarray(end + 1);
      }
    }
  }

  /**
   * Begins a commit: first its new contents are written, then the commit. An
   * unfinished commit is never visible.
   */
  begin(signal: AbortSignal): CommitWriter {
    return new CommitWriter(async () => {
      await this.#open(signal);
      return this.#git.start(
        ["fast-import", "--quiet", "--done", "--date-format=raw"],
        signal,
      );
    });
  }

  /**
   * Removes checkpoints, and all contents that no other checkpoint has, also
   * what an earlier removal left that was killed.
   */
  async remove(
    checkpoints: readonly Pick<Checkpoint, "workspacePath" | "id">[],
    signal: AbortSignal,
  ): Promise<void> {
    const lines = checkpoints.map(
      ({ workspacePath, id }) => `delete ${refOf(workspacePath, id)}\n`,
    );
    await this.#git.run(["update-ref", "--stdin"], lines.join(""), signal);
    // Forced, because a process may have the id now that a killed gc had.
    await this.#git.run(
      ["gc", "--quiet", "--prune=now", "--force"],
      "",
      signal,
    );
  }

  /**
   * Creates the repository if it does not exist, and removes the locks that a
   * crash left, also those that keep a pack from gc. No other process writes to
   * it.
   */
  #open(signal: AbortSignal): Promise<void> {
    this.#opened ??= this.#prepare(signal).catch((reason: unknown) => {
      this.#opened = undefined;
      throw reason;
    });
    return this.#opened;
  }

  async #prepare(signal: AbortSignal): Promise<void> {
    failpoint("devtool:checkpoint.make.before");
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await this.#git.run(
      ["init", "--quiet", "--bare", "--template=", "--object-format=sha1"],
      "",
      signal,
    );
    for (const name of await readdir(this.#directory, { recursive: true })) {
      if (/\.(lock|keep)$/.test(name)) {
        await rm(join(this.#directory, name), { force: true });
      }
    }
    failpoint("devtool:checkpoint.make.after");
  }
}

/**
 * The number of blobs that one git command reads. It limits the memory for
 * their contents.
 */
const BLOBS_AT_ONCE = 50;

/** Writes one checkpoint. Starts git with the first write. */
export class CommitWriter implements AsyncDisposable {
  readonly #start: () => Promise<GitCommand>;
  #command: Promise<GitCommand> | undefined;

  constructor(start: () => Promise<GitCommand>) {
    this.#start = start;
  }

  /** Writes a content that may not be in the repository yet. */
  async content(content: Buffer): Promise<void> {
    const command = await this.#started();
    await command.write(`blob\ndata ${content.length}\n`);
    await command.write(content);
    await command.write("\n");
  }

  /**
   * Writes the commit, which makes the checkpoint visible. Returns the id of
   * its tree.
   */
  async finish({ checkpoint, before, files }: Commit): Promise<string> {
    const { workspacePath, id, createTime } = checkpoint;
    const seconds = createTime
      ? Math.floor(timestampDate(createTime).getTime() / 1000)
      : 0;
    const message = Buffer.from(
      `${toJsonString(CheckpointSchema, checkpoint)}\n\n${encodePermissions(files)}`,
    );
    const command = await this.#started();
    await command.write(
      `commit ${refOf(workspacePath, id)}\ncommitter devtool <devtool@localhost> ${seconds} +0000\n` +
        `data ${message.length}\n${message}\n${before ? `M 040000 ${before.tree} ""\n` : ""}`,
    );
    const known: TrackedFiles = before?.files ?? new Map();
    for (const path of known.keys()) {
      if (!files.has(path)) await command.write(`D ${quotePath(path)}\n`);
    }
    for (const [path, { blob, mode }] of files) {
      const old = known.get(path);
      if (old?.blob !== blob || old.mode !== mode) {
        await command.write(`M ${mode} ${blob} ${quotePath(path)}\n`);
      }
    }
    await command.write('ls ""\n\ndone\n');
    const answer = await command.end();
    return answer.toString("latin1").split(/[ \t]/)[2] ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const command = await this.#command?.catch(() => undefined);
    await command?.[Symbol.asyncDispose]();
  }

  #started(): Promise<GitCommand> {
    this.#command ??= this.#start();
    return this.#command;
  }
}

/**
 * Encodes the permissions of files, in octal digits: the usual ones, and the
 * paths of all files with others.
 */
function encodePermissions(files: TrackedFiles): string {
  const groups = [
    ...Map.groupBy(files, ([, { permissions = 0 }]) => permissions.toString(8)),
  ].sort(([, one], [, other]) => other.length - one.length);
  const [[usual] = [""], ...others] = groups;
  const paths = others.map(([permissions, group]) => [
    permissions,
    group.map(([path]) => path),
  ]);
  return JSON.stringify({ usual, others: Object.fromEntries(paths) });
}

/**
 * Returns the permissions of each path; undefined where they are not known, as
 * in a checkpoint of an earlier version.
 */
function decodePermissions(text: string): (path: string) => number | undefined {
  const { usual, others } = objectOrEmpty(parseJsonOrUndefined(text));
  const known = new Map<unknown, number>();
  for (const [permissions, paths] of Object.entries(objectOrEmpty(others))) {
    for (const path of listOrEmpty(paths)) {
      known.set(path, Number.parseInt(permissions, 8));
    }
  }
  const rest = Number.parseInt(stringOrEmpty(usual), 8);
  return (path) => known.get(path) ?? (Number.isNaN(rest) ? undefined : rest);
}

/** Quotes a path for `git fast-import`. */
function quotePath(path: string): string {
  return `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}

/**
 * Returns the git reference of a checkpoint; without an id the prefix of all
 * references of a workspace, and without a workspace that of all references.
 */
function refOf(workspacePath?: string, id?: string): string {
  if (workspacePath === undefined) return "refs/checkpoints";
  const prefix = `refs/checkpoints/${hash("sha256", workspacePath).slice(0, 32)}`;
  return id === undefined ? prefix : `${prefix}/${id}`;
}
