// The public names of @devtool/postgres. Each name added here becomes public
// API.

export { PostgresStore } from "./postgres-store.ts";
