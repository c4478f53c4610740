import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import { replaceFile } from "@devtool/internal/replace-file";
import { type UntoldCancel, UntoldCancelSchema } from "@devtool/schema";
import type { AgentServices } from "@devtool/server/agent";

/** Where cancellations are kept that agents could not be told. */
export type CancelStorage = NonNullable<AgentServices["untoldCancels"]>;

const FILE = /^untold-cancel-([0-9a-f]{64})\.json$/;

/** Keeps what agents could not be told to cancel in a directory, a file each. */
export class CancelFiles implements CancelStorage {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async list(): Promise<readonly string[]> {
    const names = await readdir(this.#directory).catch(() => []);
    return names.flatMap((name) => FILE.exec(name)?.[1] ?? []);
  }

  async read(id: string): Promise<UntoldCancel | undefined> {
    const path = this.#pathOf(id);
    if (!existsSync(path)) return undefined;
    return fromJsonString(UntoldCancelSchema, await readFile(path, "utf8"));
  }

  put(id: string, cancel: UntoldCancel): Promise<void> {
    const text = `${toJsonString(UntoldCancelSchema, cancel)}\n`;
    return replaceFile(this.#pathOf(id), text);
  }

  async delete(id: string): Promise<boolean> {
    const path = this.#pathOf(id);
    failpoint("devtool:untold-cancel.remove.before");
    try {
      await rm(path);
    } catch (reason) {
      // Another agent of the server was faster.
      if (!existsSync(path)) return false;
      throw reason;
    }
    failpoint("devtool:untold-cancel.remove.after");
    return true;
  }

  #pathOf(id: string): string {
    return join(this.#directory, `untold-cancel-${id}.json`);
  }
}
