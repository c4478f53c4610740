// The names of @devtool/postgres/testing: for tests and benches of this
// repository. Not part of the published package.
export {
  findPostgres,
  type PostgresServer,
  startPostgres,
  withoutPostgres,
} from "./postgres-server.ts";
