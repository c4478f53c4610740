import { mkdir, rm } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { create, toJsonString } from "@bufbuild/protobuf";
import { replaceFile } from "@devtool/internal/replace-file";
import type { Editor } from "../editor.ts";
import {
  DiscoveryFileSchema,
  LockFileSchema,
} from "../gen/devtool/ide/v1alpha/discovery_pb.ts";
import { assertOwnDirectory } from "./own-directory.ts";
import {
  AGENT_NAMES,
  type Agent,
  discoveryDirectories,
  type Environment,
} from "./places.ts";
import { removeStaleFiles } from "./stale-files.ts";

/** What agents must know of a companion. */
export interface Announcement {
  readonly port: number;
  readonly token: string;
  /** The process of the editor. */
  readonly pid: number;
  /** The process of the companion. */
  readonly companionPid: number;
  readonly editor: Editor;
}

/** The files that lead agents to a companion. */
export class DiscoveryFiles {
  readonly #announcement: Announcement;
  readonly #directories: Readonly<Record<Agent, string>>;
  readonly #written = new Set<Agent>();
  #problems: readonly string[] = [];

  constructor(announcement: Announcement, env: Environment) {
    this.#announcement = announcement;
    this.#directories = discoveryDirectories(env);
  }

  /** Why files could not be written or removed, one for each. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** The environment variables by which programs in a terminal find it. */
  get environment(): Readonly<Record<string, string>> {
    const { port, token, pid, editor } = this.#announcement;
    const folders = editor.workspaceFolders().join(delimiter);
    return {
      GEMINI_CLI_IDE_SERVER_PORT: String(port),
      GEMINI_CLI_IDE_WORKSPACE_PATH: folders,
      GEMINI_CLI_IDE_AUTH_TOKEN: token,
      GEMINI_CLI_IDE_PID: String(pid),
      QWEN_CODE_IDE_SERVER_PORT: String(port),
      QWEN_CODE_IDE_WORKSPACE_PATH: folders,
      CLAUDE_CODE_SSE_PORT: String(port),
      ENABLE_IDE_INTEGRATION: "true",
    };
  }

  /**
   * Writes the files, or replaces them: only their owner may read them. Never
   * rejects.
   */
  async write(): Promise<void> {
    const { pid } = this.#announcement;
    await removeStaleFiles(this.#directories["gemini-cli"], pid);
    const texts = this.#texts();
    if (typeof texts === "string") {
      this.#problems = [texts];
      return;
    }
    const results = await Promise.all(
      AGENTS.map((agent) => this.#writeOne(agent, texts[agent])),
    );
    this.#problems = results.filter((problem) => problem !== undefined);
  }

  /** Removes the files that were written. Never rejects. */
  async remove(): Promise<void> {
    for (const agent of this.#written) {
      const path = this.#path(agent);
      try {
        await assertOwnDirectory(dirname(path));
        await rm(path, { force: true });
      } catch (reason) {
        const problem = `"${path}" could not be removed: ${messageOf(reason)}`;
        this.#problems = [...this.#problems, problem];
      }
    }
  }

  /** Returns what the files say, or why the editor does not say it. */
  #texts(): Readonly<Record<(typeof AGENTS)[number], string>> | string {
    try {
      const folders = this.#announcement.editor.workspaceFolders();
      const companion = this.#companionFile(folders);
      return {
        "gemini-cli": companion,
        "qwen-code": companion,
        "claude-code": this.#lockFile(folders),
      };
    } catch (reason) {
      return `the folders that are open are not announced: ${messageOf(reason)}`;
    }
  }

  #path(agent: Agent): string {
    const { pid, port } = this.#announcement;
    const name =
      agent === "gemini-cli"
        ? `gemini-ide-server-${pid}-${port}.json`
        : `${port}.lock`;
    return join(this.#directories[agent], name);
  }

  /** Returns why a file could not be written. */
  async #writeOne(agent: Agent, text: string): Promise<string | undefined> {
    const path = this.#path(agent);
    const directory = dirname(path);
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await assertOwnDirectory(directory);
      await replaceFile(path, text, 0o600);
      this.#written.add(agent);
      return undefined;
    } catch (reason) {
      return `${AGENT_NAMES[agent]} finds this editor in its own terminals only, as "${path}" could not be written: ${messageOf(reason)}`;
    }
  }

  #companionFile(folders: readonly string[]): string {
    const { port, token, companionPid, editor } = this.#announcement;
    const message = create(DiscoveryFileSchema, {
      port,
      workspacePath: folders.join(delimiter),
      authToken: token,
      ideInfo: { name: editor.name, displayName: editor.displayName },
      ideName: editor.displayName,
      ppid: companionPid,
    });
    return toJsonString(DiscoveryFileSchema, message, EMIT_ALL);
  }

  #lockFile(folders: readonly string[]): string {
    const { token, pid, editor } = this.#announcement;
    const message = create(LockFileSchema, {
      pid,
      workspaceFolders: [...folders],
      ideName: editor.displayName,
      transport: "ws",
      authToken: token,
    });
    return toJsonString(LockFileSchema, message, EMIT_ALL);
  }
}

const AGENTS = ["gemini-cli", "qwen-code", "claude-code"] as const;

const EMIT_ALL = { alwaysEmitImplicit: true } as const;

function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
