import { Code, DevtoolError, quoted } from "@devtool/server/store";
import type { ClientBase } from "pg";
import { MIGRATIONS } from "./migrations.ts";

/**
 * The key of the advisory lock under which tables change: servers that start
 * together change them once.
 */
const MIGRATION_LOCK = 0x64_65_76_74;

/** The version of the tables that this release reads and writes. */
export const VERSION: number = MIGRATIONS.length;

/**
 * Brings the tables of a schema to a version, up or down, in one transaction.
 * Creates the schema when it is missing.
 *
 * Throws `Code.FailedPrecondition` when a newer release has written the schema.
 *
 * @param client its search path is the schema
 */
export async function migrate(
  client: ClientBase,
  schema: string,
  target: number = VERSION,
): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    const { rows } = await client.query<{ found: boolean; marked: boolean }>(
      "SELECT to_regnamespace(quote_ident($1)) IS NOT NULL AS found, to_regclass('layout') IS NOT NULL AS marked",
      [schema],
    );
    // The schema and the table of its version are created only when they are
    // missing.
    if (!rows[0]?.found) {
      await client.query(`CREATE SCHEMA ${client.escapeIdentifier(schema)}`);
    }
    if (!rows[0]?.marked) {
      await client.query("CREATE TABLE layout (version integer NOT NULL)");
      await client.query("INSERT INTO layout (version) VALUES (0)");
    }
    const layout = await client.query<{ version: number }>(
      "SELECT version FROM layout",
    );
    const version = layout.rows[0]?.version ?? 0;
    if (version > VERSION) {
      throw new DevtoolError(
        `the schema ${quoted(schema)} was written by a newer release (version ${version}): this one reads up to ${VERSION}`,
        Code.FailedPrecondition,
        { remedy: "use that release, or go back with it first" },
      );
    }
    for (const { up, fill } of MIGRATIONS.slice(version, target)) {
      await client.query(up);
      await fill?.(client);
    }
    for (const { down } of MIGRATIONS.slice(target, version).toReversed()) {
      await client.query(down);
    }
    if (version !== target) {
      await client.query("UPDATE layout SET version = $1", [target]);
    }
    await client.query("COMMIT");
  } catch (reason) {
    await client.query("ROLLBACK");
    throw reason;
  }
}
