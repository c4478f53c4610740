import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import {
  type Timestamp,
  timestampDate,
  timestampFromDate,
} from "@bufbuild/protobuf/wkt";
import { keepStart } from "@devtool/internal/cut-text";
import type { HostPrograms } from "@devtool/sandbox";
import { type Checkpoint, CheckpointSchema } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import { clientError } from "../../client-error.ts";
import { listedPath } from "../listed-path.ts";
import { Workspace } from "../workspace.ts";
import {
  CheckpointRepository,
  type CheckpointTree,
} from "./checkpoint-repository.ts";
import {
  assertPreviewed,
  planRestore,
  type RestorePreview,
  removeFile,
  writeFile,
} from "./restore-files.ts";
import { assertGitIsOutside } from "./shadow-git.ts";
import { isUnchanged, type TrackedFiles, trackFiles } from "./tracked-files.ts";

/** Dependencies of `Checkpoints`. */
export interface CheckpointsOptions {
  /**
   * The data directory. The repository is `checkpoints.git` in it. Only one
   * process at a time may use it.
   */
  readonly dataDirectory: string;
  /** Finds the git program. */
  readonly programs: HostPrograms;
  /** The principal of checkpoints that have none. */
  readonly operator: string;
  readonly now: () => Date;
  /**
   * Receives notices for the operator about missing checkpoints. Each notice is
   * sent once.
   */
  readonly onNotice: (text: string) => void;
}

/** Identifies the checkpoints of a principal in a workspace. */
export interface CheckpointPlace {
  /** The real path of the workspace. */
  readonly workspacePath: string;
  readonly principal: string;
}

/** Identifies the workspace and the task of a new checkpoint. */
export interface CheckpointOrigin extends CheckpointPlace {
  readonly taskId: string;
}

/** A saved state of a workspace. */
export interface CheckpointSummary {
  readonly id: string;
  readonly time: Date;
  /** One line that describes the call before which the checkpoint was made. */
  readonly label: string;
}

/** Access to the checkpoints that there are. */
export type StoredCheckpoints = Pick<
  Checkpoints,
  "list" | "preview" | "restore"
>;

/** The newest checkpoint of a workspace, of any task. */
interface LatestCheckpoint extends CheckpointTree {
  readonly id: string;
  readonly taskId: string;
}

/** Tasks whose checkpoints are removed together. */
interface Removal {
  readonly taskIds: Set<string>;
  readonly done: Promise<void>;
}

interface TimedFiles {
  readonly files: TrackedFiles;
  readonly time: Date;
}

/**
 * The number of checkpoints per workspace and principal that are kept. After
 * every 100th checkpoint of a workspace, all older ones are removed together.
 */
const KEPT = 100;

const MAX_LABEL_LENGTH = 200;

/** The maximum time in milliseconds in which git removes checkpoints. */
const REMOVAL_TIMEOUT_MS = 600_000;

/**
 * Saves and restores states of workspaces, in a git repository outside of them.
 *
 * Ignored files, files of more than `MAX_FILE_BYTES` and links are not saved.
 * Operations run one after the other. Each principal has checkpoints of their
 * own, because a label describes what its principal did.
 */
export class Checkpoints {
  readonly #options: CheckpointsOptions;
  readonly #repository: CheckpointRepository;
  /** The newest checkpoints by workspace. */
  readonly #latest = new Map<string, LatestCheckpoint | undefined>();
  /**
   * The highest numbers of removed checkpoints by workspace. None is given again
   * while the server runs, because a user may still have it in a list. An
   * approval from before a restart is for the time of a checkpoint, too.
   */
  readonly #removed = new Map<string, number>();
  /**
   * The tasks that have checkpoints, and some that had or tried. Undefined until
   * the first removal, which lists the checkpoints.
   */
  #tasks: Set<string> | undefined;
  /** The removal that waits for its turn. */
  #nextRemoval: Removal | undefined;
  /** The last operation. */
  #queue: Promise<unknown> = Promise.resolve();
  readonly #sentNotices = new Set<string>();

