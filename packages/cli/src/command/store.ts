import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { equals } from "@bufbuild/protobuf";
import { ApprovalFile } from "@devtool/policy/operator";
import { PolicyFileSchema } from "@devtool/schema";
import { copyStore, openStore } from "@devtool/server/operator";
import type { ServerStore } from "@devtool/server/store";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { countOf } from "../render/count.ts";
import { visibleName } from "../render/style.ts";
import { MODULE_PREFIX } from "../store-options.ts";

/** The options of `devtool store copy`. */
interface StoreOptions {
  /**
   * The data directory of a module's store, which has the saved approvals.
   * Default: the user's.
   */
  readonly data?: string;

  /** The schema of a database. Default: `devtool`. */
  readonly schema?: string;
}

/**
 * `devtool store copy`: copies all tasks, push configs, saved approvals and
 * audit records into an empty store, and compares the copy.
 *
 * Each place is a data directory, the URL of a PostgreSQL database, or
 * `module:` and the path of a module that opens a store.
 */
export async function copy(
  from: string,
  to: string,
  options: StoreOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  const data = resolve(options.data ?? defaultDataDirectory(io.env));
  const fromDirectory = isModule(from) ? data : resolve(from);
  const toDirectory = isModule(to) ? data : resolve(to);
  if (!isDatabase(from) && !isModule(from)) {
    // Opening a directory without a store would create one.
    const tasks = join(resolve(from), "tasks.db");
    await access(tasks).catch(() => {
      throw new Error(
        `${visibleName(tasks)} is missing: name a data directory, a URL such as postgres://host/database, or module:PATH`,
      );
    });
  }
  await using source = await openPlace(from, options, data);
  await using target = await openPlace(to, options, data);
  // A directory keeps its approvals in a file beside that of the tasks.
  const given = source.shared?.approvals ?? new ApprovalFile(fromDirectory);
  const copied = target.shared?.approvals ?? new ApprovalFile(toDirectory);
  // A module's store in the same directory has them already.
  const areThere =
    !source.shared && !target.shared && fromDirectory === toDirectory;
  if (!areThere && (await copied.read()).file.rule.length > 0) {
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
  if (!areThere && file.rule.length > 0) {
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
  { schema }: StoreOptions,
  data: string,
): Promise<ServerStore> {
  if (isModule(place)) {
    const { openModuleStore } = await import("../module-store.ts");
    const path = resolve(place.slice(MODULE_PREFIX.length));
    return openStore({
      dataDirectory: data,
      openStore: (given) => openModuleStore(path, `"${place}"`, given),
    });
  }
  if (!isDatabase(place)) return openStore({ dataDirectory: resolve(place) });
  const { PostgresStore } = await import("@devtool/postgres");
  return PostgresStore.open({ url: place, schema });
}

function isModule(place: string): boolean {
  return place.startsWith(MODULE_PREFIX);
}

function isDatabase(place: string): boolean {
  return /^[a-z]+:\/\//.test(place);
}
