import { resolve } from "node:path";
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { ServerSettings } from "@devtool/server";
import type { OperatorConfig } from "./agents/agent-options.ts";
import type { WorkflowEngine } from "./agents/workflow-files.ts";

/** The prefix of the path of a module that opens a store. */
export const MODULE_PREFIX = "module:";

/**
 * Returns the store of a server: the database or the module of the flag, or of
 * the config file. Empty for the file in the data directory.
 *
 * The driver of the database, or the module, is loaded when the store is
 * opened.
 */
export function storeOptions(
  flag: string | undefined,
  { config, directory }: OperatorConfig,
): Pick<ServerSettings, "openStore"> {
  const url = flag ?? config.store?.url ?? "";
  if (url === "" && config.store) {
    throw new Error(
      'store.url is missing: write url = "postgres://user@host/database" or "module:PATH"',
    );
  }
  if (url === "") return {};
  const isFlag = flag !== undefined;
  const setting = `${isFlag ? "--store" : "store.url"} "${url}"`;
  if (/^\.{0,2}\//.test(url)) {
    throw new Error(
      `${setting} is a path: write "${MODULE_PREFIX}${url}" for a module that opens a store`,
    );
  }
  const schema = config.store?.schema || undefined;
  if (url.startsWith(MODULE_PREFIX)) {
    if (!isFlag && (schema || config.store?.lease || config.store?.dbos)) {
      throw new Error(
        "store.schema, store.lease and store.dbos are of databases: remove them beside a module",
      );
    }
    const name = url.slice(MODULE_PREFIX.length);
    const path = resolve(isFlag ? "." : directory, name);
    return {
      openStore: async (place) => {
        const { openModuleStore } = await import("./module-store.ts");
        return openModuleStore(path, setting, place);
      },
    };
  }
  const leaseMs = config.store?.lease && durationMs(config.store.lease);
  return {
    openStore: async () => {
      const { PostgresStore } = await import("@devtool/postgres");
      return PostgresStore.open({ url, schema, leaseMs });
    },
  };
}

/**
 * Returns the engine that keeps the runs of workflows in the database of the
 * store; undefined where the logs of their tasks do.
 */
export async function workflowEngine(
  flag: string | undefined,
  { config: { store } }: OperatorConfig,
): Promise<WorkflowEngine> {
  const url = flag ?? store?.url ?? "";
  if (!store?.dbos || url.startsWith(MODULE_PREFIX)) return undefined;
  const { dbosEngine } = await import("@devtool/workflow/dbos");
  return dbosEngine({ url, schema: store.schema || undefined });
}
