import { isObject } from "@devtool/internal/json";
import type { PushConfigStore } from "./push-config-store.ts";
import type { ServerStore, TaskStore } from "./task-store.ts";

/** The names of the methods of a part of a store. */
type MethodsOf<Part> = readonly (keyof Part & string)[];

const TASKS: MethodsOf<TaskStore> = [
  "append",
  "delete",
  "readEvents",
  "putHead",
  "readHead",
  "list",
  "readSizes",
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
  changes: ["watch", "watchAll", "watchGivenUp", "watchDeleted"],
  inbox: ["put", "takeReply", "waiting", "backlog", "next", "reply", "watch"],
  keys: ["read", "replace"],
  approvals: ["read", "replace"],
  untoldCancels: ["list", "read", "put", "delete"],
  sessions: ["begin"],
};

/** Whether a value has all that a server calls of its store. */
export function isStore(value: unknown): value is ServerStore {
  return missingOf(value).length === 0;
}

/** Lists the methods that a store lacks. */
export function missingOf(value: unknown): string[] {
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
