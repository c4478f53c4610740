import { realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { CheckpointSchema } from "@devtool/schema";
import { Code, DevtoolError } from "../../errors.ts";
import { Workspace } from "../workspace.ts";
import { CheckpointRepository, type CheckpointTree } from "./checkpoint-repository.ts";
import { planRestore, removeFile, writeFile } from "./restore-files.ts";
import { type TrackedFiles, trackFiles } from "./tracked-files.ts";

/** What checkpoints work with. */
export interface CheckpointsOptions {
  /** The data directory: the shadow repository is `checkpoints.git` in it. One process at a time. */
  readonly dataDirectory: string;
  /** Where git is looked for: the value of PATH. */
  readonly searchPath: string;
  readonly now: () => Date;
  /** Says, once for each reason, that there is no checkpoint and why. */
  readonly onNotice: (text: string) => void;
}

/** One state of a workspace. */
export interface CheckpointSummary {
  readonly id: string;
  readonly time: Date;
  /** What was about to happen when it was made, in a line. */
  readonly label: string;
}

/** The latest checkpoint of a workspace. */
interface Latest extends CheckpointTree {
  readonly id: string;
}

/** So many checkpoints are kept of a workspace; older ones go, many at once, when there are twice as many. */
const KEPT = 100;
const MAX_LABEL_LENGTH = 200;
/** Looking at a workspace may hold an edit up for so long. */
const MAX_SNAPSHOT_MS = 15_000;

/**
 * States of workspaces to go back to, in a shadow git repository that the workspaces know nothing of. Ignored files, very
 * large ones and links take no part. One thing at a time.
 */
export class Checkpoints {
  readonly #options: CheckpointsOptions;
  readonly #repository: CheckpointRepository;
  readonly #latest = new Map<string, Latest | undefined>();
  #queue: Promise<unknown> = Promise.resolve();
  readonly #noticed = new Set<string>();

  constructor(options: CheckpointsOptions) {
    this.#options = options;
    const { dataDirectory, searchPath } = options;
    this.#repository = new CheckpointRepository({ directory: join(dataDirectory, "checkpoints.git"), searchPath });
  }

  /**
   * Keeps the files of a workspace as they are. Gives the id of the checkpoint, of the latest one when nothing changed
   * since; undefined, after a notice, when there can be none: then the work goes on without.
   */
  async snapshot(workspacePath: string, label: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#inTurn(() => this.#snapshot(workspacePath, label, signal));
    } catch (reason) {
      signal.throwIfAborted();
      this.#notice(DevtoolError.from(reason).message);
      return undefined;
    }
  }

  /** The checkpoints of a workspace, the latest first; none when there is no git. */
  async list(workspacePath: string, signal: AbortSignal): Promise<readonly CheckpointSummary[]> {
    try {
      const checkpoints = await this.#inTurn(() => this.#repository.list(workspacePath, signal));
      return checkpoints.map(({ id, label, createTime }) => ({ id, label, time: dateOf(createTime) }));
    } catch (reason) {
      if (!(reason instanceof DevtoolError) || reason.code !== Code.Unavailable) throw reason;
      this.#notice(reason.message);
      return [];
    }
  }

  /**
   * Brings the files of a workspace to where a checkpoint has them: changed and deleted ones come back, those made since
   * go. Makes a checkpoint before, so that this too can be undone, and touches only what that one has. Gives a line for
   * each file. Throws `Code.NotFound` for an unknown id.
   */
  restore(workspacePath: string, id: string, signal: AbortSignal): Promise<readonly string[]> {
    return this.#inTurn(async () => {
      const checkpoint = (await this.#repository.list(workspacePath, signal)).find((one) => one.id === id);
      if (!checkpoint) throw unknownCheckpoint(id);
      const { files: target } = await this.#repository.read(workspacePath, id, signal);
      await this.#snapshot(workspacePath, `restore checkpoint ${id}`, signal);
      const current = this.#latest.get(workspacePath)?.files ?? new Map();
      const plan = planRestore(target, current, { checkpointTime: dateOf(checkpoint.createTime) });
      using workspace = new Workspace(workspacePath);
      const lines = plan.remove.map((path) => removeFile(workspace, path));
      const blobs = plan.write.map(([, { blob }]) => blob);
      let index = 0;
      for await (const content of this.#repository.contents(blobs, signal)) {
        const entry = plan.write[index++];
        if (entry) lines.push(writeFile(workspace, entry, { content, current: current.get(entry[0]) }));
      }
      return [...lines, ...plan.keep.map((path) => `${path} (left as it is: it is older than the checkpoint)`)];
    });
  }

  async #snapshot(workspacePath: string, label: string, signal: AbortSignal): Promise<string> {
    const before = await this.#latestOf(workspacePath, signal);
    const createTime = this.#options.now();
    using workspace = new Workspace(workspacePath);
    await using writer = this.#repository.begin(signal);
    const onContent = (content: Buffer): Promise<void> => writer.content(content);
    const without = relative(workspacePath, await realpath(this.#options.dataDirectory));
    const files = await inTime(
      (limits) => trackFiles(workspace, { known: before?.files ?? new Map(), without, onContent }, limits),
      signal,
    );
    if (before && isUnchanged(before.files, files)) {
      this.#latest.set(workspacePath, { ...before, files });
      return before.id;
    }
    const id = String(Number(before?.id ?? "0") + 1);
    const words = { id, workspacePath, label: label.slice(0, MAX_LABEL_LENGTH) };
    const checkpoint = create(CheckpointSchema, { ...words, createTime: timestampFromDate(createTime) });
    const tree = await writer.finish({ checkpoint, before, files });
    this.#latest.set(workspacePath, { id, tree, files });
    if (Number(id) % KEPT === 0) await this.#forgetOld(workspacePath, signal);
    return id;
  }

  async #latestOf(workspacePath: string, signal: AbortSignal): Promise<Latest | undefined> {
    if (this.#latest.has(workspacePath)) return this.#latest.get(workspacePath);
    const [newest] = await this.#repository.list(workspacePath, signal);
    const latest = newest && { id: newest.id, ...(await this.#repository.read(workspacePath, newest.id, signal)) };
    this.#latest.set(workspacePath, latest);
    return latest;
  }

  async #forgetOld(workspacePath: string, signal: AbortSignal): Promise<void> {
    const old = (await this.#repository.list(workspacePath, signal)).slice(KEPT);
    if (old.length > 0)
      await this.#repository.remove(
        workspacePath,
        old.map(({ id }) => id),
        signal,
      );
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(run);
    this.#queue = turn.catch(() => {});
    return turn;
  }

  #notice(reason: string): void {
    if (this.#noticed.has(reason)) return;
    this.#noticed.add(reason);
    this.#options.onNotice(`no checkpoint was made: ${reason}`);
  }
}

/** Runs what may hold an edit up for a while only. */
async function inTime<T>(run: (limits: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  const timeout = AbortSignal.timeout(MAX_SNAPSHOT_MS);
  try {
    return await run(AbortSignal.any([signal, timeout]));
  } catch (reason) {
    signal.throwIfAborted();
    if (!timeout.aborted) throw reason;
    const message = `looking at the workspace took longer than ${MAX_SNAPSHOT_MS} ms: name what to leave out in .devtoolignore`;
    throw new DevtoolError(message, Code.DeadlineExceeded, { cause: reason });
  }
}

function isUnchanged(before: TrackedFiles, files: TrackedFiles): boolean {
  if (before.size !== files.size) return false;
  return [...files].every(([path, { blob, mode }]) => {
    const known = before.get(path);
    return known?.blob === blob && known.mode === mode;
  });
}

function dateOf(time: Parameters<typeof timestampDate>[0] | undefined): Date {
  return time ? timestampDate(time) : new Date(0);
}

function unknownCheckpoint(id: string): DevtoolError {
  return new DevtoolError(
    `checkpoint ${JSON.stringify(id)} does not exist: /restore list shows those that do`,
    Code.NotFound,
  );
}
