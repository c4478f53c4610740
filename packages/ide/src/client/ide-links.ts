import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
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
import { directoryChanges } from "./directory-changes.ts";

/** An editor that shows a workspace, or why there is none. */
export type IdeConnection =
  | { readonly case: "connected"; readonly link: CompanionLink }
  | { readonly case: "none"; readonly reason: string };

/** How long a companion that let nobody in is left alone, in milliseconds. */
const RETRY_AFTER_MS = 30_000;
/** The least time between two changes that are noticed, in milliseconds. */
const BETWEEN_CHANGES_MS = 250;
/** What is shown of the error of a companion, which may say anything. */
const MAX_REASON = 200;

/** A connection, or why there is none and until when none is tried. */
interface Attempt {
  /** What the file said. */
  readonly address: string;
  readonly link: CompanionLink | undefined;
  readonly why: string;
  readonly until: number;
}

/**
 * Connects the agent to the companions of editors, by the files that Gemini CLI
 * reads, too: one connection for each editor, whatever folders it has open. It
 * ends when the editor's file is gone.
 */
export class IdeLinks implements AsyncDisposable {
  readonly #env: Environment;
  /** The last attempt to connect by each file. */
  readonly #attempts = new Map<string, Promise<Attempt>>();
  /** Aborts when an editor is trusted with its workspace, or no longer. */
  #trusted = new AbortController();

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
    const { found, order, reason } = await this.#files(workspace);
    this.#closeAllBut(new Set(found.map(({ path }) => path)));
    let problem = reason;
    for (const candidate of order) {
      const attempt = await this.#attempt(candidate, signal);
      if (attempt.link) return { case: "connected", link: attempt.link };
      problem = attempt.why;
      if (signal.aborted) break;
    }
    return { case: "none", reason: problem };
  }

  /**
   * Yields at once, and then whenever another editor may be there, or one that
   * is connected is trusted with its workspace: each 30 seconds anyway, and at
   * most four times a second. Ends when the signal aborts.
   */
  async *changes(signal: AbortSignal): AsyncGenerator<void> {
    while (!signal.aborted) {
      const either = AbortSignal.any([signal, this.#trusted.signal]);
      for await (const _change of directoryChanges(this.#directory, either)) {
        yield;
        const pause = { signal, ref: false };
        await delay(BETWEEN_CHANGES_MS, undefined, pause).catch(
          () => undefined,
        );
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#attempts.values()];
    this.#attempts.clear();
    await Promise.all(all.map(close));
  }

  /** Ends the connections to editors that have ended. */
  #closeAllBut(files: ReadonlySet<string>): void {
    for (const [file, attempt] of this.#attempts) {
      // One that was written since the directory was read is there.
      if (files.has(file) || existsSync(file)) continue;
      this.#attempts.delete(file);
      void close(attempt);
    }
  }

  /** Never rejects. One attempt by each file is made at a time. */
  #attempt(candidate: Candidate, signal: AbortSignal): Promise<Attempt> {
    const { path } = candidate;
    const earlier = this.#attempts.get(path) ?? Promise.resolve(undefined);
    const attempt = earlier.then((last) =>
      this.#renew(last, candidate, signal),
    );
    this.#attempts.set(path, attempt);
    return attempt;
  }

  async #renew(
    last: Attempt | undefined,
    candidate: Candidate,
    signal: AbortSignal,
  ): Promise<Attempt> {
    const address = `${candidate.port} ${candidate.token}`;
    if (last?.address === address) {
      if (last.until > performance.now() || (await last.link?.isAlive())) {
        return last;
      }
    }
    await last?.link?.[Symbol.asyncDispose]();
    try {
      // Who has no editor does not wait for the SDK.
      const { CompanionLink } = await import("./companion-link.ts");
      const onTrust = (): void => {
        const before = this.#trusted;
        this.#trusted = new AbortController();
        before.abort();
      };
      const link = await CompanionLink.open(candidate, onTrust, signal);
      return { address, link, why: "", until: 0 };
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      const why = `the companion of ${candidate.path} does not let the agent in: ${oneLine(said, MAX_REASON)}`;
      const until = signal.aborted ? 0 : performance.now() + RETRY_AFTER_MS;
      return { address, link: undefined, why, until };
    }
  }

  /** The directory of the files. */
  get #directory(): string {
    return discoveryDirectories(this.#env).devtool;
  }

  /** Returns all files, and those that may be used, the best one first. */
  async #files(workspace: string): Promise<{
    readonly found: readonly Candidate[];
    readonly order: readonly Candidate[];
    readonly reason: string;
  }> {
    const agent = "devtool";
    const none = "no editor with a companion has announced itself";
    const foreign = await faultOfDirectory(this.#directory);
    if (foreign !== undefined) {
      return { found: [], order: [], reason: foreign };
    }
    const user = process.getuid?.();
    const found = await readCandidates(agent, this.#directory, user);
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
      found,
      order: inOrderOfChoice(usable, own),
      reason: first ? `${first.path}: ${refusals[0]}` : none,
    };
  }
}

/** Ends the connection of an attempt, if it has one. */
async function close(attempt: Promise<Attempt>): Promise<void> {
  await (await attempt).link?.[Symbol.asyncDispose]();
}
