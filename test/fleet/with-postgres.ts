import {
  findPostgres,
  type PostgresServer,
  startPostgres,
  withoutPostgres,
} from "@devtool/postgres/testing";
import { afterAll, beforeAll, describe } from "vitest";

const bin = findPostgres();

/**
 * Describes tests with a database server, which runs while they do. They are
 * skipped without PostgreSQL, and where `left` says why.
 */
export function describeWithPostgres(
  name: string,
  suite: (database: Pick<PostgresServer, "run" | "url">) => void,
  left = "",
): void {
  describe.skipIf(left !== "" || bin === undefined)(
    `${name}${withoutPostgres(bin)}${left}`,
    () => {
      let server: PostgresServer;
      beforeAll(async () => {
        server = await startPostgres(bin ?? "");
      });
      afterAll(() => server[Symbol.asyncDispose]());
      suite({
        get url() {
          return server.url;
        },
        run: (sql) => server.run(sql),
      });
    },
  );
}