  constructor(options: CheckpointsOptions) {
    this.#options = options;
    const { dataDirectory, programs } = options;
    this.#repository = new CheckpointRepository({
      directory: join(dataDirectory, "checkpoints.git"),
      programs,
    });
  }

  /**
   * Saves the files of a workspace and returns the id of the checkpoint.
   *
   * Returns the id of the newest checkpoint if it is the task's and nothing has
   * changed since. Returns undefined, after a notice, when a checkpoint cannot
   * be made, so that the call can run without one.
   */
  async snapshot(
    origin: CheckpointOrigin,
    label: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { workspacePath: workspace } = origin;
    try {
      assertGitIsOutside(workspace, this.#options.programs);
      const tell = (path: string): void =>
        this.#sendNotice(
          `${listedPath(path)} is in no checkpoint: its name is not UTF-8`,
        );
      return await this.#inTurn(() =>
        this.#snapshot(origin, label, tell, signal),
      );
    } catch (reason) {
      signal.throwIfAborted();
      const { message } = clientError(
        reason,
        "making a checkpoint",
        { workspace },
        (text) => this.#sendNotice(text),
      );
      this.#sendNotice(`no checkpoint was made: ${message}`);
      return undefined;
    }
  }

  /**
   * Lists a principal's checkpoints of a workspace, newest first. Empty when
   * git is not available.
   */
  async list(
    place: CheckpointPlace,
    signal: AbortSignal,
  ): Promise<readonly CheckpointSummary[]> {
    try {
      assertGitIsOutside(place.workspacePath, this.#options.programs);
      const checkpoints = await this.#inTurn(() =>
        this.#listOwn(place, signal),
      );
      return checkpoints.map(({ id, label, createTime }) => ({
        id,
        label,
        time: toDate(createTime),
      }));
    } catch (reason) {
      if (
        !(reason instanceof DevtoolError) ||
        reason.code !== Code.Unavailable
      ) {
        throw reason;
      }
      this.#sendNotice(`no checkpoint was made: ${reason.message}`);
      return [];
    }
  }

  /**
   * Returns the changes that restoring a checkpoint would make now. Throws
   * `Code.NotFound` for an unknown id.
   */
  preview(
    place: CheckpointPlace,
    id: string,
    signal: AbortSignal,
  ): Promise<RestorePreview> {
    const { workspacePath } = place;
    return this.#inTurn(async () => {
      const checkpoint = await this.#read(place, id, signal);
      const known =
        (await this.#latestOf(workspacePath, signal))?.files ?? new Map();
      using workspace = new Workspace(workspacePath);
      const current = await trackFiles(
        workspace,
        {
          known,
          excluded: this.#options.dataDirectory,
          onContent: () => Promise.resolve(),
          onUnreadableName: () => undefined,
        },
        signal,
      );
      const plan = planRestore(checkpoint.files, current, checkpoint.time);
      return {
        id,
        write: plan.write.map(([path]) => path),
        remove: plan.remove,
      };
    });
  }

  /**
   * Restores the files of a workspace to a checkpoint. Returns one line per
   * file.
   *
   * Writes back changed and deleted files, and removes files that were created
   * since. Makes a checkpoint before, so that this can be undone, and changes
   * only files that this one contains.
   *
   * Throws `Code.NotFound` for an unknown id, and `Code.Aborted` when it would
   * change a file that is not in the preview.
   */
  restore(
    origin: CheckpointOrigin,
    preview: RestorePreview,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { workspacePath } = origin;
    const { id } = preview;
    return this.#inTurn(async () => {
      const checkpoint = await this.#read(origin, id, signal);
      const unreadable: string[] = [];
      await this.#snapshot(
        origin,
        `restore checkpoint ${id}`,
        (path) => unreadable.push(path),
        signal,
      );
      const current = this.#latest.get(workspacePath)?.files ?? new Map();
      const plan = planRestore(checkpoint.files, current, checkpoint.time);
      assertPreviewed(plan, preview);
      using workspace = new Workspace(workspacePath);
      const lines = plan.remove.map((path) => removeFile(workspace, path));
      const blobs = plan.write.map(([, { blob }]) => blob);
      let index = 0;
      for await (const content of this.#repository.contents(blobs, signal)) {
        const entry = plan.write[index++];
        if (entry) {
          lines.push(
            writeFile(workspace, entry, content, current.get(entry[0])),
          );
        }
      }
      return [
        ...lines,
        ...plan.keep.map(
          (path) =>
            `${listedPath(path)} (left as it is: it is older than the checkpoint)`,
        ),
        ...unreadable.map(
          (path) =>
            `${listedPath(path)} (left as it is: its name is not UTF-8)`,
        ),
      ];
    });
  }

  /**
   * Removes the checkpoints that a task made, with the contents that no other
   * checkpoint has. Those of earlier versions, without a task, stay.
   *
   * Rejects when they cannot be removed, as without git. Without checkpoints,
   * git is not started.
   */
  readonly forget = (taskId: string): Promise<void> => {
    // Tasks that are deleted side by side share a removal: it rewrites the whole
    // repository.
    if (!this.#nextRemoval) {
      const taskIds = new Set<string>();
      const done = this.#inTurn(() => {
        this.#nextRemoval = undefined;
        return this.#removeOf(taskIds);
      });
      this.#nextRemoval = { taskIds, done };
    }
    this.#nextRemoval.taskIds.add(taskId);
    return this.#nextRemoval.done;
  };

  async #removeOf(taskIds: ReadonlySet<string>): Promise<void> {
    if (!this.#repository.exists) return;
    if (this.#tasks?.isDisjointFrom(taskIds)) return;
    const signal = AbortSignal.timeout(REMOVAL_TIMEOUT_MS);
    try {
      const all = await this.#repository.list(undefined, signal);
      const leaving = all.filter(({ taskId }) => taskIds.has(taskId));
      for (const { workspacePath, id } of leaving) {
        const before = this.#removed.get(workspacePath) ?? 0;
        this.#removed.set(workspacePath, Math.max(before, Number(id)));
        this.#latest.delete(workspacePath);
      }
      // Also without any: a kill may have left the contents of a removed one.
      await this.#repository.remove(leaving, signal);
      this.#tasks = new Set(all.map(({ taskId }) => taskId)).difference(
        taskIds,
      );
    } catch (reason) {
      const { problem, code } = clientError(
        reason,
        "removing checkpoints",
        {},
        (text) => this.#sendNotice(text),
      );
      throw new DevtoolError(
        `checkpoints of deleted tasks cannot be removed: ${problem}`,
        code,
        {
          cause: reason,
          remedy:
            "check git on the server, or stop it and remove checkpoints.git of its data directory",
        },
      );
    }
  }

  /**
   * Reads the files and the time of a principal's checkpoint. Throws
   * `Code.NotFound` for an unknown id.
   */
  async #read(
    place: CheckpointPlace,
    id: string,
    signal: AbortSignal,
  ): Promise<TimedFiles> {
    assertGitIsOutside(place.workspacePath, this.#options.programs);
    const checkpoint = (await this.#listOwn(place, signal)).find(
      (one) => one.id === id,
    );
    if (!checkpoint) {
      throw new DevtoolError(
        `checkpoint ${JSON.stringify(id)} does not exist`,
        Code.NotFound,
        { remedy: "/restore list shows those that do" },
      );
    }
    const { files } = await this.#repository.read(
      place.workspacePath,
      id,
      signal,
    );
    return { files, time: toDate(checkpoint.createTime) };
  }

  async #listOwn(
    { workspacePath, principal }: CheckpointPlace,
    signal: AbortSignal,
  ): Promise<Checkpoint[]> {
    const all = await this.#repository.list(workspacePath, signal);
    return all.filter(
      (checkpoint) => this.#principalOf(checkpoint) === principal,
    );
  }

  #principalOf({ principal }: Checkpoint): string {
    return principal === "" ? this.#options.operator : principal;
  }

  async #snapshot(
    origin: CheckpointOrigin,
    label: string,
    onUnreadableName: (path: string) => void,
    signal: AbortSignal,
  ): Promise<string> {
    const { workspacePath, principal, taskId } = origin;
    // Before git writes, because contents stay when it fails.
    this.#tasks?.add(taskId);
    const before = await this.#latestOf(workspacePath, signal);
    const createTime = this.#options.now();
    using workspace = new Workspace(workspacePath);
    await using writer = this.#repository.begin(signal);
    const files = await trackFiles(
      workspace,
      {
        known: before?.files ?? new Map(),
        excluded: this.#options.dataDirectory,
        onContent: (content) => writer.content(content),
        onUnreadableName,
      },
      signal,
    );
    // One of another task goes with that task.
    if (before?.taskId === taskId && isUnchanged(before.files, files)) {
      this.#latest.set(workspacePath, { ...before, files });
      return before.id;
    }
    const last = Math.max(
      Number(before?.id ?? "0"),
      this.#removed.get(workspacePath) ?? 0,
    );
    const id = String(last + 1);
    const checkpoint = create(CheckpointSchema, {
      id,
      workspacePath,
      principal,
      taskId,
      label: keepStart(label, MAX_LABEL_LENGTH),
      createTime: timestampFromDate(createTime),
    });
    // Read again after a failure: git may have made the commit all the same.
    this.#latest.delete(workspacePath);
    const tree = await writer.finish({ checkpoint, before, files });
    this.#latest.set(workspacePath, { id, taskId, tree, files });
    if (Number(id) % KEPT === 0) {
      const all = await this.#repository.list(workspacePath, signal);
      const byPrincipal = Map.groupBy(all, (one) => this.#principalOf(one));
      const old = [...byPrincipal.values()].flatMap((checkpoints) =>
        checkpoints.slice(KEPT),
      );
      if (old.length > 0) await this.#repository.remove(old, signal);
    }
    return id;
  }

  async #latestOf(
    workspacePath: string,
    signal: AbortSignal,
  ): Promise<LatestCheckpoint | undefined> {
    if (this.#latest.has(workspacePath)) return this.#latest.get(workspacePath);
    const [newest] = await this.#repository.list(workspacePath, signal);
    const latest = newest && {
      id: newest.id,
      taskId: newest.taskId,
      ...(await this.#repository.read(workspacePath, newest.id, signal)),
    };
    this.#latest.set(workspacePath, latest);
    return latest;
  }

  /** Runs an operation after the operations before it have ended. */
  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(run);
    this.#queue = turn.catch(() => {});
    return turn;
  }

  #sendNotice(text: string): void {
    if (this.#sentNotices.has(text)) return;
    this.#sentNotices.add(text);
    this.#options.onNotice(text);
  }
}

function toDate(time: Timestamp | undefined): Date {
  return time ? timestampDate(time) : new Date(0);
}
