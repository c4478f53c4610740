import { access } from "node:fs/promises";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  defined,
  objectOrEmpty,
  parseJsonOrUndefined,
} from "@devtool/internal/json";
import {
  AuditAction,
  type AuditRecord,
  AuditRecordSchema,
} from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { type KeySet, readKeySet } from "../authentication.ts";
import { type ConnectionOptions, connect } from "../connection/connection.ts";
import { errorMessage, UsageError } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { countOf } from "../render/count.ts";
import { writeJsonLine } from "../render/json-line.ts";
import { visibleName } from "../render/style.ts";
import { shortTaskId } from "../task-id.ts";

/**
 * Options of `devtool audit`. With `log`, reads a file of `devtool run` instead
 * of a server's log.
 */
interface AuditOptions extends ConnectionOptions {
  readonly log?: string;
}

/**
 * `devtool audit export`: prints each record of the audit log as a line of
 * JSON, oldest first.
 */
export async function exportAudit(
  options: AuditOptions,
  io: Io,
): Promise<number> {
  for await (const record of readAudit(options, io)) {
    writeJsonLine(io.stdout, AuditRecordSchema, record);
  }
  return ExitCode.OK;
}

/**
 * `devtool audit show`: prints a line for each record of a task, and of the
 * tasks that its agents gave to others on the same server, oldest first.
 */
export async function showAudit(
  named: string,
  options: AuditOptions,
  io: Io,
): Promise<number> {
  const shown = new Set<string>();
  for await (const record of readAudit(options, io)) {
    const { taskId } = record;
    if (!shown.has(taskId)) {
      const parent = parentOf(record);
      const isNamed = taskId === named || shortTaskId(taskId) === named;
      if (!isNamed && !shown.has(parent)) continue;
      shown.add(taskId);
    }
    writeLine(io.stdout, describeRecord(record));
  }
  if (shown.size > 0) return ExitCode.OK;
  return reportFault(
    `no record is of task "${visibleName(named)}": "devtool tasks" lists tasks`,
    io,
  );
}

/** Returns the id of the task that made another one, as its maker says. */
function parentOf({ action, shown }: AuditRecord): string {
  if (action !== AuditAction.DELEGATED || shown === "") return "";
  const { chain } = objectOrEmpty(parseJsonOrUndefined(shown));
  return `${objectOrEmpty(chain).parentTaskId ?? ""}`;
}

/** The actions that begin a task, which say from where. */
const WITH_ORIGIN: ReadonlySet<AuditAction> = new Set([
  AuditAction.DELEGATED,
  AuditAction.FORKED,
]);

function describeRecord(record: AuditRecord): string {
  const { time, taskId, action, toolName, delegation, rule, optionId } = record;
  const { agent = "", mcpServer = "", taskId: there = "" } = delegation ?? {};
  const words = [
    time ? timestampDate(time).toISOString() : "-",
    shortTaskId(taskId),
    (AuditAction[action] ?? `${action}`).toLowerCase().replaceAll("_", " "),
    toolName,
    agent || mcpServer ? `at ${agent || mcpServer}` : "",
    there === "" ? "" : `in task ${shortTaskId(there)}`,
    rule === "" ? "" : `by ${rule}`,
    optionId === "" ? "" : `answered ${optionId}`,
    WITH_ORIGIN.has(action) ? record.shown : "",
  ];
  return words.filter(Boolean).map(visibleName).join(" ");
}

/**
 * `devtool audit verify`: checks that no record of the audit log was changed,
 * moved or removed.
 */
export async function verify(
  options: AuditOptions & {
    readonly head?: string;
    /** Files with public keys of servers, which verify deletions. */
    readonly keys?: readonly string[];
  },
  io: Io,
): Promise<number> {
  if (options.head !== undefined && !HASH.test(options.head)) {
    throw new UsageError(
      `--head "${options.head}" is not a hash: give the one that an earlier "devtool audit verify" printed`,
    );
  }
  const keys = options.keys && (await readKeySets(options.keys));
  const { count, head, fault, deleted } = await verifyAudit(
    readAudit(options, io),
    defined({ head: options.head, keys }),
  );
  if (fault !== undefined) {
    return reportFault(
      `${fault} (${countOf(count, "record")} before it verified)`,
      io,
    );
  }
  writeLine(
    io.stdout,
    `verified ${countOf(count, "record")}${head === "" ? "" : `; the last has the hash ${head}`}`,
  );
  for (const { taskId, by, time, texts, isVerified } of deleted.slice(
    -MAX_DELETED,
  )) {
    const shown =
      (texts === 0 ? "" : `, with what ${texts} of them showed`) +
      (isVerified ? ", signed" : "");
    writeLine(
      io.stdout,
      `task ${visibleName(taskId)} was removed by ${visibleName(by)} at ${time?.toISOString() ?? "an unknown time"}${shown}`,
    );
  }
  if (deleted.length > MAX_DELETED) {
    const others = countOf(deleted.length - MAX_DELETED, "task");
    writeLine(io.stdout, `${others} before were removed, too`);
  }
  if (deleted.length > 0 && !keys) {
    writeLine(
      io.stdout,
      "no signature of a deletion was checked: give the public keys that you kept with --keys",
    );
  }
  return ExitCode.OK;
}

/** The maximum number of deleted tasks to print. */
const MAX_DELETED = 20;

/** A SHA-256 hash in base64. */
const HASH = /^[A-Za-z0-9+/]{43}=$/;

function reportFault(problem: string, io: Io): number {
  writeLine(io.stderr, `devtool: audit log: ${problem}`);
  return ExitCode.FAILED;
}

/** Reads key sets (JWKS) from files, as one. */
async function readKeySets(paths: readonly string[]): Promise<KeySet> {
  const sets = await Promise.all(
    paths.map((path) => readKeySet("--keys", path, ".")),
  );
  const keys = sets.flatMap((set) => set.keys);
  // Most keys are in several files, by which time they were kept.
  return {
    keys: [...new Map(keys.map((key) => [key.kid ?? key, key])).values()],
  };
}

async function* readAudit(
  options: AuditOptions,
  io: Io,
): AsyncIterable<AuditRecord> {
  if (options.log !== undefined) {
    // Opening a file that is not there would create it.
    await access(options.log).catch((cause: unknown) => {
      throw new Error(
        `audit log "${options.log}" cannot be read: ${errorMessage(cause)}`,
        { cause },
      );
    });
    const { SqliteTaskStore } = await import("@devtool/server/store");
    await using store = await SqliteTaskStore.open(options.log);
    return yield* store.readAudit(0n);
  }
  const client = await connect(options, io);
  for await (const { record } of client.audit.readAudit({})) {
    if (record) yield record;
  }
}
