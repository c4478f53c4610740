import { isObject } from "@devtool/internal/json";
import type {
  PushConfigStore,
  ServerStore,
  TaskStore,
} from "@devtool/server/store";
import { errorMessage } from "./errors.ts";
import { importOwn } from "./own-module.ts";

const PAGE = "docs/own-agent.md#your-own-store";

/** The names of the methods of a part of a store. */
type MethodsOf<Part> = readonly (keyof Part & string)[];

const TASKS: MethodsOf<TaskStore> = [
  "append",
  "readEvents",
  "list",
  "findLatest",
  "findMessage",
  "assertWritable",
  "readAudit",
];

const PUSH_CONFIGS: MethodsOf<PushConfigStore> = [
  "put",
  "get",
  "list",
  "activeTasks",
  "saveProgress",
  "delete",
];

/** What a store has that servers share. */
type Shared = NonNullable<ServerStore["shared"]>;

const SHARED: {
  readonly [Part in Exclude<keyof Shared, "forgetMessage">]: MethodsOf<
    Shared[Part]
  >;
} = {
  leases: ["create", "acquire", "orphaned", "announce", "giveUp"],
  changes: ["watch", "watchAll", "watchGivenUp"],
  inbox: ["put", "takeReply", "waiting", "next", "reply", "watch"],
  keys: ["read", "replace"],
  approvals: ["read", "replace"],
  sessions: ["begin"],
};

/**
 * Opens the store of a module, which exports `openStore`. Throws an error that
 * says what to do for a module that cannot be loaded or does not export it, and
 * for a store that cannot be opened or lacks methods.
 *
 * @param path the absolute path of the module
 * @param setting the flag or config field with its value, for errors
 */
export async function openModuleStore(
  path: string,
  setting: string,
): Promise<ServerStore> {
  const { openStore, ...others } = await importOwn(
    path,
    setting,
    `name a module that exports "openStore" (${PAGE})`,
  );
  if (typeof openStore !== "function") {
    const names = Object.keys(others).join(", ") || "nothing";
    throw new Error(
      `${setting} exports no function "openStore", only ${names}: write \`export function openStore() { … }\` (${PAGE})`,
    );
  }
  let store: unknown;
  try {
    store = await openStore();
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

function isStore(value: unknown): value is ServerStore {
  return missingOf(value).length === 0;
}

/** Lists the methods that a store lacks. */
function missingOf(value: unknown): string[] {
  const store = isObject(value) ? value : {};
  const { pushConfigs, shared } = store;
  const missing = [
    ...missingIn(store, "", TASKS),
    ...missingIn(pushConfigs, "pushConfigs.", PUSH_CONFIGS),
  ];
  if (!(Symbol.asyncDispose in store)) missing.push("[Symbol.asyncDispose]");
  if (shared === undefined) return missing;
  const parts = isObject(shared) ? shared : {};
  for (const [part, methods] of Object.entries(SHARED)) {
    missing.push(...missingIn(parts[part], `shared.${part}.`, methods));
  }
  return [...missing, ...missingIn(parts, "shared.", ["forgetMessage"])];
}

function missingIn(
  part: unknown,
  prefix: string,
  methods: readonly string[],
): string[] {
  const known = isObject(part) ? part : {};
  return methods
    .filter((name) => typeof known[name] !== "function")
    .map((name) => prefix + name);
}
