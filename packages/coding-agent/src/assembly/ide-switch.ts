import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "@devtool/internal/replace-file";

/**
 * The sessions in which the user has turned off their editor: an empty file for
 * each in the data directory, so that a restart knows them. Without a data
 * directory, sessions end with the server.
 */
export class IdeSwitch {
  readonly #directory: string | undefined;
  readonly #off = new Set<string>();
  /** What aborts when the editor of a session is turned on or off. */
  readonly #turned = new Map<string, AbortController>();

  constructor(dataDirectory: string | undefined) {
    this.#directory =
      dataDirectory === undefined ? undefined : join(dataDirectory, "ide-off");
  }

  /** Whether the editor is turned off in a session. */
  isOff(contextId: string): boolean {
    const file = this.#file(contextId);
    return file === undefined ? this.#off.has(contextId) : existsSync(file);
  }

  /** Returns a signal that aborts when the editor is turned on or off. */
  whenTurned(contextId: string): AbortSignal {
    const turned = this.#turned.get(contextId) ?? new AbortController();
    this.#turned.set(contextId, turned);
    return turned.signal;
  }

  /** Resolves once it is durable. */
  async turn(contextId: string, to: "on" | "off"): Promise<void> {
    if (this.isOff(contextId) === (to === "off")) return;
    const file = this.#file(contextId);
    if (to === "on") {
      this.#off.delete(contextId);
      if (file !== undefined) await rm(file, { force: true });
    } else {
      this.#off.add(contextId);
      if (file !== undefined) {
        await mkdir(join(file, ".."), { recursive: true, mode: 0o700 });
        await replaceFile(file, "");
      }
    }
    const turned = this.#turned.get(contextId);
    this.#turned.delete(contextId);
    turned?.abort(new Error(`the editor was turned ${to}`));
  }

  /** Clients choose the ids of contexts, so none is the name of a file. */
  #file(contextId: string): string | undefined {
    const name = createHash("sha256").update(contextId).digest("hex");
    return this.#directory && join(this.#directory, name);
  }
}
