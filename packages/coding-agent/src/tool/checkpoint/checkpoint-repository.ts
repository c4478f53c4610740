import { createHash } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Checkpoint, CheckpointSchema } from "@devtool/schema";
import { Code, DevtoolError, failpoint } from "@devtool/server/agent";
import { type GitCommand, ShadowGit, type ShadowGitOptions } from "./shadow-git.ts";
import type { FileMode, TrackedFile, TrackedFiles } from "./tracked-files.ts";

/** The files of a checkpoint, and the id of the git tree that holds them. */
export interface CheckpointTree {
  readonly tree: string;
  readonly files: TrackedFiles;
}

/** What a new checkpoint holds. */
export interface Commit {
  readonly checkpoint: Checkpoint;
  /** What the checkpoint before it holds; undefined for the first. */
  readonly before: CheckpointTree | undefined;
  readonly files: TrackedFiles;
}

/** Checkpoints in a bare git repository: a commit without parents each, under a reference by workspace and id. */
export class CheckpointRepository {
  readonly #directory: string;
  readonly #git: ShadowGit;
  #opened: Promise<void> | undefined;

  constructor(options: ShadowGitOptions) {
    this.#directory = options.directory;
    this.#git = new ShadowGit(options);
  }

  /** The checkpoints of a workspace, the latest first. */
  async list(workspacePath: string, signal: AbortSignal): Promise<Checkpoint[]> {
    await this.#open(signal);
    const refs = `refs/checkpoints/${keyOf(workspacePath)}`;
    const output = await this.#git.run(["for-each-ref", "--format=%(contents:subject)", refs], "", signal);
    const lines = output.toString("utf8").split("\n").filter(Boolean);
    return lines
      .map((line) => fromJsonString(CheckpointSchema, line, { ignoreUnknownFields: true }))
      .sort((one, other) => Number(other.id) - Number(one.id));
  }

  /** What a checkpoint holds. */
  async read(workspacePath: string, id: string, signal: AbortSignal): Promise<CheckpointTree> {
    const ref = refOf(workspacePath, id);
    const tree = await this.#git.run(["rev-parse", "--verify", `${ref}^{tree}`], "", signal);
    const output = await this.#git.run(["ls-tree", "-r", "-z", "--full-tree", ref], "", signal);
    const files = new Map(output.toString("utf8").split("\0").flatMap(trackedFile));
    return { tree: tree.toString("utf8").trim(), files };
  }

  /** The contents of blobs, one after the other. */
  async *contents(blobs: readonly string[], signal: AbortSignal): AsyncIterable<Buffer> {
    for (let first = 0; first < blobs.length; first += BLOBS_AT_ONCE) {
      const some = blobs.slice(first, first + BLOBS_AT_ONCE);
      let output = await this.#git.run(["cat-file", "--batch"], some.map((blob) => `${blob}\n`).join(""), signal);
      for (const _blob of some) {
        const headerEnd = output.indexOf("\n");
        const [blob, kind, size] = output.subarray(0, headerEnd).toString("latin1").split(" ");
        if (kind !== "blob")
          throw new DevtoolError(`content ${blob} is missing: the checkpoint is damaged`, Code.DataLoss);
        const end = headerEnd + 1 + Number(size);
        yield output.subarray(headerEnd + 1, end);
        output = output.subarray(end + 1);
      }
    }
  }

  /** Begins a commit: the contents come first, then what it holds; nothing is to be seen of one that is not finished. */
  begin(signal: AbortSignal): CommitWriter {
    return new CommitWriter(async () => {
      await this.#open(signal);
      return this.#git.start(["fast-import", "--quiet", "--done", "--date-format=raw"], signal);
    });
  }

  /** Forgets checkpoints, and what only they held. */
  async remove(workspacePath: string, ids: readonly string[], signal: AbortSignal): Promise<void> {
    const lines = ids.map((id) => `delete ${refOf(workspacePath, id)}\n`);
    await this.#git.run(["update-ref", "--stdin"], lines.join(""), signal);
    await this.#git.run(["gc", "--quiet", "--prune=now"], "", signal);
  }

  /** Makes the repository when it is not there, and removes the locks that a crash left: nobody else writes to it. */
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
    await this.#git.run(["init", "--quiet", "--bare", "--template=", "--object-format=sha1"], "", signal);
    for (const name of await readdir(this.#directory, { recursive: true })) {
      if (name.endsWith(".lock")) await rm(join(this.#directory, name), { force: true });
    }
    failpoint("devtool:checkpoint.make.after");
  }
}

const BLOBS_AT_ONCE = 50;

/** Writes one checkpoint. Starts git when there is something to write. */
export class CommitWriter implements AsyncDisposable {
  readonly #start: () => Promise<GitCommand>;
  #command: Promise<GitCommand> | undefined;

  constructor(start: () => Promise<GitCommand>) {
    this.#start = start;
  }

  /** Adds a content that no checkpoint may have yet. */
  async content(content: Buffer): Promise<void> {
    const command = await this.#started();
    await command.write(`blob\ndata ${content.length}\n`);
    await command.write(content);
    await command.write("\n");
  }

  /** Writes the checkpoint: from then on it is there. Gives the id of its tree. */
  async finish({ checkpoint, before, files }: Commit): Promise<string> {
    const { workspacePath, id, createTime } = checkpoint;
    const seconds = createTime ? Math.floor(timestampDate(createTime).getTime() / 1000) : 0;
    const message = Buffer.from(toJsonString(CheckpointSchema, checkpoint));
    const command = await this.#started();
    await command.write(
      `commit ${refOf(workspacePath, id)}\ncommitter devtool <devtool@localhost> ${seconds} +0000\n` +
        `data ${message.length}\n${message}\n${before ? `M 040000 ${before.tree} ""\n` : ""}`,
    );
    for (const line of changedLines(before?.files ?? new Map(), files)) await command.write(line);
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

function* changedLines(before: TrackedFiles, files: TrackedFiles): Iterable<string> {
  for (const path of before.keys()) if (!files.has(path)) yield `D ${quoted(path)}\n`;
  for (const [path, { blob, mode }] of files) {
    const known = before.get(path);
    if (known?.blob !== blob || known.mode !== mode) yield `M ${mode} ${blob} ${quoted(path)}\n`;
  }
}

function quoted(path: string): string {
  return `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}

/** Reads a line of `git ls-tree`: mode, type, id and, after a tab, the path. */
function trackedFile(line: string): (readonly [string, TrackedFile])[] {
  const [, mode, blob = "", path = ""] = /^(100644|100755) blob ([0-9a-f]{40})\t(.*)$/s.exec(line) ?? [];
  return mode === undefined ? [] : [[path, { blob, mode: modeOf(mode), stamp: undefined, birthNs: 0n }]];
}

function modeOf(mode: string): FileMode {
  return mode === "100755" ? mode : "100644";
}

function refOf(workspacePath: string, id: string): string {
  return `refs/checkpoints/${keyOf(workspacePath)}/${id}`;
}

function keyOf(workspacePath: string): string {
  return createHash("sha256").update(workspacePath).digest("hex").slice(0, 32);
}
