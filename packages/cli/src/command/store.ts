import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { equals } from "@bufbuild/protobuf";
import { ApprovalFile } from "@devtool/policy/operator";
import { PolicyFileSchema } from "@devtool/schema";
import { copyStore, openStore } from "@devtool/server/operator";
import type { ServerStore } from "@devtool/server/store";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { countOf } from "../render/count.ts";
import { visibleName } from "../render/style.ts";

/** The options of `devtool store copy`. */
export interface StoreOptions {
  /** The schema of a database. Default: `devtool`. */
  readonly schema?: string;
}

/**
 * `devtool store copy`: copies all tasks, push configs, saved approvals and
 * audit records into an empty store, and compares the copy.
 *
 * Each place is a data directory or the URL of a PostgreSQL database.
 */
export async function copy(
  from: string,
  to: string,
  { schema }: StoreOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  if (!isDatabase(from)) {
    // Opening a directory without a store would create one.
    const tasks = join(resolve(from), "tasks.db");
    await access(tasks).catch(() => {
      throw new Error(
        `${visibleName(tasks)} is missing: name a data directory, or a URL such as postgres://host/database`,
      );
    });
  }
  await using source = await openPlace(from, schema);
  await using target = await openPlace(to, schema);
  // A directory keeps its approvals in a file beside that of the tasks.
  const given = source.shared?.approvals ?? new ApprovalFile(resolve(from));
  const copied = target.shared?.approvals ?? new ApprovalFile(resolve(to));
  if ((await copied.read()).file.rule.length > 0) {
    throw new Error(
      "the target of the copy has saved approvals already: choose an empty directory or schema",
    );
  }
  const { tasks, events, pushConfigs, audit } = await copyStore(
    source,
    target,
    interrupt.signal,
  );
  const { file } = await given.read();
  if (file.rule.length > 0) {
    const isStored = await copied.replace(file, (await copied.read()).version);
    if (
      !isStored ||
      !equals(PolicyFileSchema, (await copied.read()).file, file)
    ) {
      throw new Error("saved approvals differ in the copy: remove the copy");
    }
  }
  const head = audit.head === "" ? "" : `; the last has the hash ${audit.head}`;
  const [rest, last] = [
    `${countOf(tasks, "task")} with ${countOf(events, "event")}, ${countOf(pushConfigs, "push config")}`,
    countOf(file.rule.length, "saved approval"),
  ];
  writeLine(io.stdout, `copied ${rest} and ${last}`);
  writeLine(
    io.stdout,
    `verified ${countOf(audit.count, "audit record")}${head}`,
  );
  return ExitCode.OK;
}

async function openPlace(
  place: string,
  schema: string | undefined,
): Promise<ServerStore> {
  if (!isDatabase(place)) return openStore({ dataDirectory: resolve(place) });
  const { PostgresStore } = await import("@devtool/postgres");
  return PostgresStore.open({ url: place, schema });
}

function isDatabase(place: string): boolean {
  return /^[a-z]+:\/\//.test(place);
}
