import { realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HostPrograms } from "@devtool/sandbox";
import { type Checkpoint, CheckpointSchema } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import { clientError } from "../../client-error.ts";
import { Workspace } from "../workspace.ts";
import { CheckpointRepository, type CheckpointTree } from "./checkpoint-repository.ts";
import { planRestore, type RestorePlan, removeFile, writeFile } from "./restore-files.ts";
import { type TrackedFiles, type TrackOptions, trackFiles } from "./tracked-files.ts";

/** What checkpoints work with. */
export interface CheckpointsOptions {
  /** The data directory: the shadow repository is `checkpoints.git` in it. One process at a time. */
  readonly dataDirectory: string;
  /** Where git is looked for. */
  readonly programs: HostPrograms;
  /** The principal of checkpoints that name none. */
  readonly operator: string;
  readonly now: () => Date;
  /** Says, once for each reason, that there is no checkpoint and why. */
  readonly onNotice: (text: string) => void;
}

/** Whose checkpoints of which workspace. */
export interface CheckpointPlace {
  /** The real path of the workspace. */
  readonly workspacePath: string;
  readonly principal: string;
}

/** One state of a workspace. */
export interface CheckpointSummary {
  readonly id: string;
  readonly time: Date;
  /** What was about to happen when it was made, in a line. */
  readonly label: string;
}

/** What going back to a checkpoint would change, as paths in the workspace. */
export interface RestorePreview {
  readonly id: string;
  readonly write: readonly string[];
  readonly remove: readonly string[];
}

/** The latest checkpoint of a workspace. */
interface Latest extends CheckpointTree {
  readonly id: string;
  readonly principal: string;
}

/** How many checkpoints of a workspace each principal keeps. Older ones are removed together, once there are twice as many. */
const KEPT = 100;
const MAX_LABEL_LENGTH = 200;
/** Looking at a workspace may hold an edit up for so long. */
const MAX_SNAPSHOT_MS = 15_000;

/**
 * States of workspaces to go back to, in a shadow git repository that the workspaces know nothing of. Ignored files, very
 * large ones and links take no part. One thing at a time. Each principal has its own: the label of one says what it did.
 */
export class Checkpoints {
  readonly #options: CheckpointsOptions;
  readonly #repository: CheckpointRepository;
  readonly #latest = new Map<string, Latest | undefined>();
  #queue: Promise<unknown> = Promise.resolve();
  readonly #noticed = new Set<string>();

  constructor(options: CheckpointsOptions) {
    this.#options = options;
    const { dataDirectory, programs } = options;
    this.#repository = new CheckpointRepository({ directory: join(dataDirectory, "checkpoints.git"), programs });
  }

  /**
   * Keeps the files of a workspace as they are. Gives the id of the checkpoint, of the latest one when it is the
   * principal's and nothing changed since; undefined, after a notice, when there can be none: then the work goes on without.
   */
  async snapshot(place: CheckpointPlace, label: string, signal: AbortSignal): Promise<string | undefined> {
    const { workspacePath: workspace } = place;
    try {
      this.#assertGitIsOutside(workspace);
      return await this.#inTurn(() => this.#snapshot(place, label, signal));
    } catch (reason) {
      signal.throwIfAborted();
      const onNotice = (text: string): void => this.#notice(text);
      const { message } = clientError(reason, "making a checkpoint", { workspace }, onNotice);
      this.#notice(`no checkpoint was made: ${message}`);
      return undefined;
    }
  }

  /** A principal's checkpoints of a workspace, the latest first; none when there is no git. */
  async list(place: CheckpointPlace, signal: AbortSignal): Promise<readonly CheckpointSummary[]> {
    try {
      this.#assertGitIsOutside(place.workspacePath);
      const checkpoints = await this.#inTurn(() => this.#own(place, signal));
      return checkpoints.map(({ id, label, createTime }) => ({ id, label, time: dateOf(createTime) }));
    } catch (reason) {
      if (!(reason instanceof DevtoolError) || reason.code !== Code.Unavailable) throw reason;
      this.#notice(`no checkpoint was made: ${reason.message}`);
      return [];
    }
  }

