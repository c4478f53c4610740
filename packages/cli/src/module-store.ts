import type { ServerSettings } from "@devtool/server";
import { isStore, missingOf } from "@devtool/server/operator";
import type { ServerStore } from "@devtool/server/store";
import { errorMessage } from "./errors.ts";
import { importOwn } from "./own-module.ts";

/** What `openStore` of a module is given, as `createServer` gives it. */
type StorePlace = Parameters<NonNullable<ServerSettings["openStore"]>>[0];

const PAGE = "docs/own-agent.md#your-own-store";

/**
 * Opens the store of a module, which exports `openStore`, by the arguments of
 * that function. Throws an error that
 * says what to do for a module that cannot be loaded or does not export it, and
 * for a store that cannot be opened or lacks methods.
 *
 * @param path the absolute path of the module
 * @param setting the flag or config field with its value, for errors
 */
export async function openModuleStore(
  path: string,
  setting: string,
  place: StorePlace,
): Promise<ServerStore> {
  const { openStore, ...others } = await importOwn(
    path,
    setting,
    `name a module that exports "openStore" (${PAGE})`,
  );
  if (typeof openStore !== "function") {
    const names = Object.keys(others).join(", ") || "nothing";
    throw new Error(
      `${setting} exports no function "openStore", only ${names}: write \`export function openStore({ dataDirectory }) { … }\` (${PAGE})`,
    );
  }
  let store: unknown;
  try {
    store = await openStore(place);
  } catch (reason) {
    throw new Error(
      `${setting} cannot open its store: ${errorMessage(reason)}`,
      { cause: reason },
    );
  }
  if (isStore(store)) return store;
  throw new Error(
    `${setting} opens a store without ${missingOf(store).join(", ")}: add what is missing (${PAGE})`,
  );
}
