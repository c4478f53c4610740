// The public names of @devtool/postgres. Each name added here becomes public
// API.

export type { PostgresOptions } from "./connection.ts";
export { PostgresStore } from "./postgres-store.ts";
