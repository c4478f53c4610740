const FIELDS = ["id", "url", "token", "authentication.scheme", "authentication.credentials"];

/**
 * The names that the fields of a push config have for a client of A2A, by our own names, for `withFieldNames`. `path` is
 * where its request has the config, `config` where our own request has it.
 */
export function pushFieldNames(
  config: "config" | "push_config",
  path: string,
  renamed: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const below = path === "" ? "" : `${path}.`;
  const names = FIELDS.map((field): [string, string] => [`${config}.${field}`, `${below}${renamed[field] ?? field}`]);
  // A client of A2A chooses no format: what it asks to be shown does.
  return Object.fromEntries([...names, [`${config}.format`, path]]);
}
