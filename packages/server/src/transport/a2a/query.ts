import { shorten } from "@devtool/internal/cut-text";
import { WireError } from "@devtool/schema";
import type { RoutedCall } from "../http/routed-call.ts";

/** Returns the query parameters of a request. */
export function queryOf({
  request,
}: Pick<RoutedCall, "request">): URLSearchParams {
  return new URLSearchParams((request.url ?? "").split("?", 2)[1] ?? "");
}

/**
 * Returns the query parameters of a request by their names. None of them is a
 * list: throws a `WireError` for one that is given twice, in either spelling.
 */
export function valuesInQuery(
  call: Pick<RoutedCall, "request">,
): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  const names = new Set<string>();
  for (const [name, value] of queryOf(call)) {
    const jsonName = name.replace(/_([a-z])/g, (_match, letter: string) =>
      letter.toUpperCase(),
    );
    if (names.has(jsonName)) {
      throw new WireError(name, shorten(value), "is given twice: give it once");
    }
    names.add(jsonName);
    values.set(name, value);
  }
  return values;
}
