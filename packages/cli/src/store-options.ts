import { durationMs } from "@bufbuild/protobuf/wkt";
import type { ServerSettings } from "@devtool/server";
import type { OperatorConfig } from "./agent-options.ts";

/**
 * Returns the store of a server: the database of the flag, or of the config
 * file. Empty for the file in the data directory.
 *
 * The driver of the database is loaded when the store is opened.
 */
export function storeOptions(
  flag: string | undefined,
  { config }: Pick<OperatorConfig, "config">,
): Pick<ServerSettings, "openStore"> {
  const url = flag ?? config.store?.url ?? "";
  if (url === "" && config.store) {
    throw new Error(
      'store.url is missing: write url = "postgres://user@host/database"',
    );
  }
  if (url === "") return {};
  const schema = config.store?.schema || undefined;
  const leaseMs = config.store?.lease && durationMs(config.store.lease);
  return {
    openStore: async () => {
      const { PostgresStore } = await import("@devtool/postgres");
      return PostgresStore.open({ url, schema, leaseMs });
    },
  };
}
