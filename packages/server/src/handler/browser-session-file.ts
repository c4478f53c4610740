import { readFile, stat } from "node:fs/promises";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { BrowserSessionFileSchema, type StoredBrowserSession } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import { failpoint } from "../failpoint.ts";
import { replaceFile } from "../files/replace-file.ts";

/** Reads browser sessions; none when there is no file. Throws for a file that is damaged, or that other users can access. */
export async function readBrowserSessions(path: string): Promise<readonly StoredBrowserSession[]> {
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0) throw new Error("other users can access it");
    return fromJsonString(BrowserSessionFileSchema, await readFile(path, "utf8")).sessions;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return [];
    const remedy = "remove it, which ends the sessions of browsers";
    const problem = `browser sessions in "${path}" cannot be read: ${cause instanceof Error ? cause.message : cause}`;
    throw new DevtoolError(problem, Code.FailedPrecondition, { remedy, cause });
  }
}

/** Replaces the file with browser sessions. */
export async function writeBrowserSessions(path: string, sessions: readonly StoredBrowserSession[]): Promise<void> {
  const file = create(BrowserSessionFileSchema, { sessions: [...sessions] });
  failpoint("devtool:browser-sessions.write.before");
  await replaceFile(path, `${toJsonString(BrowserSessionFileSchema, file, { prettySpaces: 2 })}\n`);
  failpoint("devtool:browser-sessions.write.after");
}
