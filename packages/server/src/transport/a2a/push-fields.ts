const FIELDS = [
  "id",
  "url",
  "token",
  "authentication.scheme",
  "authentication.credentials",
];

/**
 * Returns the names of push config fields in a request of A2A, by their names
 * in our own request, for `withFieldNames`.
 *
 * @param config - The field that holds the config in our own request.
 * @param path - The path of the config in the request of A2A; empty when the
 * request is the config.
 * @param renamed - The fields that A2A names differently.
 */
export function pushFieldNames(
  config: "config" | "push_config",
  path: string,
  renamed: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const prefix = path === "" ? "" : `${path}.`;
  const names = FIELDS.map((field): [string, string] => [
    `${config}.${field}`,
    `${prefix}${renamed[field] ?? field}`,
  ]);
  // A2A has no field for the format. The view of the request decides it, so an
  // error about the format is about the config.
  return Object.fromEntries([...names, [`${config}.format`, path]]);
}
