import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { defined, isObject, plainJson } from "@devtool/internal/json";
import {
  findProblem,
  type SpecSchemas,
  showJson,
  TOO_DEEP,
  withoutNulls,
} from "./message-problem.ts";

/** The lists that servers say they have. */
export const LIST_KINDS = ["tools", "prompts", "resources"] as const;
/** A list, as results name it. */
export type ListKind = (typeof LIST_KINDS)[number] | "resourceTemplates";

const LISTS: ReadonlyMap<string, ListKind> = new Map<string, ListKind>([
  ...LIST_KINDS.map((list) => [`${list}/list`, list] as const),
  ["resources/templates/list", "resourceTemplates"],
]);

/** Returns the list that a method asks for; undefined for other methods. */
export function listOf(method: string): ListKind | undefined {
  return LISTS.get(method);
}

const ITEMS = {
  tools: { type: "Tool", noun: "tool" },
  prompts: { type: "Prompt", noun: "prompt" },
  resources: { type: "Resource", noun: "resource" },
  resourceTemplates: { type: "ResourceTemplate", noun: "resource template" },
} as const;

/**
 * Returns the items of a page of a list that are valid. Those that are not are
 * left out, and `leaveOut` gets the name of each and the reason. Adds the names
 * to `names`, which has those of the pages before.
 */
export function readItems(
  schemas: SpecSchemas,
  list: ListKind,
  items: JsonValue | undefined,
  names: Set<JsonValue | undefined>,
  leaveOut: (text: string) => void,
): JsonObject[] {
  if (!Array.isArray(items)) {
    leaveOut(`the list of ${list} is ${showJson(items)}`);
    return [];
  }
  const { type, noun } = ITEMS[list];
  return items.flatMap((each, at) => {
    const item = isObject(each) ? readItem(list, each) : undefined;
    const isNamed = list === "tools" || list === "prompts";
    const isTwice = isNamed && names.has(item?.name);
    const isDeep = JSON.stringify(item)?.includes(TOO_DEEP);
    const problem = item
      ? (findProblem(schemas, type, item) ??
        (isTwice ? "another one has its name" : undefined) ??
        (isDeep ? "it nests too deep" : undefined))
      : `it is ${showJson(each)}`;
    if (item && problem === undefined) {
      names.add(item.name);
      return [item];
    }
    const name = [item?.uri, item?.uriTemplate, item?.name].find(
      (one) => typeof one === "string",
    );
    leaveOut(
      `${noun} ${name ? showJson(name) : at + 1} is left out: ${problem}`,
    );
    return [];
  });
}

/**
 * Returns an item without its fields that are null or that nobody uses: they
 * must not cost the item.
 */
function readItem(list: ListKind, value: JsonObject): JsonObject {
  // Numbers that are infinite have no JSON form, and become null.
  const {
    icons: _icons,
    outputSchema: _output,
    ...item
  } = withoutNulls(plainJson(value));
  if (list === "resources") {
    const { uri, name, title } = item;
    return defined({ uri, name, title });
  }
  if (list === "resourceTemplates") {
    const { uriTemplate, name, title } = item;
    return defined({ uriTemplate, name, title });
  }
  if (!isObject(item._meta)) delete item._meta;
  const nested = list === "tools" ? ["inputSchema", "execution"] : [];
  for (const name of ["annotations", ...nested]) {
    const field = item[name];
    if (isObject(field)) item[name] = withoutNulls(field);
  }
  if (list === "prompts" && Array.isArray(item.arguments)) {
    item.arguments = item.arguments.map((argument) =>
      isObject(argument) ? withoutNulls(argument) : argument,
    );
  }
  return item;
}
