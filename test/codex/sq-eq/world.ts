import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { codexAgent } from "@devtool/codex";
import type { CodexOptions } from "@devtool/codex/testing";
import { FAKE_APP_SERVER } from "@devtool/codex/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { Agent } from "@devtool/server";

/** The directories of a Codex whose app-server is a fake. */
export class World {
  readonly directory: string = temporaryDirectory();
  readonly workspace: string = join(this.directory, "workspace");
  /**
   * The home of Codex, in which the fake notes what it is asked and what it
   * runs.
   */
  readonly home: string = join(this.directory, "home");

  constructor() {
    for (const directory of [this.workspace, this.home]) mkdirSync(directory);
    putFile(this.workspace, "a.txt", "one\ntwo\n");
  }

  /** The agent, with options of Codex. */
  codex(options: Partial<CodexOptions> = {}): Agent {
    const environment = { CODEX_HOME: this.home, PATH: process.env.PATH ?? "" };
    return codexAgent({ command: FAKE_APP_SERVER, environment, ...options });
  }
}