  /** What going back to a checkpoint would change now; changes nothing. Throws `Code.NotFound` for an unknown id. */
  preview(place: CheckpointPlace, id: string, signal: AbortSignal): Promise<RestorePreview> {
    const { workspacePath } = place;
    return this.#inTurn(async () => {
      const { target, checkpointTime } = await this.#target(place, id, signal);
      const known = (await this.#latestOf(workspacePath, signal))?.files ?? new Map();
      using workspace = new Workspace(workspacePath);
      const current = await this.#look(workspace, { known, onContent: () => Promise.resolve() }, signal);
      const plan = planRestore(target, current, { checkpointTime });
      return { id, write: plan.write.map(([path]) => path), remove: plan.remove };
    });
  }

  /**
   * Brings the files of a workspace to where a checkpoint has them: changed and deleted ones come back, those made since
   * go. Makes a checkpoint before, so that this too can be undone, and touches only what that one has. Gives a line for
   * each file. Throws `Code.NotFound` for an unknown id, and `Code.Aborted` when it would change a file that the preview does not have.
   */
  restore(place: CheckpointPlace, shown: RestorePreview, signal: AbortSignal): Promise<readonly string[]> {
    const { workspacePath } = place;
    const { id } = shown;
    return this.#inTurn(async () => {
      const { target, checkpointTime } = await this.#target(place, id, signal);
      await this.#snapshot(place, `restore checkpoint ${id}`, signal);
      const current = this.#latest.get(workspacePath)?.files ?? new Map();
      const plan = planRestore(target, current, { checkpointTime });
      assertShown(plan, shown);
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

  async #target(place: CheckpointPlace, id: string, signal: AbortSignal) {
    this.#assertGitIsOutside(place.workspacePath);
    const checkpoint = (await this.#own(place, signal)).find((one) => one.id === id);
    if (!checkpoint) throw unknownCheckpoint(id);
    const { files: target } = await this.#repository.read(place.workspacePath, id, signal);
    return { target, checkpointTime: dateOf(checkpoint.createTime) };
  }

  /** The files of a workspace as they are, but for our own data. */
  async #look(workspace: Workspace, found: Omit<TrackOptions, "without">, signal: AbortSignal): Promise<TrackedFiles> {
    const without = relative(workspace.root, await realpath(this.#options.dataDirectory));
    return inTime((limits) => trackFiles(workspace, { ...found, without }, limits), signal);
  }

  async #own({ workspacePath, principal }: CheckpointPlace, signal: AbortSignal): Promise<Checkpoint[]> {
    const all = await this.#repository.list(workspacePath, signal);
    return all.filter((checkpoint) => this.#principalOf(checkpoint) === principal);
  }

  #principalOf({ principal }: Checkpoint): string {
    return principal === "" ? this.#options.operator : principal;
  }

  async #snapshot(place: CheckpointPlace, label: string, signal: AbortSignal): Promise<string> {
    const { workspacePath, principal } = place;
    const before = await this.#latestOf(workspacePath, signal);
    const createTime = this.#options.now();
    using workspace = new Workspace(workspacePath);
    await using writer = this.#repository.begin(signal);
    const onContent = (content: Buffer): Promise<void> => writer.content(content);
    const files = await this.#look(workspace, { known: before?.files ?? new Map(), onContent }, signal);
    if (before?.principal === principal && isUnchanged(before.files, files)) {
      this.#latest.set(workspacePath, { ...before, files });
      return before.id;
    }
    const id = String(Number(before?.id ?? "0") + 1);
    const words = { id, workspacePath, principal, label: label.slice(0, MAX_LABEL_LENGTH) };
    const checkpoint = create(CheckpointSchema, { ...words, createTime: timestampFromDate(createTime) });
    const tree = await writer.finish({ checkpoint, before, files });
    this.#latest.set(workspacePath, { id, principal, tree, files });
    if (Number(id) % KEPT === 0) await this.#forgetOld(workspacePath, signal);
    return id;
  }

  async #latestOf(workspacePath: string, signal: AbortSignal): Promise<Latest | undefined> {
    if (this.#latest.has(workspacePath)) return this.#latest.get(workspacePath);
    const [newest] = await this.#repository.list(workspacePath, signal);
    const latest = newest && {
      ...{ id: newest.id, principal: this.#principalOf(newest) },
      ...(await this.#repository.read(workspacePath, newest.id, signal)),
    };
    this.#latest.set(workspacePath, latest);
    return latest;
  }

  async #forgetOld(workspacePath: string, signal: AbortSignal): Promise<void> {
    const all = await this.#repository.list(workspacePath, signal);
    const byPrincipal = Map.groupBy(all, (checkpoint) => this.#principalOf(checkpoint));
    const old = [...byPrincipal.values()].flatMap((checkpoints) => checkpoints.slice(KEPT));
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

  /** Commands in a workspace that holds git could change what runs here, outside of their sandbox. */
  #assertGitIsOutside(workspacePath: string): void {
    const { programs } = this.#options;
    const git = programs.find("git", []);
    if (git === undefined || git === programs.find("git", [workspacePath])) return;
    throw new DevtoolError(`${git} lies in the workspace`, Code.Unavailable, { remedy: "install git for the system" });
  }

  #notice(text: string): void {
    if (this.#noticed.has(text)) return;
    this.#noticed.add(text);
    this.#options.onNotice(text);
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
    const problem = `looking at the workspace took longer than ${MAX_SNAPSHOT_MS} ms`;
    const remedy = "name what to leave out in .devtoolignore";
    throw new DevtoolError(problem, Code.DeadlineExceeded, { remedy, cause: reason });
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

/** What the user was asked about is what changes. */
function assertShown({ write, remove }: RestorePlan, shown: RestorePreview): void {
  const [written, removed] = [new Set(shown.write), new Set(shown.remove)];
  const more = [
    ...write.map(([path]) => path).filter((path) => !written.has(path)),
    ...remove.filter((path) => !removed.has(path)),
  ];
  if (more.length === 0) return;
  const which = `${JSON.stringify(more[0])}${more.length > 1 ? ` and ${more.length - 1} more` : ""}`;
  throw new DevtoolError(`${which} changed since it was shown what would be restored`, Code.Aborted, {
    remedy: "try again",
  });
}

function unknownCheckpoint(id: string): DevtoolError {
  return new DevtoolError(`checkpoint ${JSON.stringify(id)} does not exist`, Code.NotFound, {
    remedy: "/restore list shows those that do",
  });
}
