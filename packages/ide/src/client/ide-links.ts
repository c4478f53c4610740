import { isOtherProcess } from "@devtool/internal/other-process";
import { oneLine } from "@devtool/internal/visible-text";
import { faultOfDirectory } from "../discovery/own-directory.ts";
import { discoveryDirectories, type Environment } from "../discovery/places.ts";
import { type Candidate, readCandidates } from "../doctor/candidate.ts";
import {
  faultOf,
  inOrderOfChoice,
  refusalOf,
} from "../doctor/choose-candidate.ts";
import type { CompanionLink } from "./companion-link.ts";

/** An editor that shows a workspace, or why there is none. */
export type IdeConnection =
  | { readonly case: "connected"; readonly link: CompanionLink }
  | { readonly case: "none"; readonly reason: string };

/** How long a companion that let nobody in is left alone, in milliseconds. */
const RETRY_AFTER_MS = 30_000;
/** What is shown of the error of a companion, which may say anything. */
const MAX_REASON = 200;

/** A connection, and the file that led to it. */
interface Open {
  readonly file: string;
  readonly link: CompanionLink;
}

/**
 * Connects the agent to the companions of editors, by the files that Gemini CLI
 * reads, too: one connection for each workspace.
 */
export class IdeLinks implements AsyncDisposable {
  readonly #env: Environment;
  readonly #open = new Map<string, Promise<Open | string>>();
  /** The files that led nowhere, and until when they are left alone. */
  readonly #failed = new Map<string, number>();

  constructor(env: Environment) {
    this.#env = env;
  }

  /**
   * Returns the connection to the editor that has a workspace open. Connects,
   * or connects again, where that is necessary.
   */
  async connect(
    workspace: string,
    signal: AbortSignal,
  ): Promise<IdeConnection> {
    const earlier = this.#open.get(workspace);
    const current = (earlier ?? Promise.resolve("")).then((open) =>
      this.#renew(open, workspace, signal),
    );
    this.#open.set(workspace, current);
    const found = await current;
    return typeof found === "string"
      ? { case: "none", reason: found }
      : { case: "connected", link: found.link };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = await Promise.all(this.#open.values());
    this.#open.clear();
    await Promise.all(
      all.map((open) =>
        typeof open === "string" ? undefined : open.link[Symbol.asyncDispose](),
      ),
    );
  }

  /** Never rejects: what fails is a reason. */
  async #renew(
    open: Open | string,
    workspace: string,
    signal: AbortSignal,
  ): Promise<Open | string> {
    const { order, reason } = await this.#files(workspace);
    if (typeof open !== "string") {
      const isThere = order.some((each) => fileKey(each) === open.file);
      if (isThere && (await open.link.isAlive())) return open;
      await open.link[Symbol.asyncDispose]();
    }
    let problem = reason;
    for (const candidate of order) {
      const file = fileKey(candidate);
      if ((this.#failed.get(file) ?? 0) > performance.now()) continue;
      try {
        // Who has no editor does not wait for the SDK.
        const { CompanionLink } = await import("./companion-link.ts");
        const link = await CompanionLink.open(candidate, signal);
        this.#failed.clear();
        return { file, link };
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        problem = `the companion of ${candidate.path} does not let the agent in: ${oneLine(why, MAX_REASON)}`;
        if (signal.aborted) break;
        this.#failed.set(file, performance.now() + RETRY_AFTER_MS);
      }
    }
    return problem;
  }

  /** Returns the files that may be used, the best one first. */
  async #files(workspace: string): Promise<{
    readonly order: readonly Candidate[];
    readonly reason: string;
  }> {
    const agent = "devtool";
    const { [agent]: directory } = discoveryDirectories(this.#env);
    const none = "no editor with a companion has announced itself";
    const foreign = await faultOfDirectory(directory);
    if (foreign !== undefined) return { order: [], reason: foreign };
    const user = process.getuid?.();
    const found = await readCandidates(agent, directory, user);
    const own = {
      agent,
      cwd: workspace,
      env: this.#env,
      user,
      idePid: undefined,
      isRunning: (pid: number) => pid === process.pid || isOtherProcess(pid),
    } as const;
    const refusals = found.map(
      (each) => refusalOf(each, own) ?? faultOf(each, own),
    );
    const usable = found.filter((_each, index) => !refusals[index]);
    const [first] = found;
    return {
      order: inOrderOfChoice(usable, own),
      reason: first ? `${first.path}: ${refusals[0]}` : none,
    };
  }
}

function fileKey({ path, port, token }: Candidate): string {
  return `${path} ${port} ${token}`;
}
