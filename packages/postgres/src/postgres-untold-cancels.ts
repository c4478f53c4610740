import { toBinary } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import { type UntoldCancel, UntoldCancelSchema } from "@devtool/schema";
import type { ServerStore } from "@devtool/server/store";
import type { Pool } from "pg";
import { query } from "./connection.ts";
import { bounded, decodeStored } from "./stored-value.ts";

type UntoldCancelStorage = NonNullable<ServerStore["shared"]>["untoldCancels"];

/** Keeps what agents could not be told to cancel in a table, a row each. */
export class PostgresUntoldCancels implements UntoldCancelStorage {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async list(): Promise<readonly string[]> {
    const { rows } = await query<{ id: string }>(this.#pool, {
      name: "list-untold-cancels",
      text: "SELECT id FROM untold_cancel",
      values: [],
    });
    return rows.map(({ id }) => id);
  }

  async read(id: string): Promise<UntoldCancel | undefined> {
    const { rows } = await query<{ data: Buffer | null }>(this.#pool, {
      text: `SELECT ${bounded("data")} AS data FROM untold_cancel WHERE id = $1`,
      values: [id],
    });
    const [row] = rows;
    return row && decodeStored(UntoldCancelSchema, row.data, "untold_cancel");
  }

  async put(id: string, cancel: UntoldCancel): Promise<void> {
    failpoint("devtool:postgres.untold-cancel-put.before");
    await query(this.#pool, {
      text: "INSERT INTO untold_cancel (id, data) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET data = excluded.data",
      values: [id, toBinary(UntoldCancelSchema, cancel)],
    });
    failpoint("devtool:postgres.untold-cancel-put.after");
  }

  async delete(id: string): Promise<boolean> {
    failpoint("devtool:postgres.untold-cancel-delete.before");
    const { rowCount } = await query(this.#pool, {
      text: "DELETE FROM untold_cancel WHERE id = $1",
      values: [id],
    });
    failpoint("devtool:postgres.untold-cancel-delete.after");
    return rowCount === 1;
  }
}
