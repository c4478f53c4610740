import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { ClientApp } from "@agentclientprotocol/sdk";
import { Code, DevtoolError, failpoint, quoted } from "@devtool/server/agent";
import type { ClientMethods } from "./acp-agent-options.ts";
import { workspacePathOf } from "./workspace-path.ts";

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;

/** The methods `fs/*` for an agent: text files inside the workspace of its session. */
export class ClientFiles {
  readonly #workspacePath: string;
  readonly #maxBytes: number;

  constructor(workspacePath: string, maxBytes: number) {
    this.#workspacePath = workspacePath;
    this.#maxBytes = maxBytes;
  }

  register(app: ClientApp, { readTextFile = false, writeTextFile = true }: ClientMethods): void {
    if (readTextFile) app.onRequest("fs/read_text_file", async ({ params }) => ({ content: await this.#read(params) }));
    if (writeTextFile) {
      app.onRequest("fs/write_text_file", async ({ params }) => {
        await this.#write(params.path, params.content);
        return {};
      });
    }
  }

  async #read({ path, line, limit }: { path: string; line?: number | null; limit?: number | null }): Promise<string> {
    const place = await workspacePathOf(this.#workspacePath, path);
    await using file = await open(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const { size } = await this.#stat(file, path);
    if (size > this.#maxBytes)
      throw new DevtoolError(
        `file ${quoted(path)} has ${size} bytes: limit is ${this.#maxBytes}`,
        Code.ResourceExhausted,
      );
    const content = await file.readFile("utf8");
    if ((line ?? undefined) === undefined && (limit ?? undefined) === undefined) return content;
    const from = Math.max(0, (line ?? 1) - 1);
    return content
      .split("\n")
      .slice(from, from + (limit ?? Number.MAX_SAFE_INTEGER))
      .join("\n");
  }

  async #write(path: string, content: string): Promise<void> {
    const place = await workspacePathOf(this.#workspacePath, path);
    failpoint("devtool:acp.write.before");
    await using file = await open(place, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0o644);
    await this.#stat(file, path);
    await file.writeFile(content);
    failpoint("devtool:acp.write.after");
  }

  async #stat(file: Awaited<ReturnType<typeof open>>, path: string): Promise<{ size: number }> {
    const stats = await file.stat();
    if (!stats.isFile()) throw new DevtoolError(`path ${quoted(path)} is not a file`, Code.FailedPrecondition);
    return stats;
  }
}
