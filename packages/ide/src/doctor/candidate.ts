import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fromJson } from "@bufbuild/protobuf";
import { parseJson } from "@devtool/schema";
import { type Agent, FILE_NAMES } from "../discovery/places.ts";
import {
  DiscoveryFileSchema,
  LockFileSchema,
} from "../gen/devtool/ide/v1alpha/discovery_pb.ts";

/** A discovery file, as far as it can be read. */
export interface Candidate {
  readonly path: string;
  /** Why an agent ignores it whatever it says. Undefined if it does not. */
  readonly unreadable: string | undefined;
  /** The permission bits. */
  readonly mode: number;
  /** When it was written, in milliseconds since 1970. */
  readonly writtenAtMs: number;
  readonly port: number;
  readonly token: string;
  readonly folders: readonly string[];
  /** The name of the editor; empty when the file does not say it. */
  readonly editor: string;
  /** The process by which an agent sorts or drops the file; 0: none. */
  readonly pid: number;
  /** Whether Gemini CLI takes it before all others when it has this process. */
  readonly isLegacy: boolean;
}

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** The maximum size of a discovery file, in bytes. */
const MAX_BYTES = 64 * 1024;

/** Reads the discovery files of a directory; none when it is missing. */
export async function readCandidates(
  agent: Agent,
  directory: string,
  user: number | undefined,
): Promise<Candidate[]> {
  const names = await readdir(directory).catch(() => []);
  const found = names.filter((name) => FILE_NAMES[agent].test(name)).sort();
  return await Promise.all(
    found.map((name) => readCandidate(agent, join(directory, name), user)),
  );
}

async function readCandidate(
  agent: Agent,
  path: string,
  user: number | undefined,
): Promise<Candidate> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const groups = FILE_NAMES[agent].exec(name)?.groups;
  const named = {
    port: Number(groups?.port ?? 0),
    pid: Number(groups?.pid ?? 0),
  };
  const base = {
    path,
    unreadable: undefined,
    mode: 0,
    writtenAtMs: 0,
    token: "",
    folders: [],
    editor: "",
    ...named,
    isLegacy: agent === "gemini-cli" && groups?.port === undefined,
  };
  try {
    const flags = agent === "devtool" ? O_NOFOLLOW : 0;
    await using file = await open(path, O_RDONLY | O_NONBLOCK | flags);
    const stats = await file.stat();
    const known = {
      ...base,
      mode: stats.mode & 0o777,
      writtenAtMs: stats.mtimeMs,
    };
    const refused = (unreadable: string): Candidate => ({
      ...known,
      unreadable,
    });
    if (!stats.isFile()) return refused("it is not a regular file: remove it");
    if (user !== undefined && stats.uid !== user) {
      return refused(
        `it belongs to another user (${stats.uid}), who may have planted it`,
      );
    }
    if (stats.size > MAX_BYTES) {
      return refused(`it has ${stats.size} bytes: limit is ${MAX_BYTES}`);
    }
    try {
      const json = parseJson(await file.readFile("utf8"));
      return { ...known, ...contentOf(agent, json, named) };
    } catch {
      return refused(
        "it is not valid: remove it, and start the companion again",
      );
    }
  } catch (reason) {
    if (
      reason instanceof Error &&
      "code" in reason &&
      reason.code === "ELOOP"
    ) {
      return { ...base, unreadable: "it is a link: remove it" };
    }
    const why = reason instanceof Error ? reason.message : String(reason);
    return { ...base, unreadable: `it cannot be read: ${why}` };
  }
}

type Content = Pick<Candidate, "port" | "token" | "folders" | "editor" | "pid">;

/** Reads what a file says. Throws when it is not as its kind is. */
function contentOf(
  agent: Agent,
  json: ReturnType<typeof parseJson>,
  named: { readonly port: number; readonly pid: number },
): Content {
  const options = { ignoreUnknownFields: true };
  if (agent === "claude-code") {
    const file = fromJson(LockFileSchema, json, options);
    return {
      port: named.port,
      token: file.authToken,
      folders: file.workspaceFolders,
      editor: file.ideName,
      pid: file.pid,
    };
  }
  const file = fromJson(DiscoveryFileSchema, json, options);
  const { name = "", displayName = "" } = file.ideInfo ?? {};
  return {
    port: file.port,
    token: file.authToken,
    folders: file.workspacePath.split(delimiter).filter((path) => path !== ""),
    editor: name === "" ? "" : displayName,
    pid: agent === "qwen-code" ? file.ppid : named.pid,
  };
}
